import { describe, expect, it } from "vitest";
import type { Document } from "./documents.ts";
import { PRETRAINING_DEFAULTS } from "./examples.ts";
import { packedBatches } from "./packed.ts";
import { numberedPieces } from "./pieces.contract.ts";

const [CLS, SEP] = [2, 3];
const tokenizer = numberedPieces(400);
/** Pieces 5, 6, 7 …, so that each says where it stands. */
const documents: Document[] = [0, 1, 2, 3].map((d) =>
  [0, 1].map((s) => Int32Array.from({ length: 40 }, (_, i) => 5 + 80 * d + 40 * s + i)),
);
const running = documents.flatMap((sentences) => [CLS, ...sentences.flatMap((ids) => [...ids]), SEP]);
const options = { ...PRETRAINING_DEFAULTS, length: 16, maxPredictions: 4, rows: 2 };
const textsIn = (ids: Int32Array) => [0, 1].map((row) => [...ids.subarray(16 * row, 16 * (row + 1))]);

describe("packed batches", () => {
  it("are texts of the documents as they run, without padding, each once per pass", () => {
    const batches = packedBatches(documents, tokenizer, { ...options, causal: true });
    const all = Array.from({ length: batches.count }, (_, i) => batches.at(i));
    const texts = all.flatMap(({ inputIds }) => textsIn(inputIds));
    for (const text of texts) expect(running.join()).toContain(text.join());
    expect(new Set(texts.map((text) => text.join())).size).toBe(texts.length);
    expect(all.every(({ inputMask }) => inputMask.every((one) => one === 1))).toBe(true);
  });

  it("ask for the next piece at every place but the last when they are causal", () => {
    const { inputIds, maskedPositions, maskedIds, maskedWeights } = packedBatches(documents, tokenizer, {
      ...options,
      causal: true,
    }).at(0);
    expect([...maskedPositions.subarray(0, 15)]).toEqual(Array.from({ length: 15 }, (_, i) => i));
    expect([...maskedIds.subarray(0, 15)]).toEqual([...inputIds.subarray(1, 16)]);
    expect(maskedWeights).toEqual(new Float32Array(30).fill(1));
  });

  it("hide pieces and ask for what stood there, never for [CLS] and [SEP]", () => {
    const batches = packedBatches(documents, tokenizer, { ...options, probability: 0.25, maxNgram: 1 });
    for (let place = 0; place < batches.count; place++) {
      const { inputIds, maskedPositions, maskedIds, maskedWeights } = batches.at(place);
      textsIn(inputIds).forEach((text, row) => {
        for (let slot = 4 * row; slot < 4 * row + 4; slot++) {
          if (maskedWeights[slot] === 1) text[maskedPositions[slot]!] = maskedIds[slot]!;
        }
        expect(running.join()).toContain(text.join());
      });
      expect([...maskedIds].filter((id, i) => maskedWeights[i] === 1 && id < 5)).toEqual([]);
    }
  });

  it("are the same at a place, however one comes there, and new in every pass unless passes are to repeat", () => {
    const walked = packedBatches(documents, tokenizer, options);
    const all = Array.from({ length: 40 }, (_, i) => walked.at(i));
    const jumped = packedBatches(documents, tokenizer, options);
    for (const place of [39, 3, 17, 0]) expect(jumped.at(place)).toEqual(all[place]);
    expect(new Set(all.map(({ inputIds }) => inputIds.join())).size).toBe(40);
    const again = packedBatches(documents, tokenizer, { ...options, rows: 1, distinctPasses: 1 });
    expect(again.at(0)).toEqual(again.at(again.count));
  });

  it("refuse a text of which nothing could be cut", () => {
    const short = [[Int32Array.from([5, 6, 7])]];
    expect(() => packedBatches(short, tokenizer, options)).toThrow("packed texts: expected at least 32 tokens, got 5");
  });
});
