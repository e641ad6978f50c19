import { describe, expect, it } from "vitest";
import { difference, runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { input, reshape, type Tensor } from "../graph/index.ts";
import { segmentMask } from "./masks.ts";
import { inference } from "./mode.ts";
import { initialise } from "./parameter.ts";
import {
  RelativeAttention,
  relativeLogits,
  remembered,
  segmentPositions,
  shiftLeft,
  shiftRight,
  sinusoids,
} from "./relative.ts";

const oracle = referenceEngine({ precision: "double" });
const values = async (tensor: Tensor, feeds = {}) => [...(await runOnce(oracle, { y: tensor }, feeds)).y!.data];
const counted = (length: number) => Float64Array.from({ length }, (_, i) => i + 1);
const wave = (length: number, seed = 0) => Float64Array.from({ length }, (_, i) => Math.sin(seed + 1.3 * i));

describe("sinusoids", () => {
  it("hold cos at even and sin at odd features, slower from pair to pair", () => {
    expect([...sinusoids([0], 4)]).toEqual([1, 0, 1, 0]);
    const [a, b, c, d] = sinusoids([3], 4);
    expect([a, b, c, d].map((value) => value!.toFixed(5))).toEqual(
      [Math.cos(3), Math.sin(3), Math.cos(0.03), Math.sin(0.03)].map((value) => value.toFixed(5)),
    );
  });
});

describe("the shift", () => {
  const x = input("x", [2, 4]);

  it("to the left brings column j + T − 1 − i to key j", async () => {
    expect(await values(shiftLeft(x), { x: counted(8) })).toEqual([2, 3, 4, 0, 5, 6, 7, 8]);
  });

  it("to the right brings column j − i to key j", async () => {
    expect(await values(shiftRight(x), { x: counted(8) })).toEqual([1, 2, 3, 4, 0, 5, 6, 7]);
  });

  it("gives in both directions the distance |i + K − T − j|, from tables of any size", async () => {
    for (const [rows, keys] of [
      [2, 4],
      [3, 3],
      [1, 1],
    ] as const) {
      // One-dimensional queries of 1 and positions that are their own distance: logits are distances.
      const query = input("query", [rows, 1]);
      const positions = input("positions", [keys, 1]);
      const feeds = { query: new Float64Array(rows).fill(1), positions: counted(keys).map((n) => keys - n) };
      const expected = Array.from({ length: rows * keys }, (_, at) =>
        Math.abs(Math.floor(at / keys) + keys - rows - (at % keys)),
      );
      expect(await values(relativeLogits(query, positions, "both"), feeds)).toEqual(expected);
    }
  });
});

describe("memory", () => {
  it.each([1, 2, 3, 5])("of %d steps keeps the newest", async (steps) => {
    const memory = input("memory", [1, steps, 1]);
    const x = input("x", [1, 2, 1]);
    const all = [...counted(steps), 11, 12];
    const kept = await values(remembered(memory, x), { memory: counted(steps), x: Float64Array.of(11, 12) });
    expect(kept).toEqual(all.slice(-steps));
  });
});

describe("relative attention", () => {
  const options = { width: 8, heads: 2 };
  const attention = new RelativeAttention("attention", options);
  const weights = Object.fromEntries(
    [...initialise(attention.parameters, 1)].map(([{ attributes }, data], i) => {
      return [attributes.name, Float64Array.from(wave(data.length, i))];
    }),
  );
  const rows = (length: number) => ({ rows: { batch: 2, length }, mode: inference });

  /** The last rows of a long segment, attended as a short segment after a memory of the rest. */
  it("of a segment after its memory equals that of the whole text", async () => {
    const text = wave(2 * 5 * 8);
    const whole = input("whole", [2, 5, 8]);
    const y = attention.apply(reshape(whole, [10, 8]), {
      ...rows(5),
      mask: segmentMask({ width: 8, length: 5, memory: 0 }),
    });
    const full = await runOnce(oracle, { y }, { ...weights, whole: text });
    const last = (data: ArrayLike<number>, steps: number) =>
      Float64Array.from([0, 1].flatMap((b) => Array.from(data).slice((b * 5 + 5 - steps) * 8, (b * 5 + 5) * 8)));
    const first = Float64Array.from([0, 1].flatMap((b) => [...text.slice(b * 40, b * 40 + 24)]));
    const memory = input("memory", [2, 3, 8]);
    const x = input("x", [2, 2, 8]);
    const where = { width: 8, length: 2, memory: 3 };
    const z = attention.apply(reshape(x, [4, 8]), { ...rows(2), memory, mask: segmentMask(where) });
    const part = await runOnce(oracle, { z }, { ...weights, x: last(text, 2), memory: first });
    expect(difference(part.z!.data, last(full.y!.data, 2))).toBeLessThan(1e-12);
  });

  it("takes a memory that is not there for none", async () => {
    const missing = input("missing", [], "int");
    const memory = input("memory", [2, 3, 8]);
    const x = input("x", [4, 8]);
    const where = { width: 8, length: 2, memory: 3, missing };
    const masked = attention.apply(x, {
      ...rows(2),
      memory,
      mask: segmentMask(where),
      positions: segmentPositions(where),
    });
    const alone = attention.apply(x, { ...rows(2), mask: segmentMask({ width: 8, length: 2, memory: 0 }) });
    const feeds = { ...weights, x: wave(32), memory: wave(48, 2), missing: Int32Array.of(3) };
    const found = await runOnce(oracle, { masked, alone }, feeds);
    expect(difference(found.masked!.data, found.alone!.data)).toBeLessThan(1e-12);
  });

  it("refuses a length that is not known", () => {
    const apply = () => attention.apply(input("x", ["B*T", 8]), { rows: { batch: "B", length: "T" }, mode: inference });
    expect(apply).toThrow(
      "relative attention: expected a segment of known length, got T; build one program per length",
    );
  });

  it("refuses heads that do not divide the width", () => {
    expect(() => new RelativeAttention("blocks.1.attention", { width: 10, heads: 4 })).toThrow(
      "blocks.1.attention: expected a width divisible by heads, got width 10, heads 4; set width to 12",
    );
  });
});
