/** Sessions before the user's eyes: shown on the terminal; Ctrl-C once stops after the step, twice quits. */
import { Screen } from "../base/index.ts";
import type { Session, TaskEvent } from "../index.ts";
import type { Showing, SignalOptions } from "../tasks/index.ts";
import { terminal } from "./output.ts";
import { outliveOutput } from "./pipes.ts";

/** Runs a session to its end. `start` is given the signal that Ctrl-C aborts. */
export async function watchSession<R>(
  start: (signal: AbortSignal) => Session<TaskEvent, R>,
  { scheduled, ...showing }: Showing & Pick<SignalOptions, "scheduled"> = {},
): Promise<R> {
  const { watchSession: watch } = await import("../tasks/index.ts");
  const output = terminal();
  const shown = { screen: new Screen(output, process.env), ...showing };
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
