/** Reads double-array tries in the layout of Darts-clone, which SentencePiece stores in its models. */

/*
 * One 32-bit unit a node. A node: bits 0–7 label, bit 8 "a key ends here", bit 9 "offset is shifted by 8", bits 10–31 offset.
 * A value: bit 31 set, bits 0–30 value. The child of node i by byte b is unit i ^ offset(i) ^ b, and must carry the label b;
 * the value of node i is unit i ^ offset(i).
 */
const LABEL_MASK = 0x800000ff | 0;
export const KEY_ENDS = 1 << 8;
export const WIDE_OFFSET = 1 << 9;

/** The label of a unit; never a byte if the unit is a value. */
export function labelOf(unit: number): number {
  return unit & LABEL_MASK;
}

export function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & WIDE_OFFSET) >>> 6);
}

/** A read-only trie over byte strings. */
export class DoubleArray {
  readonly units: Int32Array;
  /** Where the children of the root are: the state in which a walk starts. */
  readonly start: number;

  constructor(units: Int32Array) {
    this.units = units;
    this.start = units.length === 0 ? 0 : offsetOf(units[0]!);
  }

  /** The value of exactly bytes[from, to), or -1. */
  find(bytes: Uint8Array, from: number, to: number): number {
    const units = this.units;
    let state = this.start;
    let unit = 0;
    for (let i = from; i < to; i++) {
      const byte = bytes[i]!;
      const node = state ^ byte;
      if (node >= units.length) return -1;
      unit = units[node]!;
      if (labelOf(unit) !== byte) return -1;
      state = node ^ offsetOf(unit);
    }
    return (unit & KEY_ENDS) === 0 ? -1 : (units[state] ?? 0) & 0x7fffffff;
  }

  /** The longest key that begins bytes[from, to): its length, with its value in `longestValue`; 0 if there is none. */
  longest(bytes: Uint8Array, from: number, to: number): number {
    const units = this.units;
    let state = this.start;
    let length = 0;
    for (let i = from; i < to; i++) {
      const byte = bytes[i]!;
      const node = state ^ byte;
      if (node >= units.length) break;
      const unit = units[node]!;
      if (labelOf(unit) !== byte) break;
      state = node ^ offsetOf(unit);
      if ((unit & KEY_ENDS) === 0) continue;
      length = i + 1 - from;
      this.longestValue = (units[state] ?? 0) & 0x7fffffff;
    }
    return length;
  }

  /** What `longest` found last. */
  longestValue = 0;
}
