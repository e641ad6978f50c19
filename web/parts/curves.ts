/** Curves as numbers: the axis they run over, smoothing, and several of them on one axis, as uPlot takes them. */

/** A curve over increasing x. */
export interface Curve {
  readonly x: readonly number[];
  readonly y: readonly (number | null)[];
}

/** Exponential moving average without the bias of its start; gaps stay gaps. */
export function smoothed(values: readonly (number | null)[], weight: number): (number | null)[] {
  let [mean, mass] = [0, 0];
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return null;
    mean = weight * mean + (1 - weight) * value;
    mass = weight * mass + (1 - weight);
    return mean / mass;
  });
}

/** Curves on the union of their x values; null where a curve has no point. */
export function joined(curves: readonly Curve[]): [number[], ...(number | null)[][]] {
  const xs = [...new Set(curves.flatMap(({ x }) => [...x]))].sort((a, b) => a - b);
  const at = new Map(xs.map((x, i) => [x, i]));
  const columns = curves.map(({ x, y }) => {
    const column = new Array<number | null>(xs.length).fill(null);
    x.forEach((value, i) => {
      column[at.get(value)!] = y[i] ?? null;
    });
    return column;
  });
  return [xs, ...columns];
}

/** The newest event at or before a step: index, or −1. */
export function indexAt(steps: readonly number[], step: number): number {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]! <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** 1, 2, 5 of every power of ten; where fewer than three fall into the range, even steps. */
export function logTicks(min: number, max: number): number[] {
  const powers = Array.from({ length: 40 }, (_, i) => i - 20);
  const all = powers.flatMap((power) => [1, 2, 5].map((digit) => +(digit * 10 ** power).toPrecision(3)));
  const inside = all.filter((value) => value >= min && value <= max);
  if (inside.length > 8) return inside.filter((value) => Number.isInteger(Math.round(1e6 * Math.log10(value)) / 1e6));
  if (inside.length >= 3) return inside;
  return ticks(min, max);
}

/** Some five round numbers between two: the step of 1, 2 or 5 that comes nearest to a fifth. */
export function ticks(low: number, high: number): number[] {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const far = (each: number) => Math.abs(Math.log(each / rough));
  const step = [1, 2, 5, 10].map((each) => each * power).reduce((a, b) => (far(b) < far(a) ? b : a));
  const first = Math.ceil(low / step);
  return Array.from(
    { length: Math.max(0, Math.floor(high / step) - first + 1) },
    (_, i) => +((first + i) * step).toPrecision(8),
  );
}
