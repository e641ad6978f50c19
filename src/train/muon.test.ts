import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { Arena } from "../engine/arena.ts";
import type { Engine } from "../engine/engine.ts";
import { ortEngine } from "../engine/ort.ts";
import { referenceEngine } from "../engine/reference.ts";
import { input, parameter } from "../graph/index.ts";
import { allocateGroup, memoryBytes, updateGroup } from "./memory.ts";
import { muon } from "./muon.ts";
import type { MuonOptions } from "./optimiser.ts";
import { orthogonalise } from "./orthogonal.ts";

type Matrix = number[][];

function randomMatrix(rows: number, columns: number, name = "matrix"): Matrix {
  const random = new RandomStream(1, name);
  return Array.from({ length: rows }, () => Array.from({ length: columns }, () => random.normal()));
}

const transposed = (x: Matrix): Matrix => x[0]!.map((_, j) => x.map((row) => row[j]!));
const times = (x: Matrix, y: Matrix): Matrix =>
  x.map((row) => y[0]!.map((_, j) => row.reduce((sum, value, k) => sum + value * y[k]![j]!, 0)));
const combine = (a: number, x: Matrix, b: number, y: Matrix): Matrix =>
  x.map((row, i) => row.map((value, j) => a * value + b * y[i]![j]!));

/** The textbook form: x ← ax + (bA + cA²)x with A = xxᵀ. */
function plainNewtonSchulz(x: Matrix): Matrix {
  if (x.length > x[0]!.length) return transposed(plainNewtonSchulz(transposed(x)));
  const norm = Math.sqrt(x.flat().reduce((sum, value) => sum + value * value, 0));
  let y = x.map((row) => row.map((value) => value / norm));
  for (let i = 0; i < 5; i++) {
    const gram = times(y, transposed(y));
    y = combine(3.4445, y, 1, times(combine(-4.775, gram, 2.0315, times(gram, gram)), y));
  }
  return y;
}

/** Singular values, from the eigenvalues of the Gram matrix by Jacobi rotations. */
function singularValues(x: Matrix): number[] {
  const gram = x.length <= x[0]!.length ? times(x, transposed(x)) : times(transposed(x), x);
  const n = gram.length;
  for (let sweep = 0; sweep < 30; sweep++) {
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(gram, p, q);
  }
  return gram.map((row, i) => Math.sqrt(Math.max(0, row[i]!)));
}

function rotate(a: Matrix, p: number, q: number): void {
  const angle = 0.5 * Math.atan2(2 * a[p]![q]!, a[q]![q]! - a[p]![p]!);
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  for (const row of a) [row[p], row[q]] = [c * row[p]! - s * row[q]!, s * row[p]! + c * row[q]!];
  const [rowP, rowQ] = [a[p]!, a[q]!];
  a[p] = rowP.map((value, k) => c * value - s * rowQ[k]!);
  a[q] = rowP.map((value, k) => s * value + c * rowQ[k]!);
}

async function orthogonal(engine: Engine, x: Matrix): Promise<Matrix> {
  const shape = [x.length, x[0]!.length];
  const program = await engine.compile({ outputs: { y: orthogonalise(input("x", shape)) } });
  const { y } = await program.run({ x: Float32Array.from(x.flat()) });
  await program.release();
  return x.map((_, i) => Array.from(y!.data.subarray(i * shape[1]!, (i + 1) * shape[1]!)));
}

const furthest = (x: Matrix, y: Matrix) =>
  Math.max(...x.flatMap((row, i) => row.map((value, j) => Math.abs(value - y[i]![j]!))));

describe.each([
  [6, 6],
  [5, 17],
  [24, 8],
])("orthogonalise a matrix of %i × %i", (rows, columns) => {
  const x = randomMatrix(rows, columns).map((row) => row.map(Math.fround));

  it("equals the plain iteration in double precision", async () => {
    const y = await orthogonal(referenceEngine({ precision: "double" }), x);
    // Rounding differs between two orders of the same products; a square matrix's small singular values magnify it.
    expect(furthest(y, plainNewtonSchulz(x))).toBeLessThan(1e-9);
  });

  it("equals it to single precision in the fast engine", async () => {
    const y = await orthogonal(await ortEngine({ threads: 1 }), x);
    expect(furthest(y, plainNewtonSchulz(x))).toBeLessThan(1e-4);
  });
});

