import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchesFrom } from "./batches.contract.ts";
import { type BatchOptions, contextBatches, indexedSource, planContext, shardLines, streamBatches } from "./batches.ts";

const GOLDEN = "../shared/golden/par-transformer-xl/context-batches.json";
const count = (n: number) => Int32Array.from({ length: n }, (_, i) => i);
const options = fc.record({ batch: fc.integer({ min: 1, max: 6 }), window: fc.integer({ min: 2, max: 7 }) });

interface Golden {
  streams: { tokens: number; batch: number; window: number; stride: number; windows: number; batches: number[][][] }[];
  sharded: {
    lines: number[][];
    batch: number;
    window: number;
    shards: number;
    files: { lines: [number, number]; tokens: number; stride: number; batches: number[][][] }[];
  }[];
  wikitext2: { rows: { tokens: number; windows: number; stride: number; batches: number }[] };
}
const golden = () => JSON.parse(readFileSync(GOLDEN, "utf8")) as Golden;
const original = (batch: number, window: number): BatchOptions => ({ batch, window, compat: "original" });

describe("context batching", () => {
  it("gives the specification's example", () => {
    expect(contextBatches(count(30), { batch: 5, window: 2 }).slice(0, 2)).toEqual([
      [
        [0, 1],
        [6, 7],
        [12, 13],
        [18, 19],
        [24, 25],
      ],
      [
        [2, 3],
        [8, 9],
        [14, 15],
        [20, 21],
        [26, 27],
      ],
    ]);
  });

  it.runIf(existsSync(GOLDEN))("gives the original's batches of every golden stream", () => {
    for (const { tokens, batch, window, windows, stride, batches } of golden().streams) {
      expect(planContext(tokens, original(batch, window))).toMatchObject({ windows, stride });
      expect(contextBatches(count(tokens), original(batch, window))).toEqual(batches);
      expect(contextBatches(count(tokens), { batch, window })).toEqual(batches.slice(0, stride));
    }
  });

  it.runIf(existsSync(GOLDEN))("gives the original's batches of every golden shard", () => {
    for (const { lines, batch, window, shards, files } of golden().sharded) {
      expect(shardLines(lines.length, shards).map(({ from, to }) => [from, to])).toEqual(
        files.map((file) => file.lines),
      );
      for (const file of files) {
        const tokens = lines.slice(...file.lines).flat();
        expect(contextBatches(tokens, original(batch, window))).toEqual(file.batches);
      }
    }
  });

  it.runIf(existsSync(GOLDEN))("plans the WikiText-2 counts", () => {
    for (const { tokens, windows, stride, batches } of golden().wikitext2.rows) {
      expect(planContext(tokens, original(32, 33))).toMatchObject({ windows, stride, batches });
      expect(planContext(tokens, { batch: 32, window: 33 }).batches).toBe(stride);
    }
  });

  it("uses every token at most once and continues every row", () => {
    fc.assert(
      fc.property(fc.nat(400), options, (n, shape) => {
        const batches = contextBatches(count(n), shape);
        const used = batches.flat(2);
        expect(new Set(used).size).toBe(used.length);
        expect(n - used.length).toBe(planContext(n, shape).dropped);
        for (let t = 1; t < batches.length; t++) {
          expect(batches[t]!.map((row) => row[0])).toEqual(batches[t - 1]!.map((row) => row.at(-1)! + 1));
        }
      }),
    );
  });
});

describe("a batch source", () => {
  it("splits windows into inputs and targets one token apart", () => {
    const source = streamBatches([count(30)], { batch: 5, window: 3 });
    const { rows, length } = source;
    const { ids, targets } = source.at(1);
    expect([rows, length]).toEqual([5, 2]);
    expect([...ids]).toEqual([3, 4, 9, 10, 15, 16, 21, 22, 27, 28]);
    expect([...targets]).toEqual([...ids].map((id) => id + 1));
  });

  it("agrees with the plain rule", () => {
    fc.assert(
      fc.property(fc.integer({ min: 50, max: 300 }), options, fc.boolean(), (n, shape, compat) => {
        const how: BatchOptions = compat ? { ...shape, compat: "original" } : shape;
        const plain = contextBatches(count(n), how).map((rows) => rows.flatMap((row) => row.slice(1)));
        expect([...batchesFrom(streamBatches([count(n)], how))].map(({ targets }) => [...targets])).toEqual(plain);
      }),
    );
  });

  it("goes through shards in order, resets the memory at each, and starts over after the last", () => {
    const source = streamBatches([count(12), count(18)], { batch: 2, window: 3 });
    expect(source.count).toBe(5);
    expect([0, 1, 2, 3, 4, 5].map((index) => source.isFirst(index))).toEqual([true, false, true, false, false, true]);
    expect(source.at(7)).toEqual(source.at(2));
    expect([...batchesFrom(source, 7)]).toHaveLength(3);
  });

  it("says what a stream that is too short would need", () => {
    expect(() => streamBatches([count(20), count(11)], { batch: 4, window: 3 }, "valid")).toThrow(
      "valid: shard 2: expected at least batch · (length + 1) = 12 tokens, got 11",
    );
    expect(() => shardLines(3, 4)).toThrow("shards: expected at most one for each of 3 lines, got 4");
  });

  it.each<[object, string]>([
    [{ batch: 0 }, "batches / batch: expected a whole number from 1, got 0"],
    [{ window: 1 }, "batches / window: expected a whole number from 2, got 1"],
    [{ compat: "orignal" }, 'expected one of original, got "orignal"; did you mean original?'],
    [{ length: 3 }, "batches: expected options among batch, window, compat, got length"],
  ])("refuses %j", (wrong, message) => {
    expect(() => streamBatches([count(30)], { batch: 5, window: 3, ...wrong })).toThrow(message);
  });

  it("refuses to have no batch at all", () => {
    const none = () => indexedSource([0, 0], { rows: 2, length: 3 }, () => {});
    expect(none).toThrow("batches / count: expected a whole number from 1, got 0");
  });
});
