/** The local launcher: so many child processes at a time on this machine. */
import { setTimeout } from "node:timers/promises";
import { messageOf, reject } from "../base/errors.ts";
import { lockHolder } from "../files/lock.ts";
import { startTrial } from "./jobs.ts";
import type { Launcher, SweepEvent } from "./launcher.ts";
import { type SweepFolder, stateOf, type TrialPlace, type TrialState, trialLocks } from "./sweep-folder.ts";

/** Runs trials in child processes, `parallel` at a time, which share the machine's threads. */
export function localLauncher(parallel = 1): Launcher {
  if (!Number.isInteger(parallel) || parallel < 1)
    reject({ who: "sweep / parallel", needed: "a whole number from 1", got: `${parallel}` }, 2);
  return {
    below: async () => ({ threads: await sharedThreads(parallel) }),
    async launch(folder, waiting, tell, signal) {
      const left = [...waiting];
      const serve = async () => {
        for (let trial = left.shift(); trial && !signal.aborted; trial = left.shift()) {
          tell(await runOne(folder, trial, tell, signal));
        }
      };
      await Promise.all(Array.from({ length: parallel }, serve));
    },
  };
}

/** The threads of each of so many trials at a time. */
export async function sharedThreads(parallel: number): Promise<number> {
  const { defaultThreads } = await import("../engine/ort.ts");
  return Math.max(1, Math.floor(defaultThreads() / parallel));
}

async function runOne(
  folder: SweepFolder,
  { index }: TrialState,
  tell: (event: SweepEvent) => void,
  signal: AbortSignal,
): Promise<SweepEvent> {
  const trial = folder.trials[index]!;
  tell({ type: "trial", trial });
  await untilFree(folder.path, trial, signal);
  let why: string | undefined;
  try {
    if (!signal.aborted) {
      const order = { do: "trial", sweep: folder.path, index } as const;
      await startTrial(order, { onReport: (report) => tell({ type: "trial", trial, report }), signal });
    }
  } catch (error) {
    why = messageOf(error);
  }
  return { type: "ended", trial: await stateOf(folder, trial), why };
}

/** Waits while another process has the trial: one whose launcher was killed just now, or somebody's `layerwise trial`. */
export async function untilFree(path: string, trial: TrialPlace, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && trialLocks(path, trial).some((lock) => lockHolder(lock)?.live)) await setTimeout(100);
}
