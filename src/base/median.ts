/** The middle of some numbers, which a noisy machine moves less than their mean. */

/** The value in the middle, the upper one of two; NaN of none. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
