/** Carries out what a command is asked to train: tried with `--dry-run`, into a run folder before the user's eyes, or gone on with. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { factTable, reject } from "../base/index.ts";
import type { RetrainResult, RunKind, SearchResult } from "../index.ts";
import type { Ended, Job, Rehearsed, ResumeChanges } from "../tasks/index.ts";
import { type Concluding, concludeRetrain, concludeSearch, concludeSeeds, concludeTraining } from "./conclude.ts";
import { freeFolder } from "./flags.ts";
import { commandName, counting, print, say } from "./output.ts";
import { isUnfinished, watchSession, watchTrials } from "./session.ts";

/** Where a job goes, and how it is shown. */
export interface CarryingOut {
  /** The run folder. Default: the first free one of `prefix`. */
  readonly out?: string | undefined;
  readonly prefix?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Prints what the run would be, or trains and says how it ended. */
export async function carryOut(job: Job<Ended>, kind: RunKind, { dryRun, json, ...where }: CarryingOut) {
  if (dryRun) return printDryRun(job, json);
  const { figuresOfKind, perform } = await import("../tasks/index.ts");
  const into = await runAt(where);
  const result = await watchSession((signal) => perform(job, { into, signal }), { shown: figuresOfKind(kind) });
  await concludeTraining(into.path, kind, result, { json, engine: job.engine });
}

/** `--dry-run`: prints what a run would be and how long it would take. */
export async function printDryRun(job: Rehearsed, json = false): Promise<void> {
  const { dryRun } = await import("../tasks/index.ts");
  const facts = await counting("measuring", "steps", (onStep) => dryRun(job, onStep));
  print(json ? JSON.stringify(facts) : factTable(facts));
}

/** The run folder to begin. */
export async function runAt({ out, prefix }: Pick<CarryingOut, "out" | "prefix">) {
  return (await import("../tasks/index.ts")).newRun(out ?? (await freeFolder(prefix)));
}

/** What is changed of a run that goes on and, of a sweep, where its trials run. */
interface Resuming extends Concluding {
  readonly changes?: ResumeChanges | undefined;
  readonly on?: string | undefined;
}

/** Goes on with a run or sweep of any kind, on the engine it began with unless another is given. */
export async function resume(path: string, how: Resuming = {}): Promise<void> {
  if (["sweep.yaml", "seeds.json"].some((name) => existsSync(join(path, name)))) return resumeTrials(path, how);
  if (how.on !== undefined) reject({ who: "--on", needed: "a sweep", got: path, remedy: "leave it out" }, 2);
  const { figuresOfKind, kindOf, Run } = await import("../tasks/index.ts");
  const kind = await kindOf(path);
  let began = false;
  const start = (signal: AbortSignal) => Run.resume(path, { ...how.changes, signal, say, engine: how.engine });
  const see = ({ type }: { type: string }) => {
    began ||= type === "begin";
  };
  const result = await watchSession(start, { shown: figuresOfKind(kind), see });
  if (kind === "search") return concludeSearch(path, result as SearchResult, how.json);
  if (kind === "retrain") return concludeRetrain(path, result as RetrainResult, how.json);
  const trained = result as Ended;
  if (began) return concludeTraining(path, kind, trained, how);
  print(`${path} is finished: ${trained.steps} steps; ${afterwards(kind, path)}`);
}

/** What to do with a run that had ended before. */
const afterwards = (kind: RunKind, path: string): string =>
  kind === "finetune" || kind === "head"
    ? `measure it with ${commandName()} eval ${path}`
    : `start a new run with ${commandName()} ${kind === "pretrain" ? "pretrain" : "train"} --init ${path}`;

async function resumeTrials(path: string, { changes = {}, engine, json, on }: Resuming): Promise<void> {
  const changed = Object.entries(changes).find(([, value]) => value !== undefined && JSON.stringify(value) !== "{}");
  const needed = "a single run, to change its settings";
  if (changed) reject({ who: path, needed, got: "a sweep", remedy: "change one of its runs" }, 2);
  const { resumeSweep, sweepText } = await import("../sweep/index.ts");
  const result = await watchTrials((signal) => resumeSweep(path, { signal, say, engine, on }), on);
  if (result.found) return concludeSeeds(result, json);
  print(json ? JSON.stringify(result) : sweepText(result));
  isUnfinished(path, result.reason);
}
