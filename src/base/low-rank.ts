/** The best approximation of a matrix by one of low rank: a truncated singular value decomposition, by subspace iteration. */
import { RandomStream } from "./random.ts";

/** left [rows, rank] · right [rank, columns]; the rows of `right` are orthonormal. */
export interface LowRank {
  readonly left: Float64Array;
  readonly right: Float64Array;
}

/** Vectors kept beyond the rank, and rounds: what is left of smaller singular values shrinks by (σ / σ of the rank)² a round. */
const SPARE = 6;
const ROUNDS = 24;

/** The product of two factors that is nearest to a matrix [rows, columns], the same on every machine. */
export function lowRank(matrix: ArrayLike<number>, rows: number, columns: number, rank: number): LowRank {
  const kept = Math.min(rank + SPARE, rows, columns);
  const random = new RandomStream(1, "low rank");
  let basis = orthonormal(
    Array.from({ length: kept }, () => Float64Array.from({ length: columns }, () => random.normal())),
  );
  let images = basis.map((vector) => times(matrix, rows, columns, vector));
  for (let round = 0; round < ROUNDS; round++) {
    basis = orthonormal(orthonormal(images).map((vector) => timesTransposed(matrix, rows, columns, vector)));
    images = basis.map((vector) => times(matrix, rows, columns, vector));
  }
  // Subspace iteration sorts the vectors by singular value, so the first ones are those to keep.
  const [left, right] = [new Float64Array(rows * rank), new Float64Array(rank * columns)];
  for (let k = 0; k < Math.min(rank, kept); k++) {
    right.set(basis[k]!, k * columns);
    for (let i = 0; i < rows; i++) left[i * rank + k] = images[k]![i]!;
  }
  return { left, right };
}

function times(matrix: ArrayLike<number>, rows: number, columns: number, vector: Float64Array): Float64Array {
  return Float64Array.from({ length: rows }, (_, i) => {
    let total = 0;
    for (let j = 0; j < columns; j++) total += matrix[i * columns + j]! * vector[j]!;
    return total;
  });
}

function timesTransposed(matrix: ArrayLike<number>, rows: number, columns: number, vector: Float64Array): Float64Array {
  const out = new Float64Array(columns);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) out[j]! += matrix[i * columns + j]! * vector[i]!;
  }
  return out;
}

/** Gram and Schmidt, each vector twice; what vanishes stays 0. */
function orthonormal(vectors: readonly Float64Array[]): Float64Array[] {
  const done: Float64Array[] = [];
  for (const vector of vectors) {
    const rest = Float64Array.from(vector);
    const before = Math.sqrt(dot(rest, rest));
    for (const other of [...done, ...done]) subtract(rest, other, dot(rest, other));
    const size = Math.sqrt(dot(rest, rest));
    done.push(size > 1e-12 * before ? rest.map((value) => value / size) : rest.fill(0));
  }
  return done;
}

function dot(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let i = 0; i < a.length; i++) total += a[i]! * b[i]!;
  return total;
}

function subtract(from: Float64Array, vector: Float64Array, factor: number): void {
  for (let i = 0; i < from.length; i++) from[i]! -= factor * vector[i]!;
}
