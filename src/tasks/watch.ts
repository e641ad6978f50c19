/** What a person sees of training: a live line on a terminal, a line an evaluation elsewhere. */
import { clock } from "../base/progress.ts";
import { figureText } from "../base/scores.ts";
import { formatNumber } from "../base/table.ts";
import type { EvaluationEvent, TrainEvent } from "../train/events.ts";
import type { Session } from "../train/session.ts";
import type { TaskEvent } from "./job.ts";

const REDRAW_MS = 250;

/** What is needed of an output: `process.stderr` fits. */
export interface WatchOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** How long the run is, as far as it is known. */
export interface Expected {
  readonly totalSteps: number | null;
  readonly minutes: number | null;
  /** Which of an evaluation's own figures to show. */
  readonly shown?: readonly string[];
}

/** Shows events: a live line where there is a terminal, and lines that stay. */
export class Watch {
  readonly #output: WatchOutput;
  readonly #expected: Expected;
  readonly #start = performance.now();
  #smooth: number | undefined;
  #firstStep: number | undefined;
  #due = 0;
  #shown = false;
  #pictureLines = 0;

  constructor(output: WatchOutput, expected: Expected) {
    this.#output = output;
    this.#expected = expected;
  }

  /** Draws an event, or says what of it stays. */
  see(event: TrainEvent): void {
    if (event.type === "step") this.#step(event.step, event.loss, event.tokensPerSecond);
    if (event.type === "evaluation") {
      const { loss, perplexity } = event;
      const shown = perplexity === undefined ? "" : `  perplexity ${formatNumber(perplexity, 2)}`;
      const figures = `loss ${loss.toFixed(4)}${shown}${this.#others(event)}`;
      this.say(`step ${formatNumber(event.step)}  ${event.split}  ${figures}${event.best ? "  best so far" : ""}`);
    }
  }

  #others({ bitsPerByte, scalars = {} }: EvaluationEvent): string {
    const bits = bitsPerByte === undefined ? "" : `  bits per byte ${bitsPerByte.toFixed(3)}`;
    const named = (this.#expected.shown ?? []).filter((name) => name in scalars);
    return bits + named.map((name) => `  ${name} ${figureText(name, scalars[name]!)}`).join("");
  }

  /** A line that stays. */
  say(text: string): void {
    this.wipe();
    this.#output.write(`${text}\n`);
    this.#pictureLines = 0;
  }

  /** Lines that take the place of the last such lines, unless something was said since; elsewhere than on a terminal they stay. */
  picture(text: string): void {
    const before = this.#output.isTTY ? this.#pictureLines : 0;
    this.say(before > 0 ? `\x1b[${before}A\x1b[J${text}` : text);
    const width = this.#output.columns || Number.POSITIVE_INFINITY;
    const rows = text.split("\n").map((line) => Math.max(1, Math.ceil([...line].length / width))); // long lines are broken
    this.#pictureLines = rows.reduce((sum, each) => sum + each, 0);
  }

  /** Takes the live line away. */
  wipe(): void {
    if (this.#shown) this.#output.write("\r\x1b[2K");
    this.#shown = false;
  }

  #step(step: number, loss: number, tokensPerSecond: number): void {
    this.#firstStep ??= step;
    this.#smooth = this.#smooth === undefined ? loss : 0.95 * this.#smooth + 0.05 * loss;
    const now = performance.now();
    if (!this.#output.isTTY || now < this.#due) return;
    this.#due = now + REDRAW_MS;
    this.#shown = true;
    const perplexity = formatNumber(Math.exp(this.#smooth), 1);
    const rate = `${formatNumber(tokensPerSecond, 0)} tokens/s`;
    const line = `step ${formatNumber(step)}  loss ${this.#smooth.toFixed(3)}  perplexity ${perplexity}  ${rate}${this.#left(step, now)}`;
    this.#output.write(`\r\x1b[2K${line}`);
  }

  #left(step: number, now: number): string {
    const elapsedMs = now - this.#start;
    const { totalSteps, minutes } = this.#expected;
    const made = step - this.#firstStep! + 1;
    const leftMs = totalSteps === null ? minutes! * 60_000 - elapsedMs : (elapsedMs / made) * (totalSteps - step);
    return `  ${clock(Math.max(0, leftMs) / 1000)} left`;
  }
}

/** What of a session's events is shown. */
export interface Showing {
  /** Which of an evaluation's own figures to show. */
  readonly shown?: readonly string[];
  /** Draws an event; its picture takes the place of the event's own line, and of the picture before. */
  readonly picture?: (event: TaskEvent) => string | undefined;
  /** Sees every event. */
  readonly see?: (event: TaskEvent) => void;
}

/** Runs a session to its end and shows it on an output, as the command line does. */
export async function watchSession<R>(
  session: Session<TaskEvent, R>,
  output: WatchOutput,
  { shown = [], picture, see }: Showing = {},
): Promise<R> {
  let watch = new Watch(output, { totalSteps: null, minutes: null, shown });
  try {
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
  }
}
