/** Least squares with coefficients from 0: how measured times follow from a few terms. */

/** A measured value and the terms whose weighted sum should give it. */
export interface Observation {
  readonly terms: readonly number[];
  readonly value: number;
}

/** What was fitted, and how well. */
export interface Fit {
  readonly coefficients: readonly number[];
  /** Root mean square of the relative errors. */
  readonly error: number;
}

/**
 * The coefficients ≥ 0 with the least squared relative error. Tries every set of terms, so it is exact; there are few terms. The
 * optimum is the least of the sets' unconstrained optima among those without negative coefficients.
 */
export function fitNonNegative(observations: readonly Observation[]): Fit {
  const count = observations[0]!.terms.length;
  const relative = observations.map(({ terms, value }) => terms.map((term) => term / value));
  const sizes = Array.from({ length: count }, (_, k) => Math.max(...relative.map((row) => Math.abs(row[k]!))) || 1);
  const scaled = relative.map((row) => row.map((term, k) => term / sizes[k]!));
  let best = { coefficients: Array<number>(count).fill(0), error: Number.POSITIVE_INFINITY };
  for (let set = 0; set < 1 << count; set++) {
    const chosen = Array.from({ length: count }, (_, k) => k).filter((k) => (set >> k) & 1);
    const solved = solve(chosen.map((k) => scaled.map((row) => row[k]!)));
    if (!solved || solved.some((value) => value < 0)) continue;
    const coefficients = Array<number>(count).fill(0);
    chosen.forEach((k, i) => {
      coefficients[k] = solved[i]!;
    });
    const error = scaled.reduce((sum, row) => sum + (dot(row, coefficients) - 1) ** 2, 0);
    if (error < best.error) best = { coefficients, error };
  }
  const error = Math.sqrt(best.error / observations.length);
  return { coefficients: best.coefficients.map((value, k) => value / sizes[k]!), error };
}

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

/** x of the normal equations AᵀA x = Aᵀ1, from A's columns; none where they do not determine it. */
function solve(columns: readonly (readonly number[])[]): number[] | undefined {
  const rows = columns.map((a) => [...columns.map((b) => dot(a, b)), a.reduce((sum, value) => sum + value, 0)]);
  for (let k = 0; k < rows.length; k++) {
    const pivot = rows.findIndex((row, i) => i >= k && Math.abs(row[k]!) === largest(rows, k));
    [rows[k], rows[pivot]] = [rows[pivot]!, rows[k]!];
    if (Math.abs(rows[k]![k]!) < 1e-12) return undefined;
    rows.forEach((row, i) => {
      const factor = i === k ? 0 : row[k]! / rows[k]![k]!;
      for (let j = k; j < row.length; j++) row[j]! -= factor * rows[k]![j]!;
    });
  }
  return rows.map((row, k) => row.at(-1)! / row[k]!);
}

const largest = (rows: readonly number[][], k: number) => Math.max(...rows.slice(k).map((row) => Math.abs(row[k]!)));
