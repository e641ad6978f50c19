/** What a sweep tries: its file checked against the task's settings, and the candidates that a strategy makes of it. */
import { reject } from "../base/errors.ts";
import { LARGEST } from "../base/limits.ts";
import { RandomStream } from "../base/random.ts";
import { choice, flag, list, optional, options, text, type ValuesOf, whole } from "../runs/fields.ts";
import { defineSettings, type Layer, type SettingsSchema, type Values } from "../runs/settings.ts";
import { settingsNamed } from "../tasks/settings/index.ts";
import { glueTask } from "../text/labelled/glue-tasks.ts";
import type { SingleOrder } from "./orders.ts";

/** Numbers between two ends, both included; drawn evenly, or with an even logarithm. */
export interface Range {
  readonly low: number;
  readonly high: number;
  /** Default: linear. */
  readonly scale?: "linear" | "log" | undefined;
}

const fields = {
  preset: optional(text("tiny", "a named set of settings that holds for all trials")),
  settings: options("settings that hold for all trials"),
  vary: options("settings that vary: a list of values each, or a range { low, high, scale } to draw from"),
  candidates: options("sets of settings by name, in place of vary"),
  strategy: choice(
    ["grid", "random", "halving"],
    "grid",
    "all combinations, some drawn, or the better half for longer",
  ),
  trials: optional(
    whole(8, "random and halving: how many candidates are drawn; default: 8, halving of lists alone: all", 1, 10_000),
  ),
  rounds: optional(whole(3, "halving: how often candidates are trained; default: until one is left", 1, 20)),
  seeds: list(whole(1, "a seed", 0), [1], "seeds of each candidate", "a number of seeds, or a list of them"),
  figure: optional(text("loss", "what decides, of a run's best evaluation on the validation split")),
  goal: optional(choice(["lowest", "highest"], "lowest", "which figure is best")),
  glueTask: optional(text("SST-2", "finetune: the task of GLUE")),
  from: optional(text("runs/pretrained", "finetune: the run to begin with; default: new weights")),
  source: optional(text("runs/search", "retrain: the run of a search, or a pattern")),
  fromSupernet: flag("retrain: begin with the supernet's weights"),
  costs: optional(text("costs.json", "search: latencies from layerwise latency --out; default: each trial measures")),
};

/** Everything in a sweep's file but its task. */
const fileSettings = defineSettings("sweep", fields);

/** A sweep as it is given; what is left out has a default. */
export interface SweepSpec {
  /** language, translate, search, retrain, pretrain or finetune. */
  readonly task: string;
  readonly preset?: string | undefined;
  /** Settings that hold for all trials. */
  readonly settings?: Values | undefined;
  /** Settings that vary, each a list of values, or a range to draw from. Default: seeds alone. */
  readonly vary?: Readonly<Record<string, readonly unknown[] | Range>> | undefined;
  /** In place of `vary`: sets of settings by name. */
  readonly candidates?: Readonly<Record<string, Values>> | undefined;
  /** Default: grid. */
  readonly strategy?: "grid" | "random" | "halving" | undefined;
  /** Random and halving: candidates to draw. Default: 8; halving of lists alone: all. */
  readonly trials?: number | undefined;
  /** Halving: rounds, each twice as long as the one before. Default: until one candidate is left. */
  readonly rounds?: number | undefined;
  /** Runs of each candidate: 3 for seeds 1 to 3, or a list. Default: 1. */
  readonly seeds?: number | readonly number[] | undefined;
  /** Of a run's best evaluation. Default: the one that the task itself goes by. */
  readonly figure?: string | undefined;
  /** Default: lowest for losses, highest for accuracies. */
  readonly goal?: "lowest" | "highest" | undefined;
  readonly glueTask?: string | undefined;
  readonly from?: string | undefined;
  readonly source?: string | undefined;
  readonly fromSupernet?: boolean | undefined;
  /** Search: a file of latencies, by which all trials judge. Default: each measures. */
  readonly costs?: string | undefined;
}

/** A sweep with every default filled in; plain data. */
export interface CompleteSpec {
  readonly task: SingleOrder["task"];
  readonly preset: string | null;
  readonly settings: Values;
  readonly vary: Values;
  /** Empty where settings vary one by one, or seeds alone. */
  readonly candidates: Readonly<Record<string, Values>>;
  readonly strategy: "grid" | "random" | "halving";
  readonly trials: number | null;
  readonly rounds: number | null;
  readonly seeds: readonly number[];
  readonly figure: string;
  readonly goal: "lowest" | "highest";
  readonly glueTask: string | null;
  readonly from: string | null;
  readonly source: string | null;
  readonly fromSupernet: boolean;
  readonly costs: string | null;
}

