/** How well one order agrees with another. */

/**
 * Kendall's τ (b): pairs in the same order less pairs in the other, of all pairs; ties count for neither. 1 is the same order, −1 the
 * reverse; NaN where there is no pair to compare.
 */
export function kendall(a: readonly number[], b: readonly number[]): number {
  let [agreeing, inA, inB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    for (let k = 0; k < i; k++) {
      const [x, y] = [Math.sign(a[i]! - a[k]!), Math.sign(b[i]! - b[k]!)];
      agreeing += x * y;
      inA += x * x;
      inB += y * y;
    }
  }
  return agreeing / Math.sqrt(inA * inB);
}
