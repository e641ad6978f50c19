import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { Arena, arenaBytes } from "./arena.ts";
import { type AdamSettings, adamConstants, type LambSettings } from "./updates.ts";

const LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 17, 30];
const f = Math.fround;
const random = new RandomStream(2, "updates");

const TORCH: AdamSettings = {
  rate: 0.01,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  step: 3,
  correction: "exact",
  decoupled: false,
};
const CASES: [string, AdamSettings][] = [
  ["Adam as in PyTorch", TORCH],
  ["Adam with L2 decay", { ...TORCH, weightDecay: 0.1 }],
  ["AdamW with a clipped gradient", { ...TORCH, weightDecay: 0.1, decoupled: true, gradientScale: 0.37 }],
  ["Adam as in Keras", { ...TORCH, epsilon: 1e-7, correction: "rate" }],
  [
    "AdamW without bias correction",
    { ...TORCH, epsilon: 1e-6, weightDecay: 0.01, decoupled: true, correction: "none" },
  ],
];
const LAMB: LambSettings = { ...TORCH, epsilon: 1e-6, weightDecay: 0.01, correction: "none", adapt: true };

function tensors(length: number) {
  const arena = new Arena(arenaBytes([length, length, length, length]));
  const [w, g, m, v] = [0, 1, 2, 3].map(() => arena.float32(length)) as [
    Float32Array,
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  for (let i = 0; i < length; i++) {
    [w[i], g[i], m[i], v[i]] = [random.normal(), random.normal(), random.normal() / 8, random.uniform()];
  }
  return { kernels: arena.kernels, w, g, m, v };
}

function flushed(x: number): number {
  return Math.abs(x) < 2 ** -126 ? 0 : x;
}

/** beta * old + rest * x in float32. */
function moment(old: number, beta: number, x: number): number {
  return flushed(f(f(f(beta) * old) + f(f(1 - beta) * x)));
}

/** The same update, one value at a time, every operation rounded to float32. */
function adamLoop(w: Float32Array, g: Float32Array, m: Float32Array, v: Float32Array, settings: AdamSettings): void {
  const c = adamConstants(settings);
  const l2 = f(settings.decoupled ? 0 : c.weightDecay);
  const decay = f(settings.decoupled ? settings.rate * c.weightDecay : 0);
  for (let i = 0; i < w.length; i++) {
    const slope = f(f(g[i]! * f(c.gradientScale)) + f(l2 * w[i]!));
    m[i] = moment(m[i]!, settings.beta1, slope);
    v[i] = moment(v[i]!, settings.beta2, f(slope * slope));
    const quotient = f(m[i]! / f(f(f(Math.sqrt(v[i]!)) * f(c.root)) + f(settings.epsilon)));
    w[i] = f(w[i]! - f(f(f(settings.rate * c.correction) * quotient) + f(decay * w[i]!)));
  }
}

describe.each(CASES)("%s", (_, settings) => {
  it.each(LENGTHS)("updates %i values like the plain loop, to the bit", (length) => {
    const { kernels, w, g, m, v } = tensors(length);
    const expected = [w, g, m, v].map((view) => view.slice()) as [
      Float32Array,
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    adamLoop(...expected, settings);
    kernels.adam(w, g, m, v, settings);
    expect([w, g, m, v]).toEqual(expected);
  });
});

describe("adam", () => {
  it("places epsilon as PyTorch does, or as Keras does", () => {
    const step = (correction: "exact" | "rate") => {
      const { kernels, w, g, m, v } = tensors(1);
      [w[0], g[0], m[0], v[0]] = [0, 1e-4, 0, 0];
      kernels.adam(w, g, m, v, { ...TORCH, step: 1, epsilon: 1e-4, correction });
      return w[0]!;
    };
    expect(step("exact")).toBeCloseTo(-0.01 * (1e-4 / (1e-4 + 1e-4)), 8);
    expect(step("rate")).toBeCloseTo((-0.01 * Math.sqrt(0.001) * 1e-4) / (Math.sqrt(0.001) * 1e-4 + 1e-4), 8);
  });

  it("lets the moments of a silent weight reach zero, where float32 alone would stop at a subnormal number", () => {
    const { kernels, w, g, m, v } = tensors(5);
    g.fill(0);
    m.fill(3e-38);
    v.fill(1.2e-38);
    for (let step = 1; step < 100; step++) kernels.adam(w, g, m, v, { ...TORCH, step });
    expect([...m, ...v]).toEqual(Array(10).fill(0));
  });

  it("passes NaN on instead of flushing it", () => {
    const { kernels, w, g, m, v } = tensors(5);
    g.fill(Number.NaN);
    kernels.adam(w, g, m, v, TORCH);
    expect([...w, ...m, ...v].every(Number.isNaN)).toBe(true);
  });
});

describe("sgd", () => {
  it.each(LENGTHS.flatMap((length) => [[length, false] as const, [length, true] as const]))(
    "moves %i values like the plain loop, to the bit (Nesterov: %s)",
    (length, nesterov) => {
      const { kernels, w, g, m } = tensors(length);
      const [expectedW, expectedM] = [w.slice(), m.slice()];
      for (let i = 0; i < length; i++) {
        const slope = f(f(g[i]! * f(0.5)) + f(f(0.1) * w[i]!));
        expectedM[i] = flushed(f(f(f(0.9) * m[i]!) + slope));
        const way = nesterov ? f(slope + f(f(0.9) * expectedM[i]!)) : expectedM[i]!;
        expectedW[i] = f(w[i]! - f(f(0.02) * way));
      }
      kernels.sgd(w, g, m, { rate: 0.02, momentum: 0.9, weightDecay: 0.1, gradientScale: 0.5, nesterov });
      expect([w, m]).toEqual([expectedW, expectedM]);
    },
  );
});

/** LAMB in double precision. */
function lambLoop(w: Float32Array, g: Float32Array, m: Float32Array, v: Float32Array, settings: LambSettings) {
  const { beta1, beta2, epsilon, rate, weightDecay = 0, gradientScale = 1 } = settings;
  const c = adamConstants(settings);
  const direction = Array.from(w, (weight, i) => {
    const slope = g[i]! * gradientScale;
    const first = beta1 * m[i]! + (1 - beta1) * slope;
    const second = beta2 * v[i]! + (1 - beta2) * slope * slope;
    return (c.correction * first) / (c.root * Math.sqrt(second) + epsilon) + weightDecay * weight;
  });
  const ratio = settings.adapt ? Math.hypot(...w) / Math.hypot(...direction) : 1;
  return { ratio, weight: direction.map((r, i) => w[i]! - rate * ratio * r) };
}

describe("lamb", () => {
  const settings: [string, LambSettings][] = [
    ["as the adaptive-depth models use it", LAMB],
    ["with bias correction and a clipped gradient", { ...LAMB, correction: "exact", gradientScale: 0.3 }],
    ["without decay and ratio", { ...LAMB, weightDecay: 0, adapt: false }],
  ];
  it.each(settings.flatMap(([name, s]) => LENGTHS.slice(1).map((length) => [name, length, s] as const)))(
    "%s agrees with double precision over %i values",
    (_, length, chosen) => {
      const { kernels, w, g, m, v } = tensors(length);
      const expected = lambLoop(w, g, m, v, chosen);
      // Some ten float32 roundings of 6e-8 each.
      expect(kernels.lamb(w, g, m, v, chosen) / expected.ratio).toBeCloseTo(1, 6);
      w.forEach((value, i) => {
        expect(Math.abs(value - expected.weight[i]!)).toBeLessThan(1e-6);
      });
    },
  );

  it("has ratio 1 for a weight of zeros, and for a direction of zeros", () => {
    const zeroWeight = tensors(6);
    zeroWeight.w.fill(0);
    expect(zeroWeight.kernels.lamb(zeroWeight.w, zeroWeight.g, zeroWeight.m, zeroWeight.v, LAMB)).toBe(1);
    const still = tensors(6);
    for (const view of [still.g, still.m, still.v]) view.fill(0);
    expect(still.kernels.lamb(still.w, still.g, still.m, still.v, { ...LAMB, weightDecay: 0 })).toBe(1);
  });

  it("refuses an epsilon of 0", () => {
    const { kernels, w, g, m, v } = tensors(2);
    expect(() => kernels.lamb(w, g, m, v, { ...LAMB, epsilon: 0 })).toThrow(
      "kernels / lamb: expected a positive epsilon, got 0",
    );
  });
});
