import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LayerwiseError } from "../../base/errors.ts";
import { encodeExample } from "../../format/tfexample.ts";
import { linesOf } from "../corpus.ts";
import { openCorpus } from "../files/corpus.ts";
import { loadTokenizer } from "../tokenizer.ts";
import { type PieceTokenizer, readDocuments } from "./documents.ts";
import { decodePretraining, encodePretraining, PretrainingStream, stackExamples } from "./examples.ts";

const ALBERT = "../shared/data/tokenizers/albert-30k.model";
const NAMES = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"];
/** Ids below 100: five special, the even ones begin words. */
const tokenizer: PieceTokenizer = {
  size: 100,
  encode: (text) => Int32Array.from(text.split(" "), Number),
  encodePieces: () => [],
  pieceOf: (id) => NAMES[id] ?? (id % 2 ? "ing" : "▁x"),
  idOf: (piece) => (NAMES.includes(piece) ? NAMES.indexOf(piece) : 1),
};
const lines = Array.from({ length: 60 }, (_, i) => (i % 7 === 6 ? "" : `${5 + i} ${6 + (i % 90)} ${7 + i} 9 11 12`));
const documents = readDocuments(lines, tokenizer);
const stream = (position = { pass: 0, index: 0 }, seed = 1) =>
  new PretrainingStream(documents, tokenizer, { length: 24, seed }, position);

describe("pre-training examples", () => {
  it("are framed, segmented and padded", () => {
    const source = stream();
    for (let i = 0; i < 200; i++) {
      const { inputIds, inputMask, segmentIds, tokenBoundary, maskedPositions, maskedIds, maskedWeights } =
        source.next();
      const tokens = inputMask.reduce((sum, one) => sum + one, 0);
      const original = inputIds.slice();
      maskedPositions.forEach((at, k) => {
        if (maskedWeights[k]) original[at] = maskedIds[k]!;
      });
      const seps = [...original].flatMap((id, at) => (id === 3 ? [at] : []));
      expect([original[0], seps.length, seps[1]]).toEqual([2, 2, tokens - 1]);
      expect([...segmentIds]).toEqual(Array.from({ length: 24 }, (_, at) => (at > seps[0]! && at < tokens ? 1 : 0)));
      expect([...original.subarray(tokens)]).toEqual(Array(24 - tokens).fill(0));
      expect([...tokenBoundary.subarray(0, tokens)]).toEqual(
        [...original.subarray(0, tokens)].map((id) => (id === 2 || id === 3 || id % 2 === 0 ? 1 : 0)),
      );
    }
  });

  it("continue from a saved position, over the end of a pass", () => {
    const whole = stream();
    const all = Array.from({ length: 60 }, () => whole.next());
    expect(whole.position.pass).toBeGreaterThan(1);
    const part = stream();
    for (let i = 0; i < 37; i++) part.next();
    const resumed = stream(part.position);
    expect(Array.from({ length: 23 }, () => resumed.next())).toEqual(all.slice(37));
  });

  it("differ by seed and by pass", () => {
    expect(stream(undefined, 1).next()).not.toEqual(stream(undefined, 2).next());
    expect(stream({ pass: 0, index: 0 }).next()).not.toEqual(stream({ pass: 1, index: 0 }).next());
  });

  it("stack into a batch", () => {
    const source = stream();
    const batch = stackExamples([source.next(), source.next()]);
    expect([batch.rows, batch.inputIds.length, batch.maskedIds.length, batch.orderLabels.length]).toEqual([
      2, 48, 40, 2,
    ]);
  });

  it("come back from tf.Example records, and are refused when fields do not fit", () => {
    const example = stream().next();
    expect(decodePretraining(encodePretraining(example), "x")).toEqual(example);
    const wrong = encodePretraining({ ...example, maskedIds: new Int32Array(3) });
    expect(() => decodePretraining(wrong, "shard 0: record 5")).toThrow(
      "shard 0: record 5: expected masked_lm fields of one length, got 20, 3, 20",
    );
    const outside = encodePretraining({ ...example, maskedPositions: new Int32Array(20).fill(24) });
    expect(() => decodePretraining(outside, "x")).toThrow("masked positions from 0 to 23, got 24");
    expect(() => decodePretraining(encodeExample(new Map()), "x")).toThrow("integers of 32 bits named input_ids");
  });

  it("answer random bytes with a user error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(() => decodePretraining(bytes, "x")).toThrow(LayerwiseError);
      }),
    );
  });

  it("need some text and a sensible length", () => {
    expect(() => new PretrainingStream([], tokenizer)).toThrow("at least one sentence, got no text");
    expect(() => new PretrainingStream(documents, tokenizer, { length: 5 })).toThrow("a length of at least 8, got 5");
  });

  it.runIf(existsSync(ALBERT))("of the embedded books read like them", async () => {
    const albert = loadTokenizer(readFileSync(ALBERT), ALBERT);
    const books = readDocuments(linesOf(await openCorpus("books"), "valid"), albert);
    expect(books).toHaveLength(2);
    const source = new PretrainingStream(books, albert, { length: 128 });
    const labels = Array.from({ length: source.passLength }, () => source.next().orderLabel);
    expect(new Set(labels)).toEqual(new Set([0, 1]));
  });
});
