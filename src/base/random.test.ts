import { describe, expect, it } from "vitest";
import { philoxBlock, RandomStream } from "./random.ts";

const block = (key: [number, number], index: number) => {
  const out = new Uint32Array(4);
  philoxBlock(key, index, out);
  return [...out].map((word) => word.toString(16).padStart(8, "0"));
};

describe("random streams", () => {
  it("give the published Philox4x32-10 words for counter and key 0", () => {
    expect(block([0, 0], 0)).toEqual(["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]);
  });

  it("continue from a saved state", () => {
    const a = new RandomStream(7, "dropout");
    for (let i = 0; i < 5; i++) a.uint32();
    const b = RandomStream.from(a.state);
    expect([b.uint32(), b.uint32()]).toEqual([a.uint32(), a.uint32()]);
  });

  it("differ by name and by seed", () => {
    const first = (seed: number, name: string) => new RandomStream(seed, name).uint32();
    expect(new Set([first(1, "a"), first(1, "b"), first(2, "a")]).size).toBe(3);
  });

  it("have the moments of uniform and normal numbers", () => {
    const stream = new RandomStream(1, "moments");
    const uniform = Array.from({ length: 20_000 }, () => stream.uniform());
    const normal = Array.from({ length: 20_000 }, () => stream.normal());
    const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
    // 5 standard errors of each mean
    expect(Math.abs(mean(uniform) - 0.5)).toBeLessThan(5 * Math.sqrt(1 / 12 / 20_000));
    expect(Math.abs(mean(normal))).toBeLessThan(5 * Math.sqrt(1 / 20_000));
    expect(Math.abs(mean(normal.map((x) => x * x)) - 1)).toBeLessThan(5 * Math.sqrt(2 / 20_000));
  });

  it("reserve whole blocks for kernels", () => {
    const stream = new RandomStream(1, "blocks");
    stream.uint32();
    expect(stream.reserveBlocks(5)).toBe(1);
    expect(stream.state.position).toBe(12);
  });
});
