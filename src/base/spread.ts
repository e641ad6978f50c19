/** Figures over seeds: mean and deviation. */

/** A mean over seeds and its deviation. */
export interface Spread {
  readonly mean: number;
  /** Of the sample; null where there is one seed. */
  readonly deviation: number | null;
  readonly values: readonly number[];
}

/** Mean and deviation of the sample; null of none. */
export function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const squares = values.reduce((total, value) => total + (value - mean) ** 2, 0);
  return { mean, values, deviation: values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : null };
}
