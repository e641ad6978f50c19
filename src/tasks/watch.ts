/** What a person sees of training: a live line on a terminal, a line an evaluation elsewhere. */
import { bar, clock, lineWithin, percentOf } from "../base/progress.ts";
import { figureText } from "../base/scores.ts";
import { visibleLength } from "../base/screen.ts";
import { factTable, formatNumber } from "../base/table.ts";
import type { EvaluatingEvent, EvaluationEvent, TrainEvent } from "../train/events.ts";
import type { Session } from "../train/session.ts";
import type { TaskEvent } from "./job.ts";

const REDRAW_MS = 250;

/** What is needed of an output: `process.stderr` fits. */
export interface WatchOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** How long the run is, as far as it is known: by the clock where minutes are given. */
export interface Expected {
  readonly totalSteps: number | null;
  readonly minutes: number | null;
  /** Milliseconds spent in earlier sessions. */
  readonly elapsedMs?: number;
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
  /** When the last update was made. */
  #lastStep = this.#start;
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
    if (event.type === "evaluating") this.#evaluating(event);
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
    const rows = text.split("\n").map((line) => Math.max(1, Math.ceil(visibleLength(line) / width))); // long lines are broken
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
    this.#lastStep = now;
    const { share, leftMs } = this.#stand(step, now);
    const { totalSteps, minutes } = this.#expected;
    const of = totalSteps === null || minutes !== null ? "" : `/${formatNumber(totalSteps)}`;
    const parts = [
      `step ${formatNumber(step)}${of}`,
      bar(share),
      percentOf(share),
      `loss ${this.#smooth.toFixed(3)}`,
      `perplexity ${formatNumber(Math.exp(this.#smooth), 1)}`,
      `${formatNumber(tokensPerSecond, 0)} tokens/s`,
      `${clock(leftMs / 1000)} left`,
    ];
    this.#draw(parts, [4, 2, 5, 1], now);
  }

  #evaluating({ step, done, count }: EvaluatingEvent): void {
    const now = performance.now();
    const left = done > 0 ? ((now - this.#lastStep) / done) * (count - done) : 0;
    const parts = [`step ${formatNumber(step)}  evaluating`, bar(done / count), percentOf(done / count)];
    this.#draw([...parts, `${clock(left / 1000)} left`], [1], now);
  }

  /** The live line in the place of the one before, unless it is too soon. */
  #draw(parts: readonly string[], dispensable: readonly number[], now: number): void {
    if (!this.#output.isTTY || now < this.#due) return;
    this.#due = now + REDRAW_MS;
    this.#shown = true;
    this.#output.write(`\r\x1b[2K${lineWithin(this.#output.columns, parts, dispensable)}`);
  }

  /** How much of the run is done, and how long the rest takes. */
  #stand(step: number, now: number): { share: number; leftMs: number } {
    const spent = now - this.#start;
    const { totalSteps, minutes, elapsedMs = 0 } = this.#expected;
    if (minutes !== null || totalSteps === null) {
      const whole = (minutes ?? 0) * 60_000;
      return { share: (elapsedMs + spent) / whole, leftMs: Math.max(0, whole - elapsedMs - spent) };
    }
    const made = step - this.#firstStep! + 1;
    return { share: step / totalSteps, leftMs: Math.max(0, (spent / made) * (totalSteps - step)) };
  }
}

/** What a picture is drawn on: columns, and whether there are colours. */
export interface Drawing {
  readonly colours: boolean;
  readonly width: number;
}

/** What of a session's events is shown. */
export interface Showing {
  /** Which of an evaluation's own figures to show. */
  readonly shown?: readonly string[];
  /** Draws an event; its picture takes the place of the event's own line, and of the picture before. */
  readonly picture?: (event: TaskEvent, screen?: Drawing) => string | undefined;
  /** What pictures are fitted to. */
  readonly screen?: Drawing;
  /** Whether each run begins with what is trained: text, model, cost. Default: yes. */
  readonly header?: boolean;
  /** Sees every event. */
  readonly see?: (event: TaskEvent) => void;
}

/** Runs a session to its end and shows it on an output, as the command line does. */
export async function watchSession<R>(
  session: Session<TaskEvent, R>,
  output: WatchOutput,
  { shown = [], header = true, picture, screen, see }: Showing = {},
): Promise<R> {
  let watch = new Watch(output, { totalSteps: null, minutes: null, shown });
  try {
    for await (const event of session) {
      see?.(event);
      const drawn = picture?.(event, screen);
      if (event.type === "begin") {
        watch.wipe();
        watch = new Watch(output, { ...(event as Expected), shown });
        if (header) watch.say(factTable(event.facts));
      } else if (event.type === "note") watch.say(event.text);
      else if (drawn !== undefined) watch.picture(drawn);
      else watch.see(event);
    }
    return await session.result;
  } finally {
    watch.wipe();
  }
}
