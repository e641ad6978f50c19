/** Metrics of a run as columns, filled by tailing its events. */
import { EventTail, type StoredEvent } from "../runs/index.ts";
import type { Axis, Series } from "./api.ts";
import { Column, type Place, type Window } from "./column.ts";

/** Longer pauses between events are not training. */
const PAUSE_MS = 10 * 60_000;

/** Evaluations with π, and what else a search says with them. */
export type Evaluation = Extract<StoredEvent, { type: "evaluation" }> & {
  readonly minutes: number;
  readonly temperature: number | null;
  /** Number of the event, from 1. */
  readonly n: number;
};

type Step = Extract<StoredEvent, { type: "step" }>;

/** All metrics of a run so far. */
export class RunSeries {
  readonly #tail: EventTail;
  readonly #tokensPerStep: number;
  #columns = new Map<string, Column>();
  #evaluations: Evaluation[] = [];
  #count = 0;
  #generation = 0;
  #minutes = 0;
  #lastMs: number | undefined;
  #temperature: number | null = null;

  /** `tokensPerStep`: 0 where it is not known. */
  constructor(path: string, tokensPerStep: number) {
    this.#tail = new EventTail(path);
    this.#tokensPerStep = tokensPerStep;
  }

  /** Reads what is new. */
  refresh(): void {
    this.#tail.read(
      (events) => {
        for (const event of events) this.#add(event);
      },
      () => this.#reset(),
    );
  }

  /** What it can be drawn over. */
  get axes(): Axis[] {
    return this.#tokensPerStep > 0 ? ["step", "minutes", "tokens"] : ["step", "minutes"];
  }

  get names(): string[] {
    return [...this.#columns.keys()];
  }

  /** Evaluations that tell π. */
  get evaluations(): readonly Evaluation[] {
    return this.#evaluations;
  }

  /** Stands for all that was read so far. */
  get cursor(): string {
    return `${this.#generation}.${this.#count}`;
  }

  /** The number of events that a cursor stands for; undefined where they have been written anew since. */
  seen(cursor: string): number | undefined {
    const found = /^(\d+)\.(\d+)$/.exec(cursor);
    return found && Number(found[1]) === this.#generation ? Number(found[2]) : undefined;
  }

  #reset(): void {
    [this.#columns, this.#evaluations, this.#count] = [new Map(), [], 0];
    [this.#minutes, this.#lastMs, this.#temperature] = [0, undefined, null];
    this.#generation++;
  }

  #add(event: StoredEvent): void {
    this.#count++;
    const passed = event.timeMs - (this.#lastMs ?? event.timeMs);
    this.#minutes += passed > 0 && passed < PAUSE_MS ? passed / 60_000 : 0;
    this.#lastMs = event.timeMs;
    const place: Place = { step: event.step, minutes: this.#minutes, n: this.#count };
    if (event.type === "step") {
      this.#temperature = event.scalars?.temperature ?? this.#temperature;
      for (const [name, value] of Object.entries(stepMetrics(event))) this.#put(name, place, value);
    } else if (event.type === "evaluation") {
      if (event.choices) this.#evaluations.push({ ...event, ...place, temperature: this.#temperature });
      for (const [name, value] of Object.entries(evaluationMetrics(event))) this.#put(name, place, value);
    }
  }

  #put(name: string, place: Place, value: number | undefined): void {
    if (value === undefined) return;
    const column = this.#columns.get(name) ?? new Column();
    this.#columns.set(name, column);
    column.put(place, value);
  }

  /** A metric over an axis, as at most about `points` of the points between `from` and `to`; of events after the first `seen`. */
  of(name: string, axis: Axis, window: Window): Series {
    return this.#columns.get(name)?.over(axis, this.#tokensPerStep, window) ?? { x: [], y: [] };
  }
}

function stepMetrics({ loss, learningRate, gradientNorm, tokensPerSecond, epoch, scalars }: Step) {
  return { loss, perplexity: Math.exp(loss), learningRate, gradientNorm, tokensPerSecond, epoch, ...scalars };
}

function evaluationMetrics(event: Extract<StoredEvent, { type: "evaluation" }>) {
  const { split, loss, perplexity, perplexityPerWord, bitsPerByte, meanBatchPerplexity, latency, scalars } = event;
  const figures = { loss, perplexity, perplexityPerWord, bitsPerByte, meanBatchPerplexity, ...latency, ...scalars };
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${split}/${name}`, value]));
}
