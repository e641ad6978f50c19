import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { ortEngine } from "../engine/ort.ts";
import { referenceEngine } from "../engine/reference.ts";
import { greater, input, reshape } from "../graph/index.ts";
import { Embedding } from "./layers.ts";
import { PairTable, pairFactor, pairRow } from "./pairs.ts";

const [VOCABULARY, COUNT, WIDTH] = [11, 23, 3];
const embedding = new Embedding("pairs", { count: COUNT, width: WIDTH });
const table = new PairTable(embedding, VOCABULARY);
const values = Float32Array.from({ length: COUNT * WIDTH }, (_, i) => Math.sin(3 * i + 1));
const row = (left: number, right: number) => {
  const at = pairRow(left, right, COUNT);
  return [...values.subarray(at * WIDTH, (at + 1) * WIDTH)];
};
const meanOf = (rows: number[][]) =>
  rows[0]!.map((_, k) => rows.reduce((sum, each) => sum + each[k]!, 0) / rows.length);

/** The second text has two pairs twice, the third one piece, and 0 is padding. */
const texts = [
  [3, 4, 5, 6, 7, 8],
  [3, 4, 3, 4, 10, 0],
  [9, 0, 0, 0, 0, 0],
];
const expected = [
  meanOf([row(3, 4), row(4, 5), row(5, 6), row(6, 7), row(7, 8)]),
  meanOf([row(3, 4), row(4, 3), row(4, 10)]),
  [0, 0, 0],
].flat();

describe("a table of pairs", () => {
  it.each(["known", "T"] as const)(
    "gives the mean of each text's distinct pairs, on texts of a length that is %s",
    async (length) => {
      const shape = [3, length === "T" ? "T" : 6];
      const [ids, mask] = [input("ids", shape, "int"), input("mask", shape, "int")];
      const found = table.mean(ids, reshape(greater(mask, 0), [length === "T" ? "3*T" : 18]));
      const feeds = {
        ids: { data: Int32Array.from(texts.flat()), shape: [3, 6] },
        mask: { data: Int32Array.from(texts.flat(), (id) => Number(id > 0)), shape: [3, 6] },
        [embedding.weight.name]: { data: values, shape: [COUNT, WIDTH] },
      };
      for (const engine of [referenceEngine(), await ortEngine({ threads: 1 })]) {
        const { found: got } = await runOnce(engine, { found }, feeds);
        expected.forEach((each, i) => void expect(got!.data[i]).toBeCloseTo(each, 5));
      }
    },
  );

  it("keeps frequent pieces apart: no two pairs of the first pieces have one row", () => {
    for (const [count, pieces] of [
      [131_072, 240],
      [65_536, 170],
      [16_000, 80],
    ] as const) {
      const rows = new Set<number>();
      for (let left = 0; left < pieces; left++)
        for (let right = 0; right < pieces; right++) rows.add(pairRow(left, right, count));
      expect(rows.size).toBe(pieces * pieces);
      expect(pairFactor(count)).toBeLessThan(count);
    }
  });

  it("needs a row for each piece at least", () => {
    expect(() => new PairTable(new Embedding("pairs", { count: 10, width: 2 }), 11)).toThrow(
      /as many rows of pairs as pieces.*10 for 11/,
    );
  });
});
