/** Metrics of a run as columns, filled by tailing its events; and fewer points of them where there are too many to draw. */
import { EventTail, type StoredEvent } from "../runs/index.ts";
import type { Axis, Series } from "./api.ts";

/** Longer pauses between events are not training. */
const PAUSE_MS = 10 * 60_000;

/** Where on each axis an event stands. */
type Place = Readonly<Record<Axis, number>>;

interface Column {
  readonly places: Place[];
  readonly values: number[];
}

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
    const place = {
      step: event.step,
      minutes: this.#minutes,
      tokens: event.step * this.#tokensPerStep,
      n: this.#count,
    };
    if (event.type === "step") {
      this.#temperature = event.scalars?.temperature ?? this.#temperature;
      for (const [name, value] of Object.entries(stepMetrics(event))) this.#put(name, place, value);
    } else if (event.type === "evaluation") {
      this.#evaluations.push({ ...event, minutes: this.#minutes, temperature: this.#temperature, n: this.#count });
      for (const [name, value] of Object.entries(evaluationMetrics(event))) this.#put(name, place, value);
    }
  }

  #put(name: string, place: Place, value: number | undefined): void {
    if (value === undefined) return;
    const column = this.#columns.get(name) ?? { places: [], values: [] };
    this.#columns.set(name, column);
    column.places.push(place);
    column.values.push(value);
  }

  /** A metric over an axis, as at most about `points` of the points between `from` and `to`; of events after the first `seen`. */
  of(name: string, axis: Axis, { points, from = -Infinity, to = Infinity, seen = 0 }: Window): Series {
    const { places, values } = this.#columns.get(name) ?? { places: [], values: [] };
    const start = firstPlace(places, (place) => (place as Counted).n > seen && place[axis] >= from);
    const end = firstPlace(places, (place) => place[axis] > to);
    const kept = extremes(values, start, end, points);
    const finite = (value: number) => (Number.isFinite(value) ? value : null);
    return { x: kept.map((i) => places[i]![axis]), y: kept.map((i) => finite(values[i]!)) };
  }
}

/** Which points. */
export interface Window {
  readonly points: number;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly seen?: number | undefined;
}

interface Counted extends Place {
  /** Number of the event, from 1. */
  readonly n: number;
}

function stepMetrics({ loss, learningRate, gradientNorm, tokensPerSecond, epoch, scalars }: Step) {
  return { loss, perplexity: Math.exp(loss), learningRate, gradientNorm, tokensPerSecond, epoch, ...scalars };
}

function evaluationMetrics(event: Extract<StoredEvent, { type: "evaluation" }>) {
  const { split, loss, perplexity, perplexityPerWord, bitsPerByte, meanBatchPerplexity, latency, scalars } = event;
  const figures = { loss, perplexity, perplexityPerWord, bitsPerByte, meanBatchPerplexity, ...latency, ...scalars };
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${split}/${name}`, value]));
}

/** The first place from which on `holds` is true; places rise. */
function firstPlace(places: readonly Place[], holds: (place: Place) => boolean): number {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(places[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Indices from `start` to `end`: all, or of each of equal parts the first, the lowest, the highest and what is no number. */
export function extremes(values: readonly number[], start: number, end: number, points: number): number[] {
  const count = Math.max(0, end - start);
  if (count <= points) return Array.from({ length: count }, (_, i) => start + i);
  const parts = Math.max(1, points >> 1);
  const kept = new Set<number>([start]);
  for (let part = 0; part < parts; part++) {
    const from = start + Math.floor((part * count) / parts);
    const to = start + Math.floor(((part + 1) * count) / parts);
    for (const i of extremesOf(values, from, to)) kept.add(i);
  }
  return [...kept.add(end - 1)].sort((a, b) => a - b);
}

function extremesOf(values: readonly number[], from: number, to: number): number[] {
  let [low, high, odd] = [-1, -1, -1];
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value)) odd = odd < 0 ? i : odd;
    else {
      if (low < 0 || value < values[low]!) low = i;
      if (high < 0 || value > values[high]!) high = i;
    }
  }
  return [low, high, odd].filter((i) => i >= 0);
}
