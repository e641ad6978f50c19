/** Settings that older versions wrote, as this version has them: plain objects in, plain objects out. */
import { rejectFile } from "../base/errors.ts";
import { formerNames, withNames } from "./names.ts";
import type { Values } from "./settings.ts";

/** What a config.yaml holds. */
export interface StoredConfig {
  /** `language`, `translate`, `search`, `retrain`, `pretrain`, `finetune`, or `albert` for one that was only imported. */
  readonly task: string;
  readonly settings: Values;
  /** What the run keeps besides its settings, such as an ALBERT's `model` and `heads`. */
  readonly notes: Values;
}

/** Version 0.1.0 named the tasks of ALBERTs by their command, below `training`, and kept these keys there besides settings. */
const albertTasks: ReadonlyMap<unknown, { task: string; notes: readonly string[] }> = new Map([
  ["pretrain", { task: "pretrain", notes: ["init", "initStep"] }],
  ["glue", { task: "finetune", notes: ["glueTask", "textTask", "files", "trial", "from", "fromStep"] }],
]);

/** A table without the names that every object inherits. */
const own = <T extends object>(table: T): T => Object.assign(Object.create(null), table);

/** Settings of earlier versions that had no effect on the task, or have none today, with the defaults that every run wrote down. */
const withoutEffect: Readonly<Record<string, Values | undefined>> = own({
  language: { source: "en", target: "de", parts: "layers", norms: "shared", decoderPlan: null, smoothing: 0.1 },
  translate: { cased: false, halt: false, ponder: 0.01, ponderWarmup: 0, haltBias: 0 },
  search: { anyDepth: false },
});

/** What runs did before a setting existed; today's default may differ. */
const before: Readonly<Record<string, Values | undefined>> = own({
  language: { evaluateTokens: 0, evaluationBatch: 0 },
  translate: { evaluateTokens: 0 },
  search: { keep: 3, threads: null, device: "cpu", evaluateTokens: 0, decide: null },
  retrain: { keep: 3, threads: null, device: "cpu", evaluateTokens: 0, decide: null },
  pretrain: { decide: null },
});

/** The config of a run that this or an older version made: complete, with the defaults of its time. */
export function migrateRun(config: Values): StoredConfig {
  const { task, settings, notes } = migrate(config);
  const dropped = Object.keys(withoutEffect[task] ?? {});
  return { task, notes, settings: { ...before[task], ...without(settings, dropped) } };
}

/** The same for a file of settings, which need not be complete: nothing is filled in, and nothing dropped that somebody changed. */
export function migrate(config: Values): StoredConfig {
  const { task, settings, notes } = split(config);
  const unchanged = Object.entries(withoutEffect[task] ?? {}).filter(([key, value]) => settings[key] === value);
  const dropped = unchanged.map(([key]) => key);
  return { task, notes, settings: without(current(task, settings), dropped) };
}

function split({ task = "language", ...rest }: Values): StoredConfig {
  if (task === "albert") return splitAlbert(rest);
  const notes = task === "retrain" ? ["retrain"] : [];
  return { task: wordOf(task), settings: without(rest, notes), notes: only(rest, notes) };
}

const wordOf = (task: unknown): string =>
  typeof task === "string" ? task : rejectFile({ who: "task", needed: "the name of a task", got: typeof task }, 2);

function splitAlbert({ training, ...notes }: Values): StoredConfig {
  const { command, ...settings } = (training ?? {}) as Values;
  const known = albertTasks.get(command);
  if (!known) return { task: "albert", settings, notes };
  const own = { ...notes, ...only(settings, known.notes) };
  return { task: known.task, settings: without(settings, known.notes), notes: own };
}

/** Values that have another name or another form today. */
function current(task: string, given: Values): Values {
  const settings = withNames(given, Object.values(formerNames), task);
  // Version 0.1.0, which wrote settings of language models down too, trained translation with AdamW whatever it said.
  if (task === "translate" && "cased" in settings && settings.optimiser === "muon") {
    return { ...settings, optimiser: "adamw" };
  }
  const isSearch = task === "search" || task === "retrain";
  // It was true or false.
  if (!isSearch || typeof settings.compat !== "boolean") return settings;
  return { ...settings, compat: settings.compat ? "original" : null };
}

function without(values: Values, keys: readonly string[]): Values {
  return Object.fromEntries(Object.entries(values).filter(([key]) => !keys.includes(key)));
}

function only(values: Values, keys: readonly string[]): Values {
  return Object.fromEntries(Object.entries(values).filter(([key]) => keys.includes(key)));
}
