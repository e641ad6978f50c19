/** One metric of a run in memory that does not grow without end: a long one keeps the lowest and the highest of each stretch. */
import type { Axis, Series } from "./api.ts";

/** Points kept, each 32 bytes. Runs of fewer steps are kept whole. */
const MOST = 1 << 15;
const FIRST = 1 << 8;

/** Where on each axis an event stands. */
export interface Place {
  readonly step: number;
  readonly minutes: number;
  /** Number of the event, from 1. */
  readonly n: number;
}

/** Which points. */
export interface Window {
  readonly points: number;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Only events after the first so many. */
  readonly seen?: number | undefined;
}

/** A metric over all axes. */
export class Column {
  #step = new Float64Array(FIRST);
  #minutes = new Float64Array(FIRST);
  #n = new Float64Array(FIRST);
  #values = new Float64Array(FIRST);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  put({ step, minutes, n }: Place, value: number): void {
    if (this.#length === this.#values.length) this.#makeRoom();
    const at = this.#length++;
    [this.#step[at], this.#minutes[at], this.#n[at], this.#values[at]] = [step, minutes, n, value];
  }

  #makeRoom(): void {
    if (this.#length < MOST) this.#map(grown);
    else this.#thin();
  }

  #thin(): void {
    const kept = this.#extremes();
    this.#map((old) => {
      for (const [i, from] of kept.entries()) old[i] = old[from]!;
      return old;
    });
    this.#length = kept.length;
  }

  /** Stretches of equally many events, so that early steps are not thinned more often than late ones. */
  #extremes(): number[] {
    const stretch = Math.ceil(this.#n[this.#length - 1]! / (MOST >> 2));
    const kept: number[] = [];
    for (let from = 0; from < this.#length; ) {
      const part = Math.floor(this.#n[from]! / stretch);
      let to = from + 1;
      while (to < this.#length && Math.floor(this.#n[to]! / stretch) === part) to++;
      kept.push(...new Set(extremesOf(this.#values, from, to).sort((a, b) => a - b)));
      from = to;
    }
    return kept;
  }

  #map(change: (old: Float64Array<ArrayBuffer>) => Float64Array<ArrayBuffer>): void {
    [this.#step, this.#minutes, this.#n, this.#values] = [
      change(this.#step),
      change(this.#minutes),
      change(this.#n),
      change(this.#values),
    ];
  }

  /** At most about `points` of the points between `from` and `to`. */
  over(axis: Axis, tokensPerStep: number, window: Window): Series {
    const { points, from = -Infinity, to = Infinity, seen = 0 } = window;
    const scale = axis === "tokens" ? tokensPerStep : 1;
    const axisOf = axis === "minutes" ? this.#minutes : this.#step;
    const start = firstOf(this.#length, (i) => this.#n[i]! > seen && axisOf[i]! * scale >= from);
    const end = firstOf(this.#length, (i) => axisOf[i]! * scale > to);
    const kept = extremes(this.#values, start, end, points);
    const finite = (value: number) => (Number.isFinite(value) ? value : null);
    return { x: kept.map((i) => axisOf[i]! * scale), y: kept.map((i) => finite(this.#values[i]!)) };
  }
}

function grown(old: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const next = new Float64Array(old.length * 2);
  next.set(old);
  return next;
}

/** The first index from which on `holds` is true. */
function firstOf(length: number, holds: (i: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Indices from `start` to `end`: all, or of each of equal parts the first, the lowest, the highest and what is no number. */
export function extremes(values: ArrayLike<number>, start: number, end: number, points: number): number[] {
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

function extremesOf(values: ArrayLike<number>, from: number, to: number): number[] {
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
