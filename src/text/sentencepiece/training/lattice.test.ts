import { describe, expect, it } from "vitest";
import { digamma } from "./candidates.ts";
import { Lattice } from "./lattice.ts";
import { SymbolTrie } from "./symbol-trie.ts";

/** Pieces 1, 2, 12 and 22 over the text 1 2 2. */
const PIECES = [[1], [2], [1, 2], [2, 2]];
const PROBABILITIES = [0.1, 0.2, 0.3, 0.4];
const TEXT = Int32Array.of(1, 2, 2);

function lattice(scores = Float64Array.from(PROBABILITIES, Math.log)): Lattice {
  const trie = new SymbolTrie();
  for (const [id, piece] of PIECES.entries()) trie.add(Int32Array.from(piece), 0, piece.length, id);
  const result = new Lattice(trie);
  result.build(TEXT, 0, TEXT.length, scores, -3);
  return result;
}

describe("a lattice", () => {
  it("sums over all paths and shares the count among their pieces", () => {
    const paths = [0.1 * 0.2 * 0.2, 0.3 * 0.2, 0.1 * 0.4]; // 1·2·2, 12·2, 1·22
    const total = paths.reduce((sum, p) => sum + p, 0);
    const expected = new Float64Array(4);
    expect(lattice().addExpected(10, expected)).toBeCloseTo(10 * Math.log(total), 10);
    const [each, twelve, twentyTwo] = paths.map((p) => (10 * p) / total) as [number, number, number];
    expect(expected[0]).toBeCloseTo(each + twentyTwo, 10);
    expect(expected[1]).toBeCloseTo(2 * each + twelve, 10);
    expect(expected[2]).toBeCloseTo(twelve, 10);
    expect(expected[3]).toBeCloseTo(twentyTwo, 10);
  });

  it("finds the best path, last piece first", () => {
    const path: number[] = [];
    expect(lattice().bestPath(path)).toBeCloseTo(Math.log(0.06), 10);
    expect(path).toEqual([1, 2]);
  });

  it("passes over characters that have no piece", () => {
    const path: number[] = [];
    lattice(Float64Array.of(Number.NEGATIVE_INFINITY, -1, Number.NEGATIVE_INFINITY, -9)).bestPath(path);
    expect(path).toEqual([1, 1, -1]);
  });
});

describe("digamma", () => {
  it.each([
    [1, -0.5772156649],
    [0.5, -1.963510026],
    [10, 2.251752589],
    [1000, 6.9072551956],
  ])("of %d is right", (x, value) => expect(digamma(x)).toBeCloseTo(value, 8));
});
