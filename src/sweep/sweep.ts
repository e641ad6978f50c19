/** Sweeps: a session that makes the folder of a sweep and runs its trials in processes of their own, round by round. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { messageOf, reject } from "../base/errors.ts";
import { lockHolder, takeLock } from "../files/lock.ts";
import { LOCK_FILE } from "../runs/folder.ts";
import type { Values } from "../runs/settings.ts";
import { type Session, startSession } from "../train/session.ts";
import { startTrial } from "./jobs.ts";
import type { TrialReport } from "./processes.ts";
import {
  beginSweep,
  hasEnded,
  nextRound,
  readSweep,
  runPath,
  type SweepFolder,
  type SweepTable,
  type SweepTrial,
  stateOf,
  statesOf,
  type TrialState,
} from "./sweep-folder.ts";
import { planSweep, type SweepSpec } from "./sweep-plan.ts";

/** A sweep, where it goes, and how it is run. */
export interface SweepOptions extends SweepSpec {
  /** The sweep's folder; one that holds the same sweep goes on. */
  readonly into: string;
  /** Trials at a time; they share the threads that the settings leave open. Default: 1. */
  readonly parallel?: number | undefined;
  /** Stops all trials after their present step, with checkpoints. */
  readonly signal?: AbortSignal | undefined;
}

/** What happens in a sweep. */
export type SweepEvent =
  /** A round begins: its trials, and how many of them have ended before. */
  | { readonly type: "round"; readonly round: number; readonly trials: number; readonly ended: number }
  /** A trial begins, or says how far it is. */
  | { readonly type: "trial"; readonly trial: SweepTrial; readonly report?: TrialReport | undefined }
  /** A trial has ended or was stopped; `why`: what made it fail. */
  | { readonly type: "ended"; readonly trial: TrialState; readonly why?: string | undefined };

/** What a sweep came to. `incomplete`: trials failed, and the same sweep would try them again. */
export interface SweepResult extends SweepTable {
  readonly reason: "finished" | "stopped" | "incomplete";
  readonly failed: readonly { readonly index: number; readonly why: string }[];
}

/** Tries settings: a run per candidate and seed, in processes of their own. Finished trials are kept, begun ones go on. */
export function sweep({ signal, ...options }: SweepOptions): Session<SweepEvent, SweepResult> {
  return startSession((stop) => sweeping(options, stop), signal);
}

async function* sweeping(
  { into, parallel = 1, ...spec }: Omit<SweepOptions, "signal">,
  signal: AbortSignal,
): AsyncGenerator<SweepEvent, SweepResult, void> {
  if (!Number.isInteger(parallel) || parallel < 1)
    reject({ who: "sweep / parallel", needed: "a whole number from 1", got: `${parallel}` }, 2);
  const plan = await planSweep(spec);
  await mkdir(into, { recursive: true });
  const lock = takeLock(join(into, LOCK_FILE));
  try {
    const below = await sharedThreads(parallel);
    let folder = await beginSweep(into, plan, below);
    for (;;) {
      const failed = yield* runRound(folder, parallel, signal);
      const grown = signal.aborted || failed.length > 0 ? folder : await nextRound(folder, below);
      if (grown === folder) return { ...(await readSweep(into)), failed, reason: await reasonOf(folder) };
      folder = grown;
    }
  } finally {
    lock.release();
  }

  async function reasonOf(folder: SweepFolder): Promise<SweepResult["reason"]> {
    if ((await statesOf(folder)).every(hasEnded)) return "finished";
    return signal.aborted ? "stopped" : "incomplete";
  }
}

/** Trials at a time share the machine's threads. */
async function sharedThreads(parallel: number): Promise<Values> {
  const { defaultThreads } = await import("../engine/ort.ts");
  return { threads: Math.max(1, Math.floor(defaultThreads() / parallel)) };
}

async function* runRound(
  folder: SweepFolder,
  parallel: number,
  signal: AbortSignal,
): AsyncGenerator<SweepEvent, SweepResult["failed"], void> {
  const round = folder.trials.at(-1)!.round;
  const trials = (await statesOf(folder)).filter((trial) => trial.round === round);
  const waiting = trials.filter((trial) => !hasEnded(trial));
  yield { type: "round", round, trials: trials.length, ended: trials.length - waiting.length };
  const failed: SweepResult["failed"][number][] = [];
  for await (const event of launched(folder, waiting, parallel, signal)) {
    if (event.type === "ended" && event.why !== undefined) failed.push({ index: event.trial.index, why: event.why });
    yield event;
  }
  return failed;
}

/** The local launcher: so many child processes at a time, and what they say as it comes. */
async function* launched(
  folder: SweepFolder,
  waiting: TrialState[],
  parallel: number,
  signal: AbortSignal,
): AsyncGenerator<SweepEvent, void, void> {
  const said: SweepEvent[] = [];
  let [wake, running] = [() => {}, true];
  const tell = (event: SweepEvent) => {
    said.push(event);
    wake();
  };
  const serve = async () => {
    for (let trial = waiting.shift(); trial && !signal.aborted; trial = waiting.shift()) {
      tell(await runOne(folder, trial, tell, signal));
    }
  };
  const all = Promise.all(Array.from({ length: parallel }, serve)).finally(() => {
    running = false;
    wake();
  });
  all.catch(() => {}); // awaited below
  while (running || said.length > 0) {
    const event = said.shift();
    if (event) yield event;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
  await all;
}

async function runOne(
  folder: SweepFolder,
  { index }: TrialState,
  tell: (event: SweepEvent) => void,
  signal: AbortSignal,
): Promise<SweepEvent> {
  const trial = folder.trials[index]!;
  tell({ type: "trial", trial });
  await untilFree(runPath(folder.path, index), signal);
  let why: string | undefined;
  try {
    if (!signal.aborted) {
      await startTrial(
        { do: "trial", sweep: folder.path, index },
        (report) => tell({ type: "trial", trial, report }),
        signal,
      );
    }
  } catch (error) {
    why = messageOf(error);
  }
  return { type: "ended", trial: await stateOf(folder, trial), why };
}

/** Waits while another process trains the run: one whose launcher was killed just now, or somebody's `layerwise trial`. */
async function untilFree(run: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && lockHolder(join(run, LOCK_FILE))?.live) await setTimeout(100);
}
