/** Evaluations that tell how far they are: as events, while they take long enough to be waited for. */
import type { EvaluatingEvent } from "./events.ts";

/** Told how much is done, of how much. */
export type Tell = (done: number, count: number) => void;

/** An evaluation says nothing in its first second; then it does so several times per second. */
const [FIRST_MS, NEXT_MS] = [1000, 250];

/** Does the work of an evaluation, and yields how far it is. However it is left, the work has ended by then. */
export async function* telling<T>(
  step: number,
  work: (tell: Tell) => Promise<T>,
): AsyncGenerator<EvaluatingEvent, T, void> {
  let due = performance.now() + FIRST_MS;
  let [latest, wake]: [EvaluatingEvent | undefined, () => void] = [undefined, () => {}];
  const tell: Tell = (done, count) => {
    if (performance.now() < due) return;
    due = performance.now() + NEXT_MS;
    latest = { type: "evaluating", step, done, count };
    wake();
  };
  let isDone = false;
  const result = work(tell);
  const end = () => {
    isDone = true;
  };
  const ended = result.then(end, end);
  try {
    while (!isDone) {
      const told = latest;
      latest = undefined;
      if (told) yield told;
      else await Promise.race([ended, new Promise<void>((resolve) => (wake = resolve))]);
    }
    return await result;
  } finally {
    await ended;
  }
}
