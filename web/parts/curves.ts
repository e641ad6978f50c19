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
