import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LayerwiseError } from "../../base/errors.ts";
import { batchesFrom } from "../batches.contract.ts";
import type { Batch } from "../batches.ts";
import { batchesOfTokens, type EncodedLines, type TokenizedText, tokensInMemory, wholeText } from "../tokens.ts";
import { bytesSource, stretchesOf, TokenFile, TokenFileWriter, type TokenRescue } from "./token-file.ts";

/** Lines of so many ids each. */
function linesOf(lengths: readonly number[], pieces = 12_000): EncodedLines {
  const lineEnds = new Uint32Array(lengths.length);
  for (const [i, length] of lengths.entries()) lineEnds[i] = (lineEnds[i - 1] ?? 0) + length;
  const tokens = lineEnds.at(-1) ?? 0;
  const ids = pieces <= 65536 ? new Uint16Array(tokens) : new Int32Array(tokens);
  for (let i = 0; i < tokens; i++) ids[i] = ((ids[i - 1] ?? 0) * 31 + 7) % pieces;
  return { ids, lineEnds, words: lengths.length, bytes: 3 * tokens + 1 };
}

function fileOf(stretches: readonly EncodedLines[], pieces = 12_000): Uint8Array {
  const writer = new TokenFileWriter(pieces);
  const blocks = stretches.flatMap((stretch) => [...writer.add(stretch)].map((block) => block.slice()));
  return new Uint8Array(Buffer.concat([...blocks, ...writer.finish()]));
}

const open = (bytes: Uint8Array, rescue?: TokenRescue) => new TokenFile(bytesSource(bytes), "x.tokens", rescue);
/** As text: comparing arrays element by element would take seconds. */
const plain = ({ ids, lineEnds, words }: TokenizedText) => `${ids.BYTES_PER_ELEMENT} ${ids} ${lineEnds} ${words}`;
const batchText = ({ ids, targets }: Batch) => `${ids} ${targets}`;

/** All there is to read. */
const readAll = (file: TokenFile) => [wholeText(file, file.pieces), file.counts(file.pieces), file.words, file.bytes];

/** Two and a half blocks of ids, more than one of line ends. */
const large = () => linesOf(Array.from({ length: 9000 }, (_, i) => i % 19));

describe("a token file", () => {
  it("gives back what was written, in stretches of any size", () => {
    const lengths = fc.array(fc.nat(30), { maxLength: 30 });
    fc.assert(
      fc.property(lengths, fc.constantFrom(200, 65_537), fc.nat(30), (given, pieces, cut) => {
        const all = linesOf(given, pieces);
        const end = all.lineEnds[cut - 1] ?? (cut === 0 ? 0 : all.ids.length);
        const [ids, lineEnds] = [all.ids.slice(end), all.lineEnds.slice(cut).map((each) => each - end)];
        const first = { ids: all.ids.slice(0, end), lineEnds: all.lineEnds.slice(0, cut), words: all.words, bytes: 1 };
        const file = open(fileOf([first, { ids, lineEnds, words: 0, bytes: 3 * all.ids.length }], pieces));
        expect(plain(wholeText(file, pieces))).toBe(plain(all));
        expect([file.words, file.bytes, file.pieces]).toEqual([all.words, all.bytes, pieces]);
        expect(`${file.counts(pieces)}`).toBe(`${tokensInMemory(all).counts(pieces)}`);
      }),
      { numRuns: 50 },
    );
  });

  it("of several blocks gives the batches that memory gives, in any order", () => {
    const text = large();
    const [file, memory] = [open(fileOf([text])), tokensInMemory(text)];
    for (const options of [
      { batch: 7, length: 50 },
      { batch: 2, length: 40_000 },
      { batch: 3, length: 11, shards: 4, compat: "original" as const },
    ]) {
      const [ours, theirs] = [batchesOfTokens(file, options, "x"), batchesOfTokens(memory, options, "x")];
      expect([...batchesFrom(ours)].map(batchText)).toEqual([...batchesFrom(theirs)].map(batchText));
      for (const at of [ours.count - 1, 0, ours.count >> 1])
        expect(batchText(ours.at(at))).toBe(batchText(theirs.at(at)));
    }
  });

  it("is the same when it is written again from what was read", () => {
    const bytes = fileOf([large()]);
    expect(Buffer.from(fileOf([...stretchesOf(open(bytes), 12_000)])).equals(bytes)).toBe(true);
  });

  it("shows any flipped bit and any cut", () => {
    const bytes = fileOf([linesOf([5, 0, 7])], 30);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => {
        const flipped = bytes.slice();
        flipped[at]! ^= 1 << bit;
        expect(() => readAll(open(flipped))).toThrow(LayerwiseError);
        expect(() => readAll(open(bytes.subarray(0, at)))).toThrow(LayerwiseError);
      }),
      { numRuns: 400 },
    );
  });

  it("has a damaged block made again from the text, and says so", () => {
    const text = large();
    const bytes = fileOf([text]);
    for (const at of [20, 70_000, 200_000]) bytes[at]! ^= 4;
    const said: string[] = [];
    const file = open(bytes, {
      *linesFrom(line) {
        for (; line < text.lineEnds.length; line++)
          yield text.ids.subarray(line > 0 ? text.lineEnds[line - 1] : 0, text.lineEnds[line]);
      },
      onDamage: (block, remade) => said.push(`${block} ${remade}`),
    });
    expect(plain(wholeText(file, 12_000))).toBe(plain(text));
    expect(said).toEqual(["block 0 true", "block 1 true", "block 2 true"]);
  });

  it("refuses a damaged block where the text is not what it was", () => {
    const bytes = fileOf([large()]);
    bytes[20]! ^= 4;
    const file = open(bytes, { linesFrom: () => [[1, 2, 3]], onDamage: () => {} });
    expect(() => readAll(file)).toThrow(
      "x.tokens: expected a token file with whole blocks, got a damaged one, block 0",
    );
    expect(() => readAll(open(bytes))).toThrow(LayerwiseError);
  });
});
