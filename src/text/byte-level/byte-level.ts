/** A byte-level byte-pair tokenizer at work, as GPT-2, Llama 3, SmolLM and Qwen have it: encodes, decodes, and knows its pieces. */
import { rejectData } from "../../base/errors.ts";
import { bytesOfPiece, characterOf } from "./alphabet.ts";
import { mergeAll } from "./merging.ts";
import { type AddedPiece, type ByteLevelModel, readByteLevel } from "./model.ts";
import { escaped } from "./pattern.ts";

/** Words whose pieces are remembered; then it begins again. */
const REMEMBERED = 1 << 16;
/** Longer words are rare and merged again each time. */
const LONGEST_REMEMBERED = 40;

const utf8 = new TextEncoder();
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });

/** The tokenizer in the bytes of a tokenizer.json; `source` names the file in errors. */
export function byteLevelTokenizer(bytes: Uint8Array, source: string): ByteLevelTokenizer {
  return new ByteLevelTokenizer(readByteLevel(lossy.decode(bytes), source), source);
}

/** Encodes, decodes and looks up; `source` names the file in errors. */
export class ByteLevelTokenizer {
  readonly size: number;
  readonly unknownId: number;
  readonly padId: number;
  readonly bosId: number;
  readonly eosId: number;
  readonly keepsLineEnds = true;
  readonly #model: ByteLevelModel;
  readonly #source: string;
  readonly #words = new Map<string, Int32Array>();
  readonly #specials: ReadonlySet<number>;
  /** Searched for in text as it is, and in normalised text. */
  readonly #searches: readonly [raw: RegExp | undefined, normalised: RegExp | undefined];

  constructor(model: ByteLevelModel, source: string) {
    this.#model = model;
    this.#source = source;
    this.size = model.pieces.length;
    this.unknownId = model.unknownId;
    const special = model.added.filter((each) => each.special);
    this.#specials = new Set(special.map(({ id }) => id));
    const idOf = (form: RegExp) => special.find(({ content }) => form.test(content))?.id ?? -1;
    [this.padId, this.bosId, this.eosId] = [idOf(PADDING), idOf(BEGIN), idOf(END)];
    this.#searches = [
      searchOf(model.added.filter(({ normalized }) => !normalized)),
      searchOf(model.added.filter(({ normalized }) => normalized)),
    ];
  }

  encode(text: string): Int32Array {
    const ids: number[] = [];
    for (const part of this.#found(text, this.#searches[0])) {
      if (typeof part === "number") ids.push(part);
      else this.#encodePlain(part, ids);
    }
    return Int32Array.from(ids);
  }

  encodeBytes(bytes: Uint8Array): Int32Array {
    return this.encode(lossy.decode(bytes));
  }

  encodePieces(line: string | Uint8Array): string[] {
    const ids = typeof line === "string" ? this.encode(line) : this.encodeBytes(line);
    return Array.from(ids, (id) => this.pieceOf(id));
  }

  /** Special pieces have no text. */
  decode(ids: ArrayLike<number>): string {
    const parts = Array.from(ids, (id) =>
      this.#specials.has(id) ? new Uint8Array(0) : bytesOfPiece(this.pieceOf(id)),
    );
    const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return lossy.decode(bytes);
  }

  decodePieces(pieces: readonly string[]): string {
    return this.decode(pieces.map((piece) => this.idOf(piece)).filter((id) => id >= 0));
  }

  pieceOf(id: number): string {
    if (Number.isInteger(id) && id >= 0 && id < this.size) return this.#model.pieces[id] ?? "";
    return rejectData({ who: this.#source, needed: `an id from 0 to ${this.size - 1}`, got: String(id) });
  }

  idOf(piece: string): number {
    return this.#model.ids.get(piece) ?? this.unknownId;
  }

  normalise(text: string): string {
    return this.#model.normalise(text);
  }

  /** Text without pieces that are searched for as they are. */
  #encodePlain(text: string, ids: number[]): void {
    for (const part of this.#found(this.#model.normalise(text), this.#searches[1])) {
      if (typeof part === "number") ids.push(part);
      else this.#encodeWords(part, ids);
    }
  }

  #encodeWords(text: string, ids: number[]): void {
    const words = this.#model.splits.reduce<readonly string[]>((parts, split) => parts.flatMap(split), [text]);
    for (const word of words) for (const id of this.#word(word)) ids.push(id);
  }

  #word(word: string): Int32Array {
    const known = this.#words.get(word);
    if (known) return known;
    const ids = this.#merged(word);
    if (word.length > LONGEST_REMEMBERED) return ids;
    if (this.#words.size === REMEMBERED) this.#words.clear();
    this.#words.set(word, ids);
    return ids;
  }

  #merged(word: string): Int32Array {
    const bytes = utf8.encode(word);
    const { wholeWords, ids, byteIds, merges } = this.#model;
    const whole = wholeWords ? ids.get(Array.from(bytes, (byte) => characterOf[byte]!).join("")) : undefined;
    if (whole !== undefined) return Int32Array.of(whole);
    return mergeAll(
      new Int32Array(bytes).map((byte) => byteIds[byte]!),
      merges,
    );
  }

  /** Ids of pieces that are found in a text, and the text between them. */
  *#found(text: string, search: RegExp | undefined): Generator<string | number> {
    let end = 0;
    for (const match of search ? text.matchAll(search) : []) {
      if (match.index > end) yield text.slice(end, match.index);
      yield this.#model.ids.get(match.find((part, i) => i > 0 && part !== undefined) ?? match[0])!;
      end = match.index + match[0].length;
    }
    if (end < text.length) yield text.slice(end);
  }
}

/** Names that published models give them; the file itself does not say which is which. */
const PADDING = /^(<\|?pad\|?>|\[PAD\]|<\|.*pad.*\|>)$/i;
const BEGIN = /^(<s>|<bos>|\[BOS\]|<\|(begin_of_text|startoftext|im_start)\|>)$/i;
const END = /^(<\/s>|<eos>|\[EOS\]|<\|(end_of_text|endoftext|im_end)\|>)$/i;

const WORD = String.raw`[\p{L}\p{M}\p{N}\p{Pc}]`;
const SPACES = String.raw`\p{White_Space}*`;

/** The leftmost piece, and of those the longest. */
function searchOf(added: readonly AddedPiece[]): RegExp | undefined {
  const sorted = added.filter(({ content }) => content !== "").toSorted((a, b) => b.content.length - a.content.length);
  if (sorted.length === 0) return undefined;
  const plain = sorted.every((each) => !(each.singleWord || each.leftStrip || each.rightStrip));
  if (plain) return new RegExp(sorted.map(({ content }) => escaped(content)).join("|"), "gu");
  return new RegExp(sorted.map(formOf).join("|"), "gu");
}

const formOf = ({ content, singleWord, leftStrip, rightStrip }: AddedPiece): string => {
  const [before, after] = singleWord ? [`(?<!${WORD})`, `(?!${WORD})`] : ["", ""];
  return `${leftStrip ? SPACES : ""}${before}(${escaped(content)})${after}${rightStrip ? SPACES : ""}`;
};
