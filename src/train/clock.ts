/** The clock of a run: the time spent, and how much of it not on updates. */
import type { Progress } from "./events.ts";

/** Updates after which a run measured in minutes knows its speed. */
export const PACE_STEPS = 20;

export class Clock {
  readonly #now: () => number;
  readonly #start: number;
  /** Time that does not count when the pace of updates is measured, in all and the last time. */
  pausedMs = 0;
  lastPauseMs = 0;

  constructor({ elapsedMs }: Pick<Progress, "elapsedMs">, now: () => number) {
    this.#now = now;
    this.#start = now() - elapsedMs;
  }

  get elapsedMs(): number {
    return this.#now() - this.#start;
  }

  /** What does not count when the pace of updates is measured. */
  async *untimed<E, T>(work: AsyncGenerator<E, T, void>): AsyncGenerator<E, T, void> {
    const before = this.#now();
    const result = yield* work;
    this.lastPauseMs = this.#now() - before;
    this.pausedMs += this.lastPauseMs;
    return result;
  }
}
