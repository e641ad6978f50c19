/** Sessions and sweeps before the user's eyes: shown on the terminal; Ctrl-C once stops after the step, twice quits. */
import { LayerwiseError, Screen } from "../base/index.ts";
import type { Session, TaskEvent } from "../index.ts";
import type { SweepEvent, SweepResult } from "../sweep/index.ts";
import type { Showing, SignalOptions } from "../tasks/index.ts";
import { commandName, say, terminal } from "./output.ts";
import { outliveOutput } from "./pipes.ts";

/** Runs a session to its end. `start` is given the signal that Ctrl-C aborts. */
export async function watchSession<R>(
  start: (signal: AbortSignal) => Session<TaskEvent, R>,
  { scheduled, ...showing }: Showing & Pick<SignalOptions, "scheduled"> = {},
): Promise<R> {
  const { choicePicture, watchSession: watch } = await import("../tasks/index.ts");
  const output = terminal();
  const shown = { screen: new Screen(output, process.env), picture: choicePicture, ...showing };
  return stoppable((signal) => watch(start(signal), output, shown), { scheduled });
}

/** Work that goes on without its output, and that signals stop. */
export async function stoppable<R>(work: (signal: AbortSignal) => Promise<R>, how?: SignalOptions): Promise<R> {
  const { stopOnSignals } = await import("../tasks/index.ts");
  outliveOutput();
  const stop = stopOnSignals(process.stderr, how);
  try {
    return await work(stop.signal);
  } finally {
    stop.release();
  }
}

/** Runs a sweep to its end: trial by trial where they run here, since `on` names no other place, else as a table of those at work. */
export async function watchTrials<R>(
  start: (signal: AbortSignal) => Session<SweepEvent, R>,
  on: string | undefined,
): Promise<R> {
  const { eventsHere, showSweep, TrialTable } = await import("../sweep/index.ts");
  const { worldSize } = await import("../tasks/index.ts");
  if (on === undefined || worldSize() > 1) return watchSession((signal) => eventsHere(start(signal)));
  const shown = new TrialTable(process.stderr);
  return seen(start, (event) => showSweep(shown, event)).finally(() => shown.wipe());
}

/** Runs a session whose events `see` shows to its end. */
export const seen = <E, R>(start: (signal: AbortSignal) => Session<E, R>, see: (event: E) => void): Promise<R> =>
  stoppable(async (signal) => {
    const session = start(signal);
    for await (const event of session) see(event);
    return session.result;
  });

/** Says why a sweep has not come to its end; false where it has. Trials that failed are an error. */
export function isUnfinished(path: string, reason: SweepResult["reason"]): boolean {
  if (reason === "stopped") say("stopped; the same command goes on");
  if (reason === "submitted") say(`once its trials have ended, go on with: ${commandName()} resume ${path}`);
  if (reason === "incomplete")
    throw new LayerwiseError(`${path}: not all trials have ended; the same command tries them again`);
  return reason !== "finished";
}
