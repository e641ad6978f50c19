/** A model's rewriting rules: a trie from byte strings to places in a block of NUL-ended replacements. */
import { rejectFile } from "../../base/errors.ts";
import { DoubleArray, labelOf, offsetOf } from "./double-array.ts";
import { buildDoubleArray, type TrieEntry } from "./double-array-builder.ts";
import { SPACE, SPACE_MARK_BYTES, toBytes } from "./utf8.ts";

/** Rules as SentencePiece stores them: byte length of the trie (32 bits), the trie, the replacements. */
export interface Charsmap {
  trie: DoubleArray;
  /** Each replacement ends at a NUL. */
  replacements: Uint8Array;
}

/** The rules in `blob`; `source` names the model in errors. */
export function readCharsmap(blob: Uint8Array, source: string): Charsmap {
  if (blob.length < 5) damaged(source, `${blob.length} bytes`);
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  const trieBytes = view.getUint32(0, true);
  if (trieBytes + 4 > blob.length || trieBytes % 4 !== 0) damaged(source, `a trie of ${trieBytes} bytes`);
  const units = new Int32Array(trieBytes / 4);
  for (let i = 0; i < units.length; i++) units[i] = view.getInt32(4 + 4 * i, true);
  const replacements = blob.subarray(4 + trieBytes);
  checkValues(units, replacements, source);
  checkLengths(replacements, source);
  return { trie: new DoubleArray(units), replacements };
}

function damaged(source: string, got: string): never {
  rejectFile({ who: source, needed: "normalisation rules (a trie and its strings)", got });
}

/** A unit with bit 31 set is a value; each one must point into the replacements. */
function checkValues(units: Int32Array, replacements: Uint8Array, source: string): void {
  for (const unit of units) {
    if (unit < 0 && (unit & 0x7fffffff) >= replacements.length) {
      damaged(source, `a rule that points to byte ${unit & 0x7fffffff} of ${replacements.length}`);
    }
  }
}

/** No rule writes more than a few dozen bytes; a string without an end would be copied for every letter of a text. */
function checkLengths(replacements: Uint8Array, source: string): void {
  for (let at = 0; at < replacements.length; ) {
    const end = replacements.indexOf(0, at);
    const length = (end < 0 ? replacements.length : end) - at;
    if (length > LONGEST_REPLACEMENT) damaged(source, `a string of ${length} bytes at byte ${at} of the strings`);
    at += length + 1;
  }
}

const LONGEST_REPLACEMENT = 4096;

/** The bytes of a charsmap with the given rules, from text to text; no rules give no bytes. */
export function writeCharsmap(rules: ReadonlyMap<string, string>): Uint8Array<ArrayBuffer> {
  if (rules.size === 0) return new Uint8Array(0);
  const places = new Map<string, number>();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const target of [...new Set(rules.values())].sort()) {
    const bytes = toBytes(`${target}\0`);
    places.set(target, length);
    parts.push(bytes);
    length += bytes.length;
  }
  const entries: TrieEntry[] = [];
  for (const [key, target] of rules) entries.push({ key: toBytes(key), value: places.get(target)! });
  return joined(buildDoubleArray(entries, true).units, parts, length);
}

function joined(units: Int32Array, parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const blob = new Uint8Array(4 + units.length * 4 + length);
  const view = new DataView(blob.buffer);
  view.setUint32(0, units.length * 4, true);
  for (let i = 0; i < units.length; i++) view.setInt32(4 + 4 * i, units[i]!, true);
  let at = 4 + units.length * 4;
  for (const part of parts) {
    blob.set(part, at);
    at += part.length;
  }
  return blob;
}

/**
 * Whether text may be normalised word by word, a word being what stands between spaces: no rule may hold a space next to
 * other characters, and none may produce the space mark.
 */
export function isWordwise({ trie, replacements }: Charsmap): boolean {
  return !hasInnerSpace(trie) && !containsMark(replacements);
}

/** Walks all keys, each node once (a damaged trie may have loops): a space is harmless only as a whole key. */
function hasInnerSpace({ units, start }: DoubleArray): boolean {
  const seen = new Uint8Array(units.length);
  const pending = [start];
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    for (let label = 1; label < 256; label++) {
      const node = state ^ label;
      if (node >= units.length || labelOf(units[node]!) !== label || seen[node]) continue;
      seen[node] = 1;
      const below = node ^ offsetOf(units[node]!);
      if (label === SPACE && (state !== start || hasChildren(units, below))) return true;
      pending.push(below);
    }
  }
  return false;
}

function hasChildren(units: Int32Array, state: number): boolean {
  for (let label = 1; label < 256; label++) if (labelOf(units[state ^ label] ?? 0) === label) return true;
  return false;
}

function containsMark(bytes: Uint8Array): boolean {
  const [a, b, c] = SPACE_MARK_BYTES;
  for (let i = bytes.indexOf(a); i >= 0; i = bytes.indexOf(a, i + 1)) {
    if (bytes[i + 1] === b && bytes[i + 2] === c) return true;
  }
  return false;
}