/** A sweep whose settings are checked. */
export interface SweepPlan {
  readonly spec: CompleteSpec;
  /** The settings that vary, one record per candidate. */
  readonly candidates: readonly Values[];
  /** Of the candidates, where they have names. */
  readonly names: readonly string[];
  /** 1 unless the strategy is halving. */
  readonly rounds: number;
  readonly schema: SettingsSchema;
  /** The settings of one trial, complete; `below` are defaults of the launcher. */
  settingsOf(candidate: number, round: number, seed: number, below?: Values): Values;
}

const losses = ["loss", "perplexity", "bitsPerByte", "mlm_loss", "sop_loss", "ponder_cost", "depth"];
const figures: Readonly<Record<CompleteSpec["task"], readonly string[]>> = {
  language: ["perplexity", "loss", "bitsPerByte"],
  translate: ["perplexity", "loss"],
  search: ["perplexity", "loss", "bitsPerByte"],
  retrain: ["perplexity", "loss", "bitsPerByte"],
  pretrain: ["mlm_accuracy", "loss", "perplexity", "mlm_loss", "sop_accuracy", "sop_loss", "ponder_cost"],
  finetune: ["loss", "depth"],
};

/** Reads a sweep; unknown names and bad values are refused, with `source` as who complains. */
export async function planSweep(given: SweepSpec, source = "sweep"): Promise<SweepPlan> {
  const { task, ...rest } = given;
  if (typeof task !== "string") reject({ who: source, needed: "a task, such as language", got: `${task}` }, 2);
  const schema = await settingsNamed(task);
  const spec = complete(task as CompleteSpec["task"], rest, source);
  refuseMixed(spec, schema, source);
  if (given.seeds === undefined && variedKeys(spec).length === 0)
    reject({ who: `${source} / vary`, needed: "a setting that varies, candidates or seeds", got: "none" }, 2);
  const candidates = takesAll(spec) ? combinations(spec, source) : drawn(spec, schema, source);
  const rounds = spec.strategy === "halving" ? (spec.rounds ?? Math.ceil(Math.log2(candidates.length)) + 1) : 1;
  const settingsOf: SweepPlan["settingsOf"] = (candidate, round, seed, below = {}) => {
    const layers = layersOf(spec, schema, { ...candidates[candidate], seed }, below, source);
    const settings = taken(schema, layers);
    return rounds === 1 ? settings : taken(schema, [...layers, shortened(settings, rounds - 1 - round, source)]);
  };
  candidates.forEach((_, i) => {
    settingsOf(i, 0, spec.seeds[0]!);
  });
  return { spec, candidates, names: Object.keys(spec.candidates), rounds, schema, settingsOf };
}

function complete(task: CompleteSpec["task"], given: Omit<SweepSpec, "task">, source: string): CompleteSpec {
  const { seeds = 1 } = given;
  const most = LARGEST.seeds;
  if (typeof seeds === "number" && !(Number.isInteger(seeds) && seeds > 0 && seeds <= most))
    reject({ who: `${source} / seeds`, needed: `a number from 1 to ${most}, or a list`, got: `${seeds}` }, 2);
  const listed = typeof seeds === "number" ? Array.from({ length: seeds }, (_, i) => i + 1) : seeds;
  const values = fileSettings.resolve([{ source, values: { ...given, seeds: listed } as object }]);
  if (values.seeds.length === 0 || new Set(values.seeds).size < values.seeds.length)
    reject({ who: `${source} / seeds`, needed: "seeds, each once", got: JSON.stringify(seeds) }, 2);
  refuseOrigin(task, values, source);
  const known = task === "finetune" ? [...glueTask(values.glueTask!).metrics, ...figures.finetune] : figures[task];
  const { figure = null } = values;
  if (figure !== null && !known.includes(figure))
    reject({ who: `${source} / figure`, needed: `one of ${known.join(", ")}`, got: figure }, 2);
  const decides = figure ?? known[0]!;
  const candidates = values.candidates as CompleteSpec["candidates"];
  return {
    task,
    ...values,
    candidates,
    figure: decides,
    goal: values.goal ?? (losses.includes(decides) ? "lowest" : "highest"),
  };
}

