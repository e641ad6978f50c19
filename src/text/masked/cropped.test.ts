import { describe, expect, it } from "vitest";
import { croppedBatches } from "./cropped.ts";
import type { Document } from "./documents.ts";
import { numberedPieces } from "./pieces.contract.ts";

const [PAD, CLS, SEP] = [0, 2, 3];
const tokenizer = numberedPieces(60);
/** Documents of 20 pieces each and one of 3; piece 5 stands in all. */
const documents: Document[] = [
  ...[0, 1, 2].map((d) => [
    Int32Array.from({ length: 10 }, (_, i) => 6 + 10 * d + i),
    Int32Array.from({ length: 10 }, (_, i) => (i < 5 ? 5 : 6 + 10 * d + i)),
  ]),
  [Int32Array.of(5, 50, 51)],
];
const options = { seed: 1, length: 12, rows: 2 };
const rowsOf = (values: Int32Array | Float32Array, width: number) =>
  [0, 1].map((row) => [...values.subarray(row * width, (row + 1) * width)]);

describe("cropped batches", () => {
  it("take every document once a pass, from a place of its own, framed and padded", () => {
    const batches = croppedBatches(documents, tokenizer, options);
    expect([batches.count, batches.tokens]).toEqual([2, Math.round((2 * (12 * 3 + 5)) / 4)]);
    const texts = [0, 1].flatMap((place) => rowsOf(batches.at(place).inputIds, 12));
    const whole = documents.map((sentences) => sentences.flatMap((ids) => [...ids]).join());
    const found = texts.map(([first, ...rest]) => {
      expect(first).toBe(CLS);
      const piece = rest.slice(0, rest.indexOf(SEP));
      expect(rest.slice(piece.length + 1).every((id) => id === PAD)).toBe(true);
      return whole.findIndex((text) => text.includes(piece.join()));
    });
    expect(found.sort()).toEqual([0, 1, 2, 3]);
    const next = [2, 3].flatMap((place) => rowsOf(batches.at(place).inputIds, 12));
    expect(next).not.toEqual(texts);
  });

  it("ask for the words of the whole document, frequent ones for less", () => {
    const batch = croppedBatches(documents, tokenizer, options).at(0);
    rowsOf(batch.inputIds, 12).forEach((text, row) => {
      const shares = rowsOf(batch.documentWords!, 60)[row]!;
      expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 5);
      const own = text.find((id) => id > 5)!; // no two documents share it
      const words = documents
        .find((sentences) => sentences.some((ids) => ids.includes(own)))!
        .flatMap((ids) => [...ids]);
      const named = shares.flatMap((share, id) => (share > 0 ? [id] : []));
      expect(named).toEqual([...new Set(words)].sort((x, y) => x - y));
      const each = (id: number) => shares[id]! / words.filter((word) => word === id).length;
      expect(each(5)).toBeLessThan(each(own));
    });
  });

  it("are the same at a place, however one comes there, and repeat where passes are to repeat", () => {
    const [walked, jumped] = [
      croppedBatches(documents, tokenizer, options),
      croppedBatches(documents, tokenizer, options),
    ];
    const all = Array.from({ length: 8 }, (_, i) => walked.at(i));
    for (const place of [7, 0, 5]) expect(jumped.at(place)).toEqual(all[place]);
    const repeated = croppedBatches(documents, tokenizer, { ...options, distinctPasses: 2 });
    expect(repeated.at(4)).toEqual(repeated.at(0));
    expect(repeated.at(2)).not.toEqual(repeated.at(0));
  });
});
