import { describe, expect, it } from "vitest";
import { documentWordBatches } from "./document-words.ts";
import type { Document } from "./documents.ts";
import { numberedPieces } from "./pieces.contract.ts";

const SIZE = 60;
const tokenizer = numberedPieces(SIZE);
/** Documents of 20 pieces each and one of 3; piece 5 stands in all. */
const documents: Document[] = [
  ...[0, 1, 2].map((d) => [
    Int32Array.from({ length: 10 }, (_, i) => 6 + 10 * d + i),
    Int32Array.from({ length: 10 }, (_, i) => (i < 5 ? 5 : 6 + 10 * d + i)),
  ]),
  [Int32Array.of(5, 50, 51)],
];
const options = { seed: 1, rows: 2 };
const rowsOf = (values: Float32Array) => [0, 1].map((row) => [...values.subarray(row * SIZE, (row + 1) * SIZE)]);
const named = (shares: readonly number[]) => shares.flatMap((share, id) => (share > 0 ? [id] : []));
const total = (shares: readonly number[]) => shares.reduce((sum, share) => sum + share, 0);
const words = documents.map((sentences) => new Set(sentences.flatMap((ids) => [...ids])));
/** The document with these words. */
const documentOf = (ids: readonly number[]) => words.findIndex((each) => ids.every((id) => each.has(id)));

describe("words of documents", () => {
  it("show a part of every document once per pass, another part in the next", () => {
    const batches = documentWordBatches(documents, tokenizer, options);
    expect([batches.count, batches.tokens]).toEqual([2, Math.round((2 * 63) / 4)]);
    const passOf = (places: number[]) => places.flatMap((place) => rowsOf(batches.at(place).shownWords!));
    const [first, second] = [passOf([0, 1]), passOf([2, 3])];
    for (const shown of [...first, ...second]) expect(total(shown)).toBeCloseTo(1, 5);
    const asked = [0, 1].flatMap((place) => rowsOf(batches.at(place).documentWords!).map(named));
    expect(asked.map(documentOf).sort()).toEqual([0, 1, 2, 3]);
    first.forEach((shown, i) => {
      const missing = asked[i]!.filter((id) => !named(shown).includes(id));
      expect(named(shown).every((id) => asked[i]!.includes(id))).toBe(true);
      expect(missing.length > 0 || asked[i]!.length === 3).toBe(true);
    });
    expect(second.map(named)).not.toEqual(first.map(named));
  });

  it("show pieces in spans, and pairs of neighbours within them where they are asked for", () => {
    const pairs = 6;
    const batch = documentWordBatches(documents, tokenizer, { ...options, rows: 4, pairs }).at(0);
    const [lefts, rights, shares] = [batch.shownLefts!, batch.shownRights!, batch.pairShares!];
    expect([lefts.length, rights.length, shares.length]).toEqual([24, 24, 24]);
    const texts = documents.map((sentences) => sentences.flatMap((ids) => [...ids]));
    let found = 0;
    for (let row = 0; row < 4; row++) {
      const asked = named([...batch.documentWords!.subarray(row * SIZE, (row + 1) * SIZE)]);
      const text = texts[documentOf(asked)]!;
      const shown = batch.shownWords!.subarray(row * SIZE, (row + 1) * SIZE);
      const own = shares.subarray(row * pairs, (row + 1) * pairs);
      const used = own.filter((share) => share > 0);
      if (used.length > 0) expect(total([...own])).toBeCloseTo(1, 5);
      for (let k = 0; k < used.length; k++) {
        const [left, right] = [lefts[row * pairs + k]!, rights[row * pairs + k]!];
        expect(text.some((id, i) => id === left && text[i + 1] === right)).toBe(true);
        expect(shown[left]! > 0 && shown[right]! > 0).toBe(true);
        found++;
      }
    }
    expect(found).toBeGreaterThan(6);
    expect(documentWordBatches(documents, tokenizer, options).at(0).shownLefts).toBeUndefined();
  });

  it("show about half of short documents, too, and the same of all as long as no pairs are asked for", () => {
    const short = Array.from({ length: 400 }, (_, i) => [Int32Array.from({ length: 8 }, (_, k) => 6 + ((i + k) % 50))]);
    for (const pairs of [0, 6]) {
      const batch = documentWordBatches(short, tokenizer, { seed: 1, rows: 400, pairs }).at(0);
      const shown = Array.from({ length: 400 }, (_, row) =>
        named([...batch.shownWords!.subarray(row * SIZE, (row + 1) * SIZE)]),
      );
      const all = shown.reduce((sum, each) => sum + each.length, 0);
      expect(all / (8 * 400)).toBeGreaterThan(0.45);
      expect(all / (8 * 400)).toBeLessThan(0.65);
      expect(shown.filter((each) => each.length === 8).length).toBeLessThan(80);
    }
  });

  it("ask for all words, frequent ones for less, and repeated ones for three times as much at most", () => {
    const { documentWords } = documentWordBatches(documents, tokenizer, { ...options, rows: 2 }).at(0);
    for (const shares of rowsOf(documentWords!)) {
      expect(total(shares)).toBeCloseTo(1, 5);
      const document = documents[documentOf(named(shares))]!.flatMap((ids) => [...ids]);
      expect(named(shares)).toEqual([...new Set(document)].sort((x, y) => x - y));
      const times = (id: number) => Math.min(3, document.filter((each) => each === id).length);
      const own = named(shares).find((id) => id > 5)!;
      expect(shares[5]! / times(5)).toBeLessThan(shares[own]! / times(own));
    }
  });

  it("know what is usual: the logarithm of each word's mean share", () => {
    const batches = documentWordBatches(documents, tokenizer, { ...options, rows: 4 });
    const { documentWords, usualWords } = batches.at(0);
    for (const id of [5, 6, 30, 50]) {
      const mean = [0, 1, 2, 3].reduce((sum, row) => sum + documentWords![row * SIZE + id]!, 0) / 4;
      expect(Math.exp(usualWords![id]!)).toBeCloseTo(mean + 0.5 / 64, 5);
    }
  });

  it("are the same at a place, however one comes there, and repeat where passes are to repeat", () => {
    const [walked, jumped] = [0, 1].map(() => documentWordBatches(documents, tokenizer, options)) as [
      ReturnType<typeof documentWordBatches>,
      ReturnType<typeof documentWordBatches>,
    ];
    const all = Array.from({ length: 8 }, (_, i) => walked.at(i));
    for (const place of [7, 0, 5]) expect(jumped.at(place)).toEqual(all[place]);
    const repeated = documentWordBatches(documents, tokenizer, { ...options, distinctPasses: 2 });
    expect(repeated.at(4)).toEqual(repeated.at(0));
    expect(repeated.at(2)).not.toEqual(repeated.at(0));
  });
});
