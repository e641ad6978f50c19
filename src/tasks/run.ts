/** Run folders from a program: made for a session to fill, opened by kind, resumed. */
import { reject, rejectFile, rejectOption } from "../base/errors.ts";
import { RunFolder } from "../runs/folder.ts";
import { relayed, type Session, startSession } from "../train/session.ts";
import type { CustomRun } from "./custom/uses.ts";
import { checkDepthUse } from "./depth-use.ts";
import type { HeadRun } from "./finetune/head-uses.ts";
import type { FinetuneRun } from "./finetune/uses.ts";
import type { TaskEvent } from "./job.ts";
import type { LanguageRun } from "./language/uses.ts";
import { type NewRun, newRun } from "./new-run.ts";
import { type OpenOptions, type ResumeOptions, readStored, type StoredRun } from "./open-run.ts";
import type { ImportedRun, PretrainRun } from "./pretrain/uses.ts";
import type { RetrainRun } from "./search/retrain.ts";
import { isSeedFolder } from "./search/seed-folder.ts";
import type { SeedsRun } from "./search/seeds.ts";
import type { SearchRun } from "./search/uses.ts";
import type { TranslateRun } from "./translate/uses.ts";

/** The kinds of runs, and what each can do. */
export interface RunKinds {
  readonly language: LanguageRun;
  readonly translate: TranslateRun;
  readonly pretrain: PretrainRun;
  readonly finetune: FinetuneRun;
  readonly head: HeadRun;
  readonly imported: ImportedRun;
  readonly custom: CustomRun;
  readonly search: SearchRun;
  readonly seeds: SeedsRun;
  readonly retrain: RetrainRun;
}

/** Names of the kinds of runs. */
export type RunKind = keyof RunKinds;

/** A run of any kind; narrow it by `run.kind`. */
export type AnyRun = RunKinds[RunKind];

/** How a kind of run is opened and resumed. */
interface Opener<K extends RunKind> {
  /** The run that stands for several in one folder. */
  within?(path: string): Promise<string>;
  open(stored: StoredRun): Promise<RunKinds[K]>;
  /** Absent where nothing was trained, and of several runs. */
  resume?(path: string, options: ResumeOptions): Session<TaskEvent, unknown>;
}

/** Each kind's code is loaded when a run of it is opened; its module has `open` and `resume`. */
const openers: { readonly [K in RunKind]: () => Promise<Opener<K>> } = {
  language: () => import("./language/uses.ts"),
  translate: () => import("./translate/uses.ts"),
  pretrain: () => import("./pretrain/uses.ts"),
  finetune: () => import("./finetune/uses.ts"),
  head: () => import("./finetune/head-uses.ts"),
  imported: async () => ({ open: (await import("./pretrain/uses.ts")).openImported }),
  custom: () => import("./custom/uses.ts"),
  search: () => import("./search/uses.ts"),
  seeds: () => import("./search/seeds.ts"),
  retrain: () => import("./search/retrain.ts"),
};

/** The kind of a run, from its config.yaml; a config without a task is a language model's. */
export async function kindOf(path: string): Promise<RunKind> {
  if (isSeedFolder(path)) return "seeds";
  const { config } = await RunFolder.read(path);
  const { parseYaml } = await import("../runs/settings-file.ts");
  return kindIn(parseYaml(config, `${path}/config.yaml`), path);
}

/** The kind of a run from what its config.yaml holds. */
export function kindIn(config: Readonly<Record<string, unknown>>, path: string): RunKind {
  const task = taskIn(config);
  if (Object.hasOwn(openers, task)) return task as RunKind;
  const needed = `a task of ${Object.keys(openers).join(", ")}`;
  return rejectFile({ who: path, needed, got: task, remedy: "use the version of layerwise that made the run" });
}

/** Kinds of ALBERTs by the command that trained them. */
const albertKinds: ReadonlyMap<unknown, RunKind> = new Map([
  ["pretrain", "pretrain"],
  ["glue", "finetune"],
  ["head", "head"],
]);

/** The task that a config.yaml names, by today's names. */
function taskIn({ task = "language", training }: { task?: unknown; training?: unknown }): string {
  if (task !== "albert") return wordOf(task);
  const { command = "imported" } = (training ?? {}) as { command?: unknown };
  return albertKinds.get(command) ?? wordOf(command);
}

const wordOf = (task: unknown): string => (typeof task === "string" ? task : `a ${typeof task}`);

/** Opens a run to use it, by the command line's name of its folder. */
async function open(path: string, options?: OpenOptions): Promise<AnyRun>;
async function open<K extends RunKind>(path: string, kind: K, options?: OpenOptions): Promise<RunKinds[K]>;
async function open(path: string, second?: RunKind | OpenOptions, third: OpenOptions = {}): Promise<AnyRun> {
  const [wanted, options] = typeof second === "string" ? [second, third] : [undefined, second ?? {}];
  const kind = await kindOf(path);
  if (wanted !== undefined && wanted !== kind) {
    rejectOption({
      who: path,
      needed: `a run of kind ${wanted}`,
      got: kind,
      remedy: "open it without a kind and look at run.kind",
    });
  }
  if (options.use) await checkDepthUse(path, kind, options.use);
  const opener = await openers[kind]();
  return opener.open(await readStored((await opener.within?.(path)) ?? path, options));
}

/** Goes on with a run of any kind, whether or not it has a checkpoint yet. */
function resume(path: string, options: ResumeOptions = {}): Session<TaskEvent, unknown> {
  return startSession(async function* (signal) {
    const kind = await kindOf(path);
    const { resume: goOn } = await openers[kind]();
    if (!goOn) return refuseToGoOn(path, kind);
    return yield* relayed(goOn(path, { ...options, signal }));
  }, options.signal);
}

function refuseToGoOn(path: string, kind: RunKind): never {
  if (kind !== "seeds") return reject({ who: path, needed: "a run that was trained", got: "one that was imported" }, 2);
  const remedy = "go on with it by `layerwise resume`, or resumeSweep of layerwise/sweep";
  return reject({ who: path, needed: "a single run", got: "a sweep over seeds", remedy }, 2);
}

/** Run folders: `create` one for a session to fill, `open` one to use it, `resume` one that was stopped. */
export const Run = {
  /** A new run folder for `into`; refused at once where the folder is taken. */
  create: (path: string): Promise<NewRun> => newRun(path),
  open,
  resume,
};
