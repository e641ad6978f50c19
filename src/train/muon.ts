/** Muon: momentum whose direction is made orthogonal, for matrices inside a network; the rest belongs to an AdamW group. */
import { rejectShape } from "../base/errors.ts";
import { checkOptions, defined, number, type Rules, truth, whole } from "../base/options.ts";
import type { Engine, Feed, Program } from "../engine/engine.ts";
import {
  add,
  constant,
  divide,
  input,
  matmul,
  maximum,
  multiply,
  printShape,
  sqrt,
  square,
  sum,
  type Tensor,
} from "../graph/index.ts";
import type { MuonOptions, Optimiser, Slot } from "./optimiser.ts";

const rules: Rules<MuonOptions> = {
  momentum: number({ from: 0, below: 1 }),
  nesterov: truth,
  weightDecay: number({ from: 0 }),
  iterations: whole(0),
};

const defaults = { momentum: 0.95, nesterov: true, weightDecay: 0.01, iterations: 5 } as const;

/** An optimiser that holds compiled programs, one per shape. */
export interface Muon extends Optimiser {
  /** Gives the programs back; the next update would compile them again. */
  release(): Promise<void>;
}

/** p(σ) = aσ + bσ³ + cσ⁵ brings singular values from (0, 1] to about 1 ± 0.3 in five iterations; steep at 0. */
const [A, B, C] = [3.4445, -4.775, 2.0315];
/** A direction shorter than this counts as none. */
const SHORTEST = 1e-15;

/**
 * The orthogonal matrix nearest to x [R, C], roughly: UVᵀ of x = USVᵀ, with singular values of about 1. Newton–Schulz runs on the
 * smaller Gram matrix: with G = xxᵀ and Z = aI + bG + cG², x ← Zx means G ← ZGZ, so x is touched twice instead of ten times.
 */
export function orthogonalise(x: Tensor, iterations: number = defaults.iterations): Tensor {
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

/**
 * Muon on an engine, for groups of matrices. Steps are scaled by 0.2 · √max(rows, columns), so that they are as long as AdamW's and
 * one learning rate serves both; weight decay is decoupled. Its only state is the momentum.
 */
export function muon(engine: Engine, options: MuonOptions = {}): Muon {
  checkOptions("muon", options, rules);
  const fixed = { ...defaults, ...defined(options) };
  const programs = new Map<string, Promise<Program>>();
  const programFor = (shape: readonly number[]) => {
    const key = printShape(checkMatrix(shape));
    const known =
      programs.get(key) ?? engine.compile({ takesTurns: true, outputs: { direction: direction(shape, fixed) } });
    programs.set(key, known);
    return known;
  };
  return {
    name: "muon",
    rule: { kind: "muon", ...fixed },
    moments: ["momentum"],
    perTensor: true,
    update: async (kernels, slot, { rate, gradientScale }) => {
      const program = await programFor(slot.shape);
      const share = (1 - fixed.momentum) * gradientScale;
      kernels.scaleInPlace(slot.moments[0]!, fixed.momentum);
      kernels.addScaled(slot.moments[0]!, slot.gradient, share);
      const result = await program.run(feedsOf(slot, share, fixed.nesterov));
      const length = stepLength(slot.shape);
      apply(slot.weight, result.direction!, rate * length, 1 - rate * fixed.weightDecay);
    },
    release: async () => {
      const compiled = await Promise.all(programs.values());
      programs.clear();
      for (const program of compiled) await program.release();
    },
  };
}

/** The factor that makes Muon's steps as long as AdamW's. */
export const stepLength = (shape: readonly number[]): number => 0.2 * Math.sqrt(Math.max(...shape));

export function checkMatrix(shape: readonly number[]): readonly number[] {
  if (shape.length === 2) return shape;
  const remedy = "put biases and norms into a group with adamw";
  return rejectShape({ who: "muon", needed: "a matrix", got: printShape(shape), remedy });
}

/** The step's direction from momentum and gradient, as a graph. */
function direction(shape: readonly number[], { momentum, nesterov, iterations }: Required<MuonOptions>): Tensor {
  const velocity = input("momentum", shape);
  if (!nesterov) return orthogonalise(velocity, iterations);
  const ahead = multiply(input("gradient", shape), input("share", []));
  return orthogonalise(add(multiply(velocity, momentum), ahead), iterations);
}

function feedsOf({ gradient, moments: [momentum] }: Slot, share: number, nesterov: boolean) {
  return nesterov ? { momentum: momentum!, gradient, share: Float32Array.of(share) } : { momentum: momentum! };
}

function apply(weight: Float32Array, { data }: Feed, rate: number, keep: number): void {
  for (let i = 0; i < weight.length; i++) weight[i] = keep * weight[i]! - rate * data[i]!;
}
