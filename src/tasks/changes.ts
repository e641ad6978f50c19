/** What may differ when a run is resumed: settings that are set anew, a longer length, another text. */

import { isDeepStrictEqual } from "node:util";
import { reject, rejectData } from "../base/errors.ts";
import type { FieldInfo } from "../runs/fields.ts";
import type { Changed, RunFolder } from "../runs/folder.ts";
import { migrateRun } from "../runs/migration.ts";
import type { Values } from "../runs/settings.ts";
import { parseYaml } from "../runs/settings-file.ts";
import type { TrainState } from "../train/events.ts";
import type { Lengths } from "../train/loop.ts";
import type { Job } from "./job.ts";
import { settingsNamed } from "./settings/index.ts";

/** Changes to a run that goes on, each of which is written down in its folder; what was made before counts towards a new length. */
export interface ResumeChanges extends Lengths {
  /** Settings by name, such as `{ rate: 0.001 }`. Texts are read as flags are. */
  readonly set?: Values | undefined;
  /** Go on although the text is not the one that the run began with. */
  readonly newText?: boolean | undefined;
}

const LENGTHS = ["steps", "epochs", "minutes"] as const;

/** All settings that are to change. */
export function settingsIn({ set = {}, ...given }: ResumeChanges): Values {
  const lengths = LENGTHS.filter((key) => given[key] !== undefined).map((key) => [key, given[key]]);
  return { ...set, ...Object.fromEntries(lengths) };
}

/** Whether a length is among them: then a run that has ended goes on. */
export const lengthens = (settings: Values): boolean => LENGTHS.some((key) => (settings[key] ?? null) !== null);

/** A run's config with other settings, and which they are. */
export async function changedConfig(
  yaml: string,
  source: string,
  given: Values,
): Promise<Pick<Changed, "config" | "set">> {
  const { parseDocument } = await import("yaml");
  const document = parseDocument(yaml);
  const place = document.has("training") ? ["training"] : [];
  const held = (document.toJS() as Values)[place[0] ?? ""] ?? document.toJS();
  const { task } = migrateRun(parseYaml(yaml, source));
  const values = task === "custom" ? given : await checkedValues(task, given, place.length > 0);
  const set: Record<string, readonly [unknown, unknown]> = {};
  for (const [key, to] of Object.entries({ ...shorter(values), ...values })) {
    const from = held[key] ?? null;
    if (isDeepStrictEqual(from, to)) continue;
    set[key] = [from, to];
    if (task === "custom" && to === null) document.deleteIn([...place, key]);
    else document.setIn([...place, key], to);
  }
  return { config: String(document), set };
}

/** A length takes the place of any other. */
const shorter = (values: Values): Values =>
  lengthens(values) ? Object.fromEntries(LENGTHS.filter((key) => !(key in values)).map((key) => [key, null])) : {};

async function checkedValues(task: string, given: Values, isAlbert: boolean): Promise<Values> {
  const schema = await settingsNamed(task === "retrain" ? "search" : task);
  const infos = new Map(schema.describe().map((info) => [info.key, info]));
  for (const key of Object.keys(given)) {
    if (!isAlbert || infos.get(key)?.group !== "Model") continue;
    const remedy = "begin a new run from its weights";
    reject({ who: `set / ${key}`, needed: "a setting that is not the model's", got: key, remedy }, 2);
  }
  const values = Object.entries(given).map(([key, value]) => [key, read(infos.get(key), value)]);
  return { ...schema.check(Object.fromEntries(values), "set") };
}

function read(info: FieldInfo | undefined, value: unknown): unknown {
  if (typeof value !== "string" || !info) return value;
  if (info.kind === "switch") return value === "true" ? true : value === "false" ? false : value;
  return info.kind === "text" ? info.read(value) : value === "none" && info.optional ? null : value;
}

/** Refuses to go on with another text than the run has, unless that is wanted; true where it is another. */
export function isNewText(run: RunFolder, { text }: Pick<Job, "text">, wanted: boolean): boolean {
  if (run.text === undefined || text === null || run.text === text) return false;
  if (wanted) return true;
  return rejectData({
    who: run.path,
    needed: `the text that the run learnt from so far (SHA-256 ${run.text.slice(0, 12)}…)`,
    got: `another (${text.slice(0, 12)}…)`,
    remedy: "put it back, or accept it with --new-text, which is written down",
  });
}

/** The state of a run that is made longer. */
export function lengthened(state: TrainState, { length }: Pick<Job, "length">): TrainState {
  const { step } = state.progress;
  const totalSteps = length.minutes === null ? length.totalSteps : null;
  if (totalSteps !== null && totalSteps <= step) {
    reject({ who: "length", needed: `more than the ${step} steps that were made`, got: `${totalSteps}` }, 2);
  }
  return { ...state, progress: { ...state.progress, totalSteps, finished: false } };
}
