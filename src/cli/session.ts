/** What a person sees of a session: a live line, evaluations, notes; Ctrl-C once stops after the step, twice quits. */
import type { Session, TaskEvent } from "../index.ts";
import { outliveOutput } from "./pipes.ts";
import { stopOnSignals } from "./signals.ts";
import { type Expected, Watch } from "./watch.ts";

export interface Showing {
  /** Which of an evaluation's own figures to show. */
  readonly shown?: readonly string[];
  /** Draws an event; its picture takes the place of the event's own line, and of the picture before. */
  readonly picture?: (event: TaskEvent) => string | undefined;
  /** Sees every event. */
  readonly see?: (event: TaskEvent) => void;
  /** A scheduler may have started it: see stopOnSignals. */
  readonly scheduled?: boolean;
}

/** Runs a session to its end before the user's eyes. `start` is given the signal that Ctrl-C aborts. */
export async function watchSession<R>(
  start: (signal: AbortSignal) => Session<TaskEvent, R>,
  { shown = [], picture, see, scheduled }: Showing = {},
): Promise<R> {
  const output = process.stderr;
  outliveOutput();
  const stop = stopOnSignals(output, { scheduled });
  let watch = new Watch(output, { totalSteps: null, minutes: null, shown });
  try {
    const session = start(stop.signal);
    for await (const event of session) {
      see?.(event);
      const drawn = picture?.(event);
      if (event.type === "begin") {
        watch.wipe();
        watch = new Watch(output, { ...(event as Expected), shown });
      } else if (event.type === "note") watch.say(event.text);
      else if (drawn !== undefined) watch.picture(drawn);
      else watch.see(event);
    }
    return await session.result;
  } finally {
    watch.wipe();
    stop.release();
  }
}
