/** How many updates fit into the minutes that were asked for: estimated from the first ones, and again and again. */
import { type Clock, PACE_STEPS } from "./clock.ts";
import type { Progress } from "./events.ts";

/** The first updates are slow and not counted. */
const WARM_STEPS = 3;
/** After each of so many parts of what is left, it is estimated again. */
const REVISIONS = 8;

export class Pace {
  readonly #minutes: number;
  readonly #progress: Progress;
  readonly #clock: Clock;
  readonly #growUntil: number;
  /** Updates already made when this session began. */
  readonly #before: number;
  #warmAt = 0;
  /** The update after which the length is estimated again. */
  #reviseAt = 0;
  /** From where on the present pace is measured: update, and time without evaluations. */
  #mark = { step: 0, ms: 0 };

  constructor(minutes: number, progress: Progress, clock: Clock, growUntil = 0.5) {
    [this.#minutes, this.#progress, this.#clock, this.#growUntil] = [minutes, progress, clock, growUntil];
    this.#before = progress.step;
  }

  /** Time on updates. */
  get #busyMs(): number {
    return this.#clock.elapsedMs - this.#clock.pausedMs;
  }

  get #leftMs(): number {
    return this.#minutes * 60_000 - this.#clock.elapsedMs;
  }

  /** Fixes the number of updates, once their pace is known; true when it was fixed just now. */
  settle(): boolean {
    if (this.#progress.totalSteps !== null) return false;
    const { step } = this.#progress;
    const made = step - this.#before;
    if (made === WARM_STEPS) this.#warmAt = this.#busyMs;
    if (made < PACE_STEPS) return false;
    const each = (this.#busyMs - this.#warmAt) / (made - WARM_STEPS);
    this.#setTotal(Math.max(step + 1, step + Math.floor(this.#leftMs / each)));
    return true;
  }

  #setTotal(total: number): void {
    const { step } = this.#progress;
    this.#progress.totalSteps = total;
    this.#reviseAt = step + Math.max(1, Math.ceil((total - step) / REVISIONS));
    if (this.#mark.step === 0) this.#mark = { step, ms: this.#busyMs };
  }

  /**
   * Estimates again how many updates fit, with evaluations and checkpoints and as fast as the machine is by now; the last evaluation
   * has its time, too. True when it is another number. Upwards only in the first part: what follows the length has begun by then.
   */
  revise(): boolean {
    const { step, totalSteps: before } = this.#progress;
    const made = step - this.#before;
    if (before === null || step >= before) return false;
    const busy = this.#busyMs;
    if (made <= WARM_STEPS) this.#mark = { step, ms: busy };
    if (made < PACE_STEPS || step < this.#reviseAt) return false;
    const each = (busy - this.#mark.ms) / (step - this.#mark.step) + this.#clock.pausedMs / made;
    if (step - this.#mark.step >= PACE_STEPS) this.#mark = { step, ms: busy };
    const left = this.#leftMs - this.#clock.lastPauseMs;
    const fitting = step + Math.max(0, Math.floor(left / each));
    this.#setTotal(step < before * this.#growUntil ? fitting : Math.min(before, fitting));
    return this.#progress.totalSteps !== before;
  }
}
