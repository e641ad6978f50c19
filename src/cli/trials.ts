/** What a person sees of sweeps: the events of trials in this process, or a table of those elsewhere. */
import { LayerwiseError } from "../base/index.ts";
import type { Session } from "../index.ts";
import type { SweepEvent, SweepResult } from "../sweep/index.ts";
import type { Showing } from "../tasks/index.ts";
import { commandName } from "./command-name.ts";
import { say } from "./output.ts";
import { stoppable, watchSession } from "./session.ts";

/** Runs a sweep to its end before the user's eyes: trial by trial where they run `here`, else as a table of those at work. */
export async function watchTrials<R>(
  start: (signal: AbortSignal) => Session<SweepEvent, R>,
  { here, ...showing }: Showing & { readonly here: boolean },
): Promise<R> {
  const { eventsHere, showSweep, TrialTable } = await import("../sweep/index.ts");
  const { worldSize } = await import("../tasks/index.ts");
  if (here || worldSize() > 1) return watchSession((signal) => eventsHere(start(signal)), showing);
  const shown = new TrialTable(process.stderr);
  return stoppable(async (signal) => {
    const session = start(signal);
    for await (const event of session) showSweep(shown, event);
    return session.result;
  }).finally(() => shown.wipe());
}

/** Says why a sweep has not come to its end; false where it has. Trials that failed are an error. */
export function isUnfinished(path: string, reason: SweepResult["reason"]): boolean {
  if (reason === "stopped") say("stopped; the same command goes on");
  if (reason === "submitted") say(`once its trials have ended, go on with: ${commandName()} resume ${path}`);
  if (reason === "incomplete")
    throw new LayerwiseError(`${path}: not all trials have ended; the same command tries them again`);
  return reason !== "finished";
}