/** What only some tasks take, and one of them needs. */
function refuseOrigin(task: string, values: ValuesOf<typeof fields>, source: string): void {
  const own = { finetune: ["glueTask", "from"], retrain: ["source", "fromSupernet"], search: ["costs"] };
  for (const [owner, keys] of Object.entries(own)) {
    const found = keys.find((key) => values[key as keyof typeof values]);
    if (owner !== task && found) reject({ who: source, needed: `settings of task ${task}`, got: found }, 2);
    if (owner === task && owner !== "search" && !values[keys[0] as keyof typeof values])
      reject({ who: source, needed: `${keys[0]}: ${owner} has no default`, got: "none" }, 2);
  }
}

function refuseMixed(spec: CompleteSpec, schema: SettingsSchema, source: string) {
  const { settings, vary, strategy, trials, rounds } = spec;
  refuseNames(spec, source);
  const keys = variedKeys(spec);
  const seed = [...keys, ...Object.keys(settings)].find((key) => key === "seed" || key === "task");
  if (seed)
    reject(
      { who: source, needed: "settings of a trial", got: seed, remedy: "seeds and task have keys of their own" },
      2,
    );
  const both = keys.find((key) => key in settings);
  if (both) reject({ who: source, needed: "a setting that holds or varies", got: `${both} in both` }, 2);
  schema.check(settings, `${source} / settings`);
  const some = Object.entries(vary).map(([key, varied]) => [key, someOf(varied, `${source} / vary / ${key}`)]);
  schema.check(Object.fromEntries(some), `${source} / vary`);
  for (const [name, own] of Object.entries(spec.candidates)) schema.check(own, `${source} / candidates / ${name}`);
  if (strategy === "grid" && trials !== null)
    reject(
      { who: `${source} / trials`, needed: "none for a grid", got: `${trials}`, remedy: "set strategy to random" },
      2,
    );
  if (strategy !== "halving" && rounds !== null)
    reject({ who: `${source} / rounds`, needed: "none but for halving", got: `${rounds}` }, 2);
}

/** The names of the settings that vary. */
export const variedKeys = ({ vary, candidates }: Pick<CompleteSpec, "vary" | "candidates">): string[] => [
  ...new Set([vary, ...Object.values(candidates)].flatMap((each) => Object.keys(each))),
];

/** A candidate's name as a folder's. */
export const folderName = (name: string): string => name.replace(/[^\w.()+=-]+/g, "-");

/** Names become folders; those of whole numbers would not keep their order. */
function refuseNames({ vary, candidates, strategy, trials }: CompleteSpec, source: string): void {
  const [names, who] = [Object.keys(candidates), `${source} / candidates`];
  const bad = names.find((name) => /^\d*$|^\./.test(folderName(name)) || ["trials", "runs", "slurm"].includes(name));
  if (bad !== undefined) reject({ who, needed: "names that can be folders, and are no numbers", got: bad }, 2);
  const wrong = Object.values(candidates).find((own) => typeof own !== "object" || own === null || Array.isArray(own));
  if (wrong !== undefined) reject({ who, needed: "settings under each name", got: JSON.stringify(wrong) }, 2);
  const twice = names.find((name, i) => names.findIndex((each) => folderName(each) === folderName(name)) < i);
  if (twice !== undefined) reject({ who, needed: "names of different folders", got: twice }, 2);
  if (names.length === 0) return;
  if (Object.keys(vary).length > 0) reject({ who: source, needed: "vary or candidates", got: "both" }, 2);
  if (strategy === "random" || trials !== null)
    reject({ who, needed: "a grid or halving of them all", got: trials === null ? strategy : `trials ${trials}` }, 2);
}

const isRange = (value: unknown): value is Range => typeof value === "object" && value !== null && "low" in value;

/** A value that the setting may take, after its list or range is checked. */
function someOf(varied: unknown, who: string): unknown {
  if (Array.isArray(varied) && varied.length > 0 && distinct(varied).length === varied.length) return varied[0];
  if (!isRange(varied) || Array.isArray(varied))
    return reject({ who, needed: "a list of different values, or { low, high }", got: JSON.stringify(varied) }, 2);
  const { low, high, scale = "linear", ...other } = varied;
  const fits = Number.isFinite(low) && low < high && Number.isFinite(high) && (scale === "linear" || low > 0);
  if (!fits || !["linear", "log"].includes(scale) || Object.keys(other).length > 0)
    reject({ who, needed: "low < high, and scale linear or log (then low above 0)", got: JSON.stringify(varied) }, 2);
  return low;
}

