/** Builds double-array tries that Darts-clone, and so the real SentencePiece, can read. */
import { DoubleArray, KEY_ENDS, WIDE_OFFSET } from "./double-array.ts";

const BLOCK = 256;
/** How far back free units are still searched; older gaps are left unused, which keeps the build linear. */
const SEARCH_BLOCKS = 16;

/** Keys in byte order with their values, which must be below 2^31. Keys must be distinct, not empty and without NUL. */
export interface TrieEntry {
  key: Uint8Array;
  value: number;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}

/** Sorts the entries and builds the trie. `shared` stores equal subtrees once: slower, for keys with few distinct values. */
export function buildDoubleArray(entries: readonly TrieEntry[], shared = false): DoubleArray {
  const sorted = [...entries].sort((a, b) => compareBytes(a.key, b.key));
  return new DoubleArray(new Build(sorted, shared ? subtreeShapes(sorted) : undefined).run());
}

/** For the subtree of the keys from `begin` on that share `depth` bytes: a number that equal subtrees have in common. */
type Shapes = (begin: number, depth: number) => number;

function subtreeShapes(entries: readonly TrieEntry[]): Shapes {
  const numbers = new Map<string, number>();
  const known = new Map<number, number>();
  const place = (begin: number, depth: number): number => begin * 256 + depth;
  const visit = (begin: number, end: number, depth: number): number => {
    let shape = "";
    let i = begin;
    if (entries[i]!.key.length === depth) shape += `=${entries[i++]!.value}`;
    while (i < end) {
      const label = entries[i]!.key[depth]!;
      const from = i;
      while (i < end && entries[i]!.key[depth] === label) i++;
      shape += `,${label}:${visit(from, i, depth + 1)}`;
    }
    const number = numbers.get(shape) ?? numbers.size;
    numbers.set(shape, number);
    known.set(place(begin, depth), number);
    return number;
  };
  visit(0, entries.length, 0);
  return (begin, depth) => known.get(place(begin, depth))!;
}

type Job = [node: number, begin: number, end: number, depth: number];

/** Far offsets are stored without their low byte, which must then be the node's own. */
function isReachable(node: number, offset: number): boolean {
  const relative = node ^ offset;
  return relative < 1 << 21 || (relative & 0xff) === 0;
}

/** One build: units, which of them are taken, and which offsets have been given to a node. */
class Build {
  readonly #entries: readonly TrieEntry[];
  #units = new Int32Array(BLOCK);
  #taken = new Uint8Array(BLOCK);
  #offsetUsed = new Uint8Array(BLOCK);
  /** Free units form a ring in increasing order, so that a search skips the full regions. */
  #nextFree = new Int32Array(BLOCK);
  #previousFree = new Int32Array(BLOCK);
  #firstFree = -1;
  #size = 0;
  readonly #shapes: Shapes | undefined;
  /** Offsets of the subtrees placed so far, by shape. */
  readonly #placed = new Map<number, number>();

  constructor(entries: readonly TrieEntry[], shapes: Shapes | undefined) {
    this.#entries = entries;
    this.#shapes = shapes;
  }

  run(): Int32Array {
    this.#extend();
    this.#take(0);
    // With offset 0 the root would be its own child by NUL.
    this.#offsetUsed[0] = 1;
    const pending: Job[] = this.#entries.length > 0 ? [[0, 0, this.#entries.length, 0]] : [];
    for (let job = pending.pop(); job !== undefined; job = pending.pop()) {
      if (!this.#reuse(job)) for (const child of this.#place(job)) pending.push(child);
    }
    this.#labelUnused();
    return this.#units.slice(0, this.#size);
  }

  /** Points the node to an equal subtree, if there is one that its offset can reach. */
  #reuse([node, begin, , depth]: Job): boolean {
    const offset = this.#shapes === undefined ? undefined : this.#placed.get(this.#shapes(begin, depth));
    if (offset === undefined || !isReachable(node, offset)) return false;
    this.#setOffset(node, offset);
    if (this.#entries[begin]!.key.length === depth) this.#units[node]! |= KEY_ENDS;
    return true;
  }

  /** Gives the node its offset and its children their units; returns the children still to be placed. */
  #place([node, begin, end, depth]: Job): Job[] {
    const { labels, starts } = this.#children(begin, end, depth);
    const offset = this.#findOffset(node, labels);
    this.#setOffset(node, offset);
    if (this.#shapes !== undefined) this.#placed.set(this.#shapes(begin, depth), offset);
    const children: Job[] = [];
    for (let k = 0; k < labels.length; k++) {
      const label = labels[k]!;
      const unit = offset ^ label;
      this.#take(unit);
      if (label === 0) {
        this.#units[unit] = this.#entries[begin]!.value | 0x80000000;
        this.#units[node]! |= KEY_ENDS;
      } else {
        this.#units[unit] = label;
        children.push([unit, starts[k]!, starts[k + 1]!, depth + 1]);
      }
    }
    return children;
  }

  /** The distinct bytes at `depth` (0 where a key ends) and where each one's range of keys starts. */
  #children(begin: number, end: number, depth: number): { labels: number[]; starts: number[] } {
    const labels: number[] = [];
    const starts: number[] = [];
    for (let i = begin; i < end; i++) {
      const label = this.#entries[i]!.key[depth] ?? 0;
      if (labels.at(-1) === label) continue;
      labels.push(label);
      starts.push(i);
    }
    starts.push(end);
    return { labels, starts };
  }

