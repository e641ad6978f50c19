import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LayerwiseError } from "../../base/errors.ts";
import { encodeExample } from "../../format/tfexample.ts";
import { writeRecords } from "../../format/tfrecord.ts";
import { batchesFrom } from "../batches.contract.ts";
import { type BatchOptions, contextBatches, streamBatches } from "../batches.ts";
import { batchFileSource, batchRecords, decodeBatchFile, inNameOrder, openBatchFiles } from "./records.ts";

const SHARED = "../shared/data/tfrecords";
const count = (n: number) => Int32Array.from({ length: n }, (_, i) => i);
const encodeBatchFile = (...given: Parameters<typeof batchRecords>) =>
  new Uint8Array(Buffer.concat([...batchRecords(...given)]));
const shape: BatchOptions = { batch: 3, window: 4, compat: "original" };

describe("batch files", () => {
  it("hold the same batches as the stream they were made of", () => {
    const file = decodeBatchFile(encodeBatchFile(count(100), shape), "x");
    expect([...file.data]).toEqual(contextBatches(count(100), shape).flat(2));
    expect([...batchesFrom(batchFileSource([file]))]).toEqual([...batchesFrom(streamBatches([count(100)], shape))]);
  });

  it.runIf(existsSync(SHARED))("of the original are read, and written back byte for byte", async () => {
    const rows = {
      "wikitext2-valid": [304],
      "sample-bsz4-seqlen8": [65],
      "sample-two-shards": [114, 81],
      "sample-one-shard": [195],
    };
    for (const [folder, counts] of Object.entries(rows)) {
      for (const [i, batches] of counts.entries()) {
        const path = `${SHARED}/${folder}/file${i + 1}.tfrecords`;
        const file = decodeBatchFile(readFileSync(path), path);
        expect(file.count).toBe(batches);
        const one = file.data.subarray(0, file.rows * file.window);
        const written = encodeBatchFile(one, { batch: file.rows, window: file.window });
        expect(Buffer.from(written).equals(readFileSync(path).subarray(0, written.length))).toBe(true);
      }
    }
  });

  it.runIf(existsSync(SHARED))("in two shards reset the memory between them", async () => {
    const paths = [1, 2].map((i) => `${SHARED}/sample-two-shards/file${i}.tfrecords`);
    const source = await openBatchFiles(paths, 250);
    expect([source.count, source.rows, source.length]).toEqual([195, 3, 3]);
    expect([0, 1, 113, 114, 115].map((i) => source.isFirst(i))).toEqual([true, false, false, true, false]);
    await expect(openBatchFiles(paths, 100)).rejects.toThrow("expected ids below the tokenizer's 100 pieces");
  });

  it("that are cut or flipped are refused with file and byte", () => {
    const bytes = encodeBatchFile(count(60), shape);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => {
        const flipped = bytes.slice();
        flipped[at]! ^= 1 << bit;
        expect(() => decodeBatchFile(flipped, "file1.tfrecords")).toThrow(/file1\.tfrecords: record \d+ at byte \d+/);
      }),
    );
    expect(() => decodeBatchFile(bytes.subarray(0, -1), "f")).toThrow("cut short");
    expect(() => decodeBatchFile(new Uint8Array(0), "f")).toThrow("f: expected at least one batch, got an empty file");
  });

  it("with sound frames but other contents are refused with a user error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (record) => {
        expect(() => decodeBatchFile(writeRecords([record]), "x")).toThrow(LayerwiseError);
      }),
    );
    const other = encodeExample(new Map([["input_ids", { kind: "int", values: [1] }]]));
    expect(() => decodeBatchFile(writeRecords([other]), "x")).toThrow("named batch, got features: input_ids");
  });

  it("are taken in the order of their numbers", () => {
    expect(inNameOrder(["d/file10.tfrecords", "d/file2.tfrecords"])).toEqual([
      "d/file2.tfrecords",
      "d/file10.tfrecords",
    ]);
  });
});
