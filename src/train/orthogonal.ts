/** The direction of Muon's steps as a graph. Fetched by what trains with it. */
import {
  add,
  constant,
  divide,
  input,
  matmul,
  maximum,
  multiply,
  sqrt,
  square,
  sum,
  type Tensor,
} from "../graph/index.ts";
import type { MuonOptions } from "./optimiser.ts";

/** p(σ) = aσ + bσ³ + cσ⁵ brings singular values from (0, 1] to about 1 ± 0.3 in five iterations; steep at 0. */
const [A, B, C] = [3.4445, -4.775, 2.0315];
/** A direction shorter than this counts as none. */
const SHORTEST = 1e-15;

/**
 * The orthogonal matrix nearest to x [R, C], roughly: UVᵀ of x = USVᵀ, with singular values of about 1. Newton–Schulz runs on the
 * smaller Gram matrix: with G = xxᵀ and Z = aI + bG + cG², x ← Zx means G ← ZGZ, so x is touched twice instead of ten times.
 */
export function orthogonalise(x: Tensor, iterations = 5): Tensor {
  const [rows, columns] = x.shape as [number, number];
  const wide = rows <= columns;
  const unit = divide(x, maximum(sqrt(sum(square(x))), SHORTEST));
  const size = Math.min(rows, columns);
  const identity = diagonal(size, A);
  let gram: Tensor = matmul(unit, unit, wide ? { transposeB: true } : { transposeA: true }); // [size, size]
  let total: Tensor | undefined;
  for (let i = 0; i < iterations; i++) {
    const z = add(add(multiply(gram, B), identity), matmul(gram, gram, { scale: C }));
    total = total ? matmul(z, total) : z;
    if (i < iterations - 1) gram = matmul(z, matmul(gram, z));
  }
  if (!total) return unit;
  return wide ? matmul(total, unit) : matmul(unit, total);
}

function diagonal(size: number, value: number): Tensor {
  const values = Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? value : 0));
  return constant(values, [size, size]);
}

/** The step's direction from momentum and gradient, as a graph. */
export function direction(shape: readonly number[], { momentum, nesterov, iterations }: Required<MuonOptions>): Tensor {
  const velocity = input("momentum", shape);
  if (!nesterov) return orthogonalise(velocity, iterations);
  const ahead = multiply(input("gradient", shape), input("share", []));
  return orthogonalise(add(multiply(velocity, momentum), ahead), iterations);
}
