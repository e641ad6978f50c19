/** Sweeps: a session that makes the folder of a sweep and has a launcher run its trials, round by round. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { takeLock } from "../files/lock.ts";
import { LOCK_FILE } from "../runs/folder.ts";
import { type Session, startSession } from "../train/session.ts";
import type { Launcher, SweepEvent } from "./launcher.ts";
import { launcherNamed } from "./launchers.ts";
import { localLauncher } from "./local.ts";
import {
  beginSweep,
  clearSweep,
  hasEnded,
  isTrialOf,
  nextRound,
  readSweep,
  type SweepFolder,
  type SweepTable,
  statesOf,
  type TrialState,
} from "./sweep-folder.ts";
import { planSweep, type SweepPlan, type SweepSpec } from "./sweep-plan.ts";
import { refuseUneven, together, worldOf } from "./together.ts";

/** A sweep, where it goes, and how it is run. */
export interface SweepOptions extends SweepSpec {
  /** The sweep's folder; one that holds the same sweep goes on. */
  readonly into: string;
  /** Trials at a time in processes here; they share the threads that the settings leave open. Default: 1. */
  readonly parallel?: number | undefined;
  /** Where trials run instead: `local:2`, `redis://host`, `slurm`, `kubernetes`, or a launcher of one's own. */
  readonly on?: string | Launcher | undefined;
  /** Files in the folder that are no part of a sweep, and may be there before it. */
  readonly spare?: readonly string[] | undefined;
  /** Stops all trials after their present step, with checkpoints. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What a sweep came to. `incomplete`: trials failed, and the same sweep would try them again. `submitted`: a cluster's scheduler has them,
 * and the same sweep goes on once they have ended.
 */
export interface SweepResult extends SweepTable {
  readonly reason: "finished" | "stopped" | "incomplete" | "submitted";
  readonly failed: readonly { readonly index: number; readonly why: string }[];
}

/** Tries settings: a run per candidate and seed, in processes of their own. Finished trials are kept, begun ones go on. */
export function sweep({ signal, ...options }: SweepOptions): Session<SweepEvent, SweepResult> {
  return startSession(async function* (stop) {
    const { parallel = 1, on = parallel === 1 ? "local" : localLauncher(parallel) } = options;
    return yield* together(await worldOf(on), {}, () => sweeping({ ...options, on }, stop));
  }, signal);
}

/** The same as a generator, for the first of processes that train together. */
export async function* sweeping(
  { into, parallel: _, on = "local", spare, ...spec }: Omit<SweepOptions, "signal">,
  signal: AbortSignal,
): AsyncGenerator<SweepEvent, SweepResult, void> {
  const world = await worldOf(on);
  const launcher = typeof on === "object" ? on : launcherNamed(on);
  const plan = await planSweep(spec);
  if (world) refuseUneven(plan, world);
  const below = await launcher.below(); // a launcher that cannot work says so before there is a folder
  await mkdir(into, { recursive: true });
  const lock = takeLock(join(into, LOCK_FILE));
  try {
    let folder = await beginSweep(into, plan, below, spare);
    await clearSweep(folder);
    for (;;) {
      const failed = yield* runRound(folder, plan, launcher, signal);
      const states = await statesOf(folder);
      const isOver = states.every((trial) => hasEnded(trial) || !isTrialOf(plan, trial));
      const grown = signal.aborted || !isOver ? folder : await nextRound(folder, below);
      if (grown === folder) return { ...(await readSweep(into)), failed, reason: reasonOf(isOver, failed.length > 0) };
      folder = grown;
    }
  } finally {
    lock.release();
  }

  function reasonOf(isOver: boolean, hasFailed: boolean): SweepResult["reason"] {
    if (isOver) return "finished";
    if (signal.aborted) return "stopped";
    return launcher.handsOver && !hasFailed ? "submitted" : "incomplete";
  }
}

/** Runs the trials of the last round that were asked for, seed by seed: a table of fewer seeds is whole early. */
async function* runRound(
  folder: SweepFolder,
  asked: SweepPlan,
  launcher: Launcher,
  signal: AbortSignal,
): AsyncGenerator<SweepEvent, SweepResult["failed"], void> {
  const round = folder.trials.at(-1)!.round;
  const trials = (await statesOf(folder)).filter((trial) => trial.round === round && isTrialOf(asked, trial));
  const turn = ({ seed }: TrialState) => asked.spec.seeds.indexOf(seed);
  const waiting = trials.filter((trial) => !hasEnded(trial)).sort((a, b) => turn(a) - turn(b));
  yield { type: "round", round, trials: trials.length, ended: trials.length - waiting.length };
  if (waiting.length === 0) return [];
  const failed: SweepResult["failed"][number][] = [];
  for await (const event of launched(folder, waiting, launcher, signal)) {
    if (event.type === "ended" && event.why !== undefined) failed.push({ index: event.trial.index, why: event.why });
    yield event;
  }
  return failed;
}

/** What a launcher says, as it comes. */
async function* launched(
  folder: SweepFolder,
  waiting: readonly TrialState[],
  launcher: Launcher,
  signal: AbortSignal,
): AsyncGenerator<SweepEvent, void, void> {
  const said: SweepEvent[] = [];
  let [wake, running] = [() => {}, true];
  const tell = (event: SweepEvent) => {
    said.push(event);
    wake();
  };
  const all = launcher.launch(folder, waiting, tell, signal).finally(() => {
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