it("brings the singular values of a wide matrix near 1", async () => {
  const y = await orthogonal(await ortEngine({ threads: 1 }), randomMatrix(16, 64));
  // Five iterations of the polynomial alone take every σ from 0.01 to 1 into 0.682 … 1.134; a little room for rounding.
  for (const value of singularValues(y)) {
    expect(value).toBeGreaterThan(0.65);
    expect(value).toBeLessThan(1.2);
  }
});

it("gives no direction for a zero matrix", async () => {
  const y = await orthogonal(await ortEngine({ threads: 1 }), [
    [0, 0, 0],
    [0, 0, 0],
  ]);
  expect(y.flat().every((value) => value === 0)).toBe(true);
});

async function train(engine: Engine, options: MuonOptions, steps: number, shape = [4, 6]) {
  const tensor = parameter("w", shape);
  const optimiser = muon(engine, options);
  const group = { parameters: [tensor], optimiser };
  const arena = new Arena(memoryBytes([group], []));
  const memory = allocateGroup(arena, group);
  const slot = memory.slots.get(tensor)!;
  slot.weight.set(randomMatrix(shape[0]!, shape[1]!, "weight").flat());
  const settings = { rate: 0.01, gradientScale: 0.5 };
  for (let step = 1; step <= steps; step++) {
    slot.gradient.set(randomMatrix(shape[0]!, shape[1]!, `gradient ${step}`).flat());
    await updateGroup(arena, memory, { ...settings, step });
  }
  await optimiser.release();
  return slot;
}

describe("an update", () => {
  it("follows momentum, look-ahead, decay and scale, written out", async () => {
    const [rate, beta, decay] = [0.01, 0.95, 0.1];
    const slot = await train(referenceEngine({ precision: "double" }), { momentum: beta, weightDecay: decay }, 3);
    let weight = randomMatrix(4, 6, "weight");
    let momentum = combine(0, weight, 0, weight);
    for (let step = 1; step <= 3; step++) {
      const gradient = randomMatrix(4, 6, `gradient ${step}`);
      momentum = combine(beta, momentum, (1 - beta) * 0.5, gradient);
      const ahead = plainNewtonSchulz(combine(beta, momentum, (1 - beta) * 0.5, gradient));
      weight = combine(1 - rate * decay, weight, -rate * 0.2 * Math.sqrt(6), ahead);
    }
    // The weight itself is single precision.
    weight.flat().forEach((value, i) => {
      expect(slot.weight[i]).toBeCloseTo(value, 6);
    });
  });

  it("is as long as AdamW's: 0.2 a value in the mean", async () => {
    const shape = [32, 128];
    const before = randomMatrix(32, 128, "weight").flat();
    const { weight } = await train(await ortEngine({ threads: 1 }), { weightDecay: 0 }, 1, shape);
    const squares = before.reduce((sum, value, i) => sum + (value - weight[i]!) ** 2, 0);
    expect(Math.sqrt(squares / before.length) / 0.01).toBeGreaterThan(0.15);
    expect(Math.sqrt(squares / before.length) / 0.01).toBeLessThan(0.25);
  });

  it("gives the same bits again, and leaves the gradient alone", async () => {
    const engine = await ortEngine({ threads: 2 });
    const [first, second] = [await train(engine, {}, 4, [48, 32]), await train(engine, {}, 4, [48, 32])];
    expect(second.weight).toEqual(first.weight);
    expect(second.moments).toEqual(first.moments);
    expect(first.gradient).toEqual(Float32Array.from(randomMatrix(48, 32, "gradient 4").flat()));
  });

  it("refuses what is not a matrix", async () => {
    const engine = referenceEngine();
    await expect(train(engine, {}, 1, [8, 1, 1])).rejects.toThrow("muon: expected a matrix, got [8,1,1]; put biases");
  });
});