  #findOffset(node: number, labels: readonly number[]): number {
    const first = labels[0]!;
    if (this.#firstFree >= 0) {
      let unit = this.#firstFree;
      do {
        const offset = unit ^ first;
        if (this.#fits(node, offset, labels)) return offset;
        unit = this.#nextFree[unit]!;
      } while (unit !== this.#firstFree);
    }
    // A new block has every unit free; the low byte is the node's own, so that a wide offset has a zero low byte.
    const offset = this.#size | (node & 0xff);
    this.#extend();
    return offset;
  }

  #fits(node: number, offset: number, labels: readonly number[]): boolean {
    if (this.#offsetUsed[offset] || !isReachable(node, offset)) return false;
    for (const label of labels) if (this.#taken[offset ^ label]) return false;
    return true;
  }

  #setOffset(node: number, offset: number): void {
    this.#offsetUsed[offset] = 1;
    const relative = node ^ offset;
    this.#units[node]! |= relative < 1 << 21 ? relative << 10 : (relative << 2) | WIDE_OFFSET;
  }

  #take(unit: number): void {
    this.#taken[unit] = 1;
    this.#unlink(unit);
  }

  #unlink(unit: number): void {
    const next = this.#nextFree[unit]!;
    const previous = this.#previousFree[unit]!;
    this.#nextFree[previous] = next;
    this.#previousFree[next] = previous;
    if (this.#firstFree === unit) this.#firstFree = next === unit ? -1 : next;
  }

  #extend(): void {
    const from = this.#size;
    this.#size += BLOCK;
    this.#reserve();
    for (let unit = from; unit < this.#size; unit++) this.#link(unit);
    this.#forgetBlock(from / BLOCK - SEARCH_BLOCKS);
  }

  #reserve(): void {
    if (this.#size <= this.#units.length) return;
    const length = this.#units.length * 2;
    const grow = <A extends Int32Array | Uint8Array>(old: A, fresh: A): A => {
      fresh.set(old);
      return fresh;
    };
    this.#units = grow(this.#units, new Int32Array(length));
    this.#nextFree = grow(this.#nextFree, new Int32Array(length));
    this.#previousFree = grow(this.#previousFree, new Int32Array(length));
    this.#taken = grow(this.#taken, new Uint8Array(length));
    this.#offsetUsed = grow(this.#offsetUsed, new Uint8Array(length));
  }

  #link(unit: number): void {
    if (this.#firstFree < 0) {
      this.#firstFree = unit;
      this.#nextFree[unit] = unit;
      this.#previousFree[unit] = unit;
      return;
    }
    const last = this.#previousFree[this.#firstFree]!;
    this.#nextFree[last] = unit;
    this.#previousFree[unit] = last;
    this.#nextFree[unit] = this.#firstFree;
    this.#previousFree[this.#firstFree] = unit;
  }

  /** Takes the free units of an old block out of the search. */
  #forgetBlock(block: number): void {
    if (block < 0) return;
    for (let unit = block * BLOCK; unit < (block + 1) * BLOCK; unit++) {
      if (this.#taken[unit]) continue;
      this.#taken[unit] = 1;
      this.#unlink(unit);
      this.#units[unit] = this.#deadLabel(unit);
    }
  }

  #labelUnused(): void {
    for (let unit = 0; unit < this.#size; unit++) {
      if (!this.#taken[unit]) this.#units[unit] = this.#deadLabel(unit);
    }
  }

  /** A label under which no node can reach the unit: unit ^ label is nobody's offset. */
  #deadLabel(unit: number): number {
    for (let label = 1; label < BLOCK; label++) if (!this.#offsetUsed[unit ^ label]) return label;
    return 0;
  }
}
