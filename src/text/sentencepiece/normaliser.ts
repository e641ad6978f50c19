/** Rewrites text as a model prescribes: rules applied left to right, longest first; spaces merged, trimmed and marked. */
import { type Charsmap, isWordwise, readCharsmap } from "./charsmap.ts";
import type { DoubleArray } from "./double-array.ts";
import { buildDoubleArray } from "./double-array-builder.ts";
import type { NormaliserSpec } from "./model.ts";
import { REPLACEMENT_BYTES, SPACE, SPACE_MARK, SPACE_MARK_BYTES, toBytes, validLength } from "./utf8.ts";

/** Normalises into a buffer of its own, which the next call overwrites. */
export class Normaliser {
  readonly spec: NormaliserSpec;
  readonly #suffix: boolean;
  readonly #charsmap: Charsmap | undefined;
  readonly #symbols: DoubleArray | undefined;
  #output = new Uint8Array(1024);
  #length = 0;
  /** The last step of `#read`: what bytes #from[#begin, #end) replace the next #consumed bytes of the input. */
  #from: Uint8Array = REPLACEMENT_BYTES;
  #begin = 0;
  #end = 0;
  #consumed = 0;

  constructor(spec: NormaliserSpec, userSymbols: readonly string[], whitespaceAsSuffix: boolean, source: string) {
    this.spec = spec;
    this.#suffix = whitespaceAsSuffix;
    this.#charsmap = spec.charsmap.length === 0 ? undefined : readCharsmap(spec.charsmap, source);
    this.#symbols =
      userSymbols.length === 0
        ? undefined
        : buildDoubleArray(userSymbols.map((symbol) => ({ key: toBytes(symbol), value: 0 })));
  }

  /** The buffer that holds the result. */
  get output(): Uint8Array {
    return this.#output;
  }

  /** Whether a line's normal form is that of its space-separated words, each behind a space mark. */
  isWordwise(userSymbols: readonly string[]): boolean {
    const { addDummyPrefix, removeExtraWhitespaces, escapeWhitespaces } = this.spec;
    if (!addDummyPrefix || !removeExtraWhitespaces || !escapeWhitespaces || this.#suffix) return false;
    if (userSymbols.some((symbol) => symbol.includes(" ") || symbol.includes(SPACE_MARK))) return false;
    return this.#charsmap === undefined || isWordwise(this.#charsmap);
  }

  /** Normalises input[0, inputLength) into `output` and returns the length there. */
  run(input: Uint8Array, inputLength: number): number {
    this.#length = 0;
    const { removeExtraWhitespaces, addDummyPrefix } = this.spec;
    const start = removeExtraWhitespaces ? this.#skipSpaces(input, inputLength) : 0;
    if (start === inputLength) return 0;
    if (addDummyPrefix && !this.#suffix) this.#appendSpace();
    this.#rewrite(input, start, inputLength);
    if (removeExtraWhitespaces) this.#trimEnd();
    if (addDummyPrefix && this.#suffix) this.#appendSpace();
    return this.#length;
  }

  #skipSpaces(input: Uint8Array, inputLength: number): number {
    let at = 0;
    while (at < inputLength) {
      this.#read(input, at, inputLength);
      if (this.#end - this.#begin !== 1 || this.#from[this.#begin] !== SPACE) break;
      at += this.#consumed;
    }
    return at;
  }

  #rewrite(input: Uint8Array, start: number, inputLength: number): void {
    const merge = this.spec.removeExtraWhitespaces;
    let afterSpace = merge;
    for (let at = start; at < inputLength; at += this.#consumed) {
      this.#read(input, at, inputLength);
      while (afterSpace && this.#begin < this.#end && this.#from[this.#begin] === SPACE) this.#begin++;
      if (this.#begin === this.#end) continue;
      this.#appendRead();
      afterSpace = merge && this.#from[this.#end - 1] === SPACE;
    }
  }

  /** Finds the replacement of the longest rule or symbol at `at`; without one, the character stands for itself. */
  #read(input: Uint8Array, at: number, inputLength: number): void {
    const symbol = this.#symbols === undefined ? 0 : this.#symbols.longest(input, at, inputLength);
    const rule = symbol > 0 || this.#charsmap === undefined ? 0 : this.#charsmap.trie.longest(input, at, inputLength);
    if (symbol > 0) this.#use(input, at, at + symbol, symbol);
    else if (rule > 0) this.#useRule(this.#charsmap!, rule);
    else this.#useCharacter(input, at, inputLength);
  }

  #useRule({ trie, replacements }: Charsmap, consumed: number): void {
    const end = replacements.indexOf(0, trie.longestValue);
    this.#use(replacements, trie.longestValue, end < 0 ? replacements.length : end, consumed);
  }

  #useCharacter(input: Uint8Array, at: number, inputLength: number): void {
    const length = validLength(input, at, inputLength);
    if (length === 0) this.#use(REPLACEMENT_BYTES, 0, 3, 1);
    else this.#use(input, at, at + length, length);
  }

  #use(from: Uint8Array, begin: number, end: number, consumed: number): void {
    this.#from = from;
    this.#begin = begin;
    this.#end = end;
    this.#consumed = consumed;
  }

  #appendRead(): void {
    this.#reserve((this.#end - this.#begin) * 3);
    const marks = this.spec.escapeWhitespaces;
    for (let i = this.#begin; i < this.#end; i++) {
      const byte = this.#from[i]!;
      if (marks && byte === SPACE) this.#appendSpace();
      else this.#output[this.#length++] = byte;
    }
  }

  #appendSpace(): void {
    this.#reserve(3);
    if (!this.spec.escapeWhitespaces) {
      this.#output[this.#length++] = SPACE;
      return;
    }
    this.#output.set(SPACE_MARK_BYTES, this.#length);
    this.#length += 3;
  }

  #trimEnd(): void {
    const [a, b, c] = this.spec.escapeWhitespaces ? SPACE_MARK_BYTES : [-1, -1, SPACE];
    const width = this.spec.escapeWhitespaces ? 3 : 1;
    const output = this.#output;
    while (this.#length >= width && output[this.#length - 1] === c) {
      if (width === 3 && (output[this.#length - 2] !== b || output[this.#length - 3] !== a)) break;
      this.#length -= width;
    }
  }

  #reserve(extra: number): void {
    if (this.#length + extra <= this.#output.length) return;
    const grown = new Uint8Array(Math.max(this.#output.length * 2, this.#length + extra));
    grown.set(this.#output.subarray(0, this.#length));
    this.#output = grown;
  }
}
