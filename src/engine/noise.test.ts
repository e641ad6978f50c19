import { describe, expect, it } from "vitest";
import { maskWords, normalWords } from "../base/arena-bytes.ts";
import { philoxBlock, RandomStream, type StreamKey } from "../base/random.ts";
import { Arena, arenaBytes } from "./arena.ts";

const LENGTHS = [0, 1, 2, 3, 5, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200];
/** Block indices at the start, at an odd place, across 2^32 (with 8 blocks a pass), and high up. */
const BLOCKS = [0, 7, 2 ** 32 - 1, 2 ** 32 - 3, 2 ** 32 - 8, 2 ** 45 + 5];
const KEY: StreamKey = [0x12345678, 0x9abcdef0];
const PLACES = LENGTHS.flatMap((length) => BLOCKS.map((block) => [length, block] as const));

/** The first `count` words from `block` on, by the generator in src/base. */
function wordsFrom(block: number, count: number): number[] {
  const words: number[] = [];
  const four = new Uint32Array(4);
  for (; words.length < count; block++) {
    philoxBlock(KEY, block, four);
    words.push(...four);
  }
  return words.slice(0, count);
}

/** A tensor of `length`, with a guard value behind it. */
function target(length: number) {
  const arena = new Arena(arenaBytes([length + 1]));
  const guarded = arena.float32(length + 1);
  guarded[length] = 12345;
  return { kernels: arena.kernels, out: guarded.subarray(0, length), guard: () => guarded[length] };
}

describe.each(PLACES)("%i values from block %i", (length, block) => {
  it.each([0.9, 0.5, 1, 1e-9])("make a dropout mask for keep %d like the plain loop", (keep) => {
    const { kernels, out, guard } = target(length);
    const threshold = Math.max(1, Math.round(keep * 65536));
    const words = wordsFrom(block, maskWords(length));
    kernels.dropoutMask(out, KEY, block, keep);
    const bits = Array.from(out, (_, i) => (i % 2 ? words[i >> 1]! >>> 16 : words[i >> 1]! & 0xffff));
    expect(out).toEqual(Float32Array.from(bits, (b) => (b < threshold ? 65536 / threshold : 0)));
    expect(guard()).toBe(12345);
  });

  it("are uniform like the plain loop, to the bit", () => {
    const { kernels, out, guard } = target(length);
    const words = wordsFrom(block, length);
    kernels.uniform(out, KEY, block);
    expect(out).toEqual(Float32Array.from(words, (word) => (word >>> 8) / 2 ** 24));
    kernels.openUniform(out, KEY, block);
    expect(out).toEqual(Float32Array.from(words, (word) => ((word >>> 9) + 0.5) / 2 ** 23));
    expect(guard()).toBe(12345);
  });

  it("are Gumbel numbers within a rounding of float32", () => {
    const { kernels, out, guard } = target(length);
    kernels.gumbel(out, KEY, block);
    wordsFrom(block, length).forEach((word, i) => {
      const exact = -Math.log(-Math.log((word + 0.5) / 2 ** 32));
      expect(Math.abs(out[i]! - exact)).toBeLessThanOrEqual(2 ** -24 * Math.abs(exact) + 1e-14);
    });
    expect(guard()).toBe(12345);
  });

  it("are normal numbers within a rounding of float32", () => {
    const { kernels, out, guard } = target(length);
    const words = wordsFrom(block, normalWords(length));
    kernels.normal(out, KEY, block);
    out.forEach((value, i) => {
      const radius = Math.sqrt(-2 * Math.log((words[i & ~1]! + 0.5) / 2 ** 32));
      const angle = 2 * Math.PI * (words[i | 1]! / 2 ** 32);
      const exact = radius * (i % 2 ? Math.sin(angle) : Math.cos(angle));
      expect(Math.abs(value - exact)).toBeLessThanOrEqual(2 ** -24 * Math.abs(exact) + 1e-14);
    });
    expect(guard()).toBe(12345);
  });
});

describe("noise kernels", () => {
  const many = 2 ** 18;
  const mean = (x: Float32Array, of: (value: number) => number) =>
    x.reduce((sum, value) => sum + of(value), 0) / x.length;

  it("have the moments of their distributions (within five standard errors)", () => {
    const { kernels, out } = target(many);
    const stream = new RandomStream(7, "moments");
    kernels.normal(out, stream.key, stream.reserveBlocks(normalWords(many)));
    expect(Math.abs(mean(out, (x) => x))).toBeLessThan(5 / 512);
    expect(Math.abs(mean(out, (x) => x * x) - 1)).toBeLessThan((5 * Math.SQRT2) / 512);
    kernels.gumbel(out, stream.key, stream.reserveBlocks(many));
    expect(Math.abs(mean(out, (x) => x) - 0.5772156649)).toBeLessThan((5 * Math.PI) / Math.sqrt(6) / 512);
    kernels.dropoutMask(out, stream.key, stream.reserveBlocks(maskWords(many)), 0.9);
    expect(Math.abs(mean(out, (x) => x) - 1)).toBeLessThan((5 * Math.sqrt(1 / 9)) / 512);
  });

  it("keep the open uniform numbers off 0 and 1, and the half-open ones off 1", () => {
    const { kernels, out } = target(many);
    kernels.openUniform(out, KEY, 0);
    expect(out.every((x) => x > 0 && x < 1)).toBe(true);
    kernels.uniform(out, KEY, 0);
    expect(out.every((x) => x >= 0 && x < 1)).toBe(true);
  });

  it("refuse a probability outside (0, 1] and a block that is no index", () => {
    const { kernels, out } = target(4);
    expect(() => kernels.dropoutMask(out, KEY, 0, 0)).toThrow(
      "kernels / dropoutMask: expected a keep probability in (0, 1], got 0",
    );
    expect(() => kernels.uniform(out, KEY, 0.5)).toThrow("kernels / uniform: expected a block index, got 0.5");
  });
});