const distinct = <T>(values: readonly T[]): T[] => [
  ...new Map(values.map((each) => [JSON.stringify(each), each])).values(),
];

/** Halving without a number of candidates begins with all of them, where they can be counted. */
const takesAll = ({ strategy, trials, vary }: CompleteSpec) =>
  strategy === "grid" || (strategy === "halving" && trials === null && !Object.values(vary).some(isRange));

function combinations({ vary, candidates }: CompleteSpec, source: string): Values[] {
  if (Object.keys(candidates).length > 0) return Object.values(candidates);
  return Object.entries(vary).reduce<Values[]>(
    (made, [key, values]) => {
      if (isRange(values))
        reject(
          {
            who: `${source} / vary / ${key}`,
            needed: "a list of values for a grid",
            got: "a range",
            remedy: "set strategy to random",
          },
          2,
        );
      return made.flatMap((each) => (values as unknown[]).map((value) => ({ ...each, [key]: value })));
    },
    [{}],
  );
}

const DRAWN = 8;

/** Different candidates, the same for the same file. */
function drawn({ vary, trials }: CompleteSpec, schema: SettingsSchema, source: string): Values[] {
  const [random, wanted, found] = [new RandomStream(1, "sweep"), trials ?? DRAWN, new Map<string, Values>()];
  const wholes = wholesOf(schema);
  for (let attempt = 0; found.size < wanted && attempt < 100 * wanted; attempt++) {
    const entries = Object.entries(vary).map(([key, varied]) => [
      key,
      draw(varied as unknown[] | Range, random, wholes.has(key)),
    ]);
    found.set(JSON.stringify(entries), Object.fromEntries(entries));
  }
  if (found.size === wanted) return [...found.values()];
  return reject(
    { who: `${source} / trials`, needed: `at most ${found.size}, as many as there are`, got: `${wanted}` },
    2,
  );
}

function draw(varied: readonly unknown[] | Range, random: RandomStream, isWhole: boolean): unknown {
  if (!isRange(varied)) return varied[random.integer(varied.length)];
  const [to, from] = varied.scale === "log" ? [Math.log, Math.exp] : [(x: number) => x, (x: number) => x];
  const value = from(to(varied.low) + (to(varied.high) - to(varied.low)) * random.uniform());
  return isWhole ? Math.round(value) : Number(value.toPrecision(3));
}

/** The settings that are whole numbers. */
function wholesOf(schema: SettingsSchema): Set<string> {
  const isWhole = ({ type, anyOf = [] }: { type?: unknown; anyOf?: readonly object[] }): boolean =>
    type === "integer" || anyOf.some(isWhole);
  return new Set(
    Object.entries(schema.jsonSchema().properties ?? {}).flatMap(([key, each]) =>
      isWhole(each as object) ? [key] : [],
    ),
  );
}

function layersOf(
  { preset, settings }: CompleteSpec,
  schema: SettingsSchema,
  own: Values,
  below: Values,
  source: string,
): Layer<object>[] {
  return [
    { source: "sweep", values: { keep: 1, ...below } },
    ...(preset === null ? [] : [schema.preset(preset)]),
    { source: `${source} / settings`, values: settings },
    { source: `${source} / vary`, values: own },
  ];
}

/** A retraining takes from its search what it is not told. */
const taken = (schema: SettingsSchema, layers: readonly Layer<object>[]): Values =>
  ({ ...(schema.task === "retrain" ? schema.merge(layers) : schema.resolve(layers)) }) as Values;

const lengths = ["steps", "epochs", "minutes"];

/** How long a round of halving trains: the last one as long as the settings say, each before it half as long. */
function shortened(settings: Values, halvings: number, source: string): Layer<object> {
  const key = lengths.find((each) => typeof settings[each] === "number");
  if (key === undefined) return reject({ who: source, needed: "steps, epochs or minutes for halving", got: "none" }, 2);
  const length = (settings[key] as number) / 2 ** halvings;
  return { source: "halving", values: { [key]: key === "minutes" ? length : Math.max(1, Math.floor(length)) } };
}

/** The order that a trial is, with its settings, and the file of latencies that it goes by. */
export function orderOf({ spec }: SweepPlan, settings: Values, costs: string | undefined): SingleOrder {
  const { task, glueTask: name, from, source, fromSupernet } = spec;
  if (task === "search") return { task, settings, costs };
  if (task === "finetune") return { task, settings, glueTask: name!, from: from ?? undefined };
  return task === "retrain" ? { task, settings, source: source!, fromSupernet } : { task, settings };
}
