/** Optimiser groups from the roles of parameters: one function for every task. */
import { rejectOption } from "../base/errors.ts";
import type { Engine } from "../engine/engine.ts";
import { type Role, roleOf } from "../graph/index.ts";
import type { Group, ParameterTensor } from "./memory.ts";
import { muon } from "./muon.ts";
import {
  type AdamOptions,
  adam,
  adamw,
  type LambOptions,
  lamb,
  type MuonOptions,
  type Optimiser,
  type SgdOptions,
  sgd,
} from "./optimiser.ts";

/** A parameter as groups see it; without a role its shape decides. */
export interface GroupedParameter {
  readonly tensor: ParameterTensor;
  readonly role?: Role | undefined;
}

/** `muon` updates matrices inside blocks, and leaves the rest to AdamW. */
export type OptimiserName = "muon" | "adamw" | "adam" | "lamb" | "sgd";

/** What each optimiser is told besides the weight decay. */
export interface OptimiserSettings {
  readonly muon?: Omit<MuonOptions, "weightDecay">;
  readonly adamw?: Omit<AdamOptions, "weightDecay">;
  readonly adam?: Omit<AdamOptions, "weightDecay">;
  readonly lamb?: Omit<LambOptions, "weightDecay" | "adapt">;
  readonly sgd?: Omit<SgdOptions, "weightDecay">;
}

/** How the parameters of one role differ from the others. */
export type OwnGroup = Partial<Omit<Group, "parameters">>;

/** Which optimiser moves the parameters, and which roles it treats apart. */
export interface GroupOptions {
  /** By name, or made by a function, for parameters that decay and for those that do not; it sees to the decay itself. */
  readonly optimiser: OptimiserName | ((decays: boolean) => Optimiser);
  /** Of parameters with two axes or more: biases and norms do not decay, and nothing does under `adam`. Default: 0. */
  readonly weightDecay?: number;
  readonly settings?: OptimiserSettings;
  /** Compiles the programs of `muon`. */
  readonly engine?: Engine;
  /** Roles with a group of their own: matrices stand before the other groups, all other roles after them, in the order given. */
  readonly byRole?: Readonly<Partial<Record<Role, OwnGroup>>>;
  /** At which steps groups are updated that do not say it themselves. Default: always. */
  readonly active?: Group["active"];
  /** Whether matrices stand before heads and tables in the group they share. Default: all stand as they were given. */
  readonly matricesFirst?: boolean;
}

/** Roles that decay in a group of their own. */
const decaying: ReadonlySet<Role> = new Set(["matrix", "head", "table"]);
const hasDecay = ({ tensor }: GroupedParameter) => tensor.attributes.shape.length > 1;

/**
 * Groups in this order: matrices, where they have their own (under `muon` they do), what decays, what does not, and other roles with a
 * group of their own. A group may be empty: how many there are depends on the options alone, for updates are counted by place.
 */
export function optimiserGroups(parameters: readonly GroupedParameter[], options: GroupOptions): Group[] {
  const own = ownGroups(options);
  const shared = inOrder(parameters, options).filter((each) => !own[roleOf(each)]);
  const ofRole = (role: Role) => {
    const members = parameters.filter((each) => roleOf(each) === role);
    return group(members, decaying.has(role), options, own[role]);
  };
  const last = (Object.keys(own) as Role[]).filter((role) => role !== "matrix");
  const [wide, narrow] = [shared.filter(hasDecay), shared.filter((each) => !hasDecay(each))];
  return [
    ...(own.matrix ? [ofRole("matrix")] : []),
    group(wide, true, options),
    group(narrow, false, options),
    ...last.map(ofRole),
  ];
}

function ownGroups(options: GroupOptions): Readonly<Partial<Record<Role, OwnGroup>>> {
  const { optimiser, byRole = {} } = options;
  return optimiser === "muon" ? { ...byRole, matrix: { optimiser: muonOf(options), ...byRole.matrix } } : byRole;
}

function muonOf({ engine, settings, weightDecay = 0 }: GroupOptions): Optimiser {
  if (engine) return muon(engine, { ...settings?.muon, weightDecay });
  return rejectOption({
    who: "optimiser groups / muon",
    needed: "an engine",
    got: "none",
    remedy: "give `engine` too",
  });
}

function inOrder(parameters: readonly GroupedParameter[], { matricesFirst }: GroupOptions) {
  if (!matricesFirst) return parameters;
  const isMatrix = (each: GroupedParameter) => Number(roleOf(each) === "matrix");
  return [...parameters].sort((a, b) => isMatrix(b) - isMatrix(a));
}

function group(
  members: readonly GroupedParameter[],
  decays: boolean,
  options: GroupOptions,
  { optimiser = optimiserOf(options, decays), active = options.active, rateFactor }: OwnGroup = {},
): Group {
  return { parameters: members.map(({ tensor }) => tensor), optimiser, rateFactor, active };
}

type Maker = (settings: OptimiserSettings, weightDecay: number, decays: boolean) => Optimiser;

/** For all parameters but those that Muon itself updates. */
const makers: Readonly<Record<OptimiserName, Maker>> = {
  muon: (settings, weightDecay) => adamw({ ...settings.adamw, weightDecay }),
  adamw: (settings, weightDecay) => adamw({ ...settings.adamw, weightDecay }),
  adam: (settings) => adam(settings.adam),
  // Updates of biases and norms are not stretched.
  lamb: (settings, weightDecay, adapt) => lamb({ ...settings.lamb, weightDecay, adapt }),
  sgd: (settings, weightDecay) => sgd({ ...settings.sgd, weightDecay }),
};

function optimiserOf({ optimiser, settings = {}, weightDecay = 0 }: GroupOptions, decays: boolean): Optimiser {
  if (typeof optimiser === "function") return optimiser(decays);
  if (Object.hasOwn(makers, optimiser)) return makers[optimiser](settings, decays ? weightDecay : 0, decays);
  const needed = `one of ${Object.keys(makers).join(", ")}, or a function`;
  return rejectOption({ who: "optimiser groups / optimiser", needed, got: `${optimiser}` });
}
