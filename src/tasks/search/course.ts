/** How a search trains: its length and turns, and which optimiser moves which parameters. */
import type { Engine } from "../../engine/engine.ts";
import type { ParModel } from "../../model/par/par.ts";
import type { Parameter } from "../../nn/index.ts";
import { type GroupOptions, optimiserGroups } from "../../train/groups.ts";
import type { Group } from "../../train/memory.ts";
import { type AdamOptions, adam } from "../../train/optimiser.ts";
import { alternation, type Phases } from "../../train/phases.ts";
import { type FilledConfig, lengthOf, type SearchConfig } from "./settings.ts";

/** Length and turns of a search, once the number of updates is known. */
export interface Course {
  readonly total: number;
  /** Updates before the architecture moves. */
  readonly frozen: number;
  /** Who is trained when; undefined: all, always. */
  readonly phases: Phases | undefined;
  /** Whether weights and architecture take turns. */
  readonly alternates: boolean;
}

/** Part of the updates before the architecture moves: the paper's, where it moves by turns. */
const usualFreeze = { joint: 0, alternate: 0.2 } as const;

export function courseOf(config: SearchConfig, perEpoch: number): Course {
  const length = lengthOf(config);
  const total = "steps" in length ? length.steps : Math.max(1, Math.floor(length.epochs * perEpoch));
  const frozen = Math.floor((config.freeze ?? usualFreeze[config.procedure]) * total);
  if (config.procedure === "joint") {
    const phases = { weights: () => true, architecture: (step: number) => step > frozen };
    return { total, frozen, phases: frozen > 0 ? phases : undefined, alternates: false };
  }
  const period = Math.max(2, Math.min(perEpoch, Math.ceil((total - frozen) / 10)));
  return { total, frozen, phases: alternation({ freeze: frozen, period }), alternates: true };
}

/** The paper's decay of the architecture, which has an optimiser of its own there. */
const ARCHITECTURE_DECAY = 5e-4;

/** Matrices decay; biases and norms do not. The architecture has its own rate, and its own turns where they alternate. */
export function groupsOf(
  { parameters }: ParModel,
  config: FilledConfig,
  { phases, alternates }: Course,
  engine: Engine,
): Group[] {
  const { rate, architectureRate, beta2 } = config;
  const architecture = {
    optimiser: adam({ ...momentsOf(config), beta2, weightDecay: alternates ? ARCHITECTURE_DECAY : 0 }),
    rateFactor: (architectureRate ?? rate) / rate,
    active: phases?.architecture,
  };
  return weightGroups(parameters, config, engine, phases?.weights, { architecture });
}

/** Numbers of Adam. The original's is Keras's: epsilon is added to √v, and the rate takes both corrections. */
function momentsOf({ optimiser, compat, beta2 }: SearchConfig): AdamOptions {
  const asKeras = optimiser === "adam" && compat === "original";
  return { beta1: 0.9, beta2, ...(asKeras ? { epsilon: 1e-7, correction: "rate" } : {}) };
}

/** How gradients are clipped, as a training step takes it. */
export const clippingOf = ({ clipNorm, clipValue }: SearchConfig) => ({
  ...(clipNorm === null ? {} : { clipNorm }),
  ...(clipValue === null ? {} : { clipValue }),
});

/** Groups of weights as the settings train them; `active` says at which updates. */
export function weightGroups(
  parameters: readonly Parameter[],
  config: SearchConfig,
  engine: Engine,
  active?: Group["active"],
  others: GroupOptions["byRole"] = {},
): Group[] {
  const { optimiser, weightDecay, rate, hiddenRate, beta2, momentum } = config;
  const moments = { beta1: 0.9, beta2 };
  return optimiserGroups(parameters, {
    optimiser,
    weightDecay,
    settings: { adamw: moments, adam: momentsOf(config), lamb: moments, sgd: { momentum } },
    engine,
    matricesFirst: true,
    active,
    byRole: { ...(optimiser === "muon" ? { matrix: { rateFactor: (hiddenRate ?? rate) / rate } } : {}), ...others },
  });
}
