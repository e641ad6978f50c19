/** A bounded hash table from words, as they stand in the text, to the pieces they are cut into. */

const MAXIMUM_ENTRIES = 1 << 16;
const SLOTS = MAXIMUM_ENTRIES * 2;
/** Longer words are rare and cut again each time. */
export const LONGEST_CACHED_WORD = 40;

/** Mixes the next UTF-16 unit into a word's hash, which starts at 0. */
export function hashStep(hash: number, unit: number): number {
  return (Math.imul(hash, 31) + unit) | 0;
}

/** Entries are indices; all that belongs to one lies in flat arrays, so that a look-up allocates nothing. */
export class WordCache {
  readonly #slots = new Int32Array(SLOTS);
  readonly #keyStarts = new Int32Array(MAXIMUM_ENTRIES + 1);
  #keys = new Uint16Array(1 << 12);
  /** Pieces of entry e: ids[idStarts[e]] … ids[idStarts[e + 1] - 1]. */
  readonly idStarts = new Int32Array(MAXIMUM_ENTRIES + 1);
  ids = new Int32Array(1 << 12);
  /** How much each word takes off the running sum of scores. */
  readonly costs = new Float64Array(MAXIMUM_ENTRIES);
  /** Up to which running cost the entry holds whatever the rounding; negative if it never does. */
  readonly limits = new Float64Array(MAXIMUM_ENTRIES);
  #count = 0;

  get size(): number {
    return this.#count;
  }

  /** Whether the next word added makes all entries void. */
  get isFull(): boolean {
    return this.#count === MAXIMUM_ENTRIES;
  }

  /** The entry of text[from, to), or -1. */
  find(text: string, from: number, to: number, hash: number): number {
    const slots = this.#slots;
    const starts = this.#keyStarts;
    const keys = this.#keys;
    for (let slot = slotOf(hash); ; slot = (slot + 1) & (SLOTS - 1)) {
      const entry = slots[slot]! - 1;
      if (entry < 0) return -1;
      let key = starts[entry]!;
      if (starts[entry + 1]! - key !== to - from) continue;
      let i = from;
      while (i < to && keys[key] === text.charCodeAt(i)) {
        i++;
        key++;
      }
      if (i === to) return entry;
    }
  }

  /** Adds a word that `find` did not find and returns its entry; a full table starts over. */
  add(text: string, from: number, to: number, hash: number, ids: Int32Array, cost: number, limit: number): number {
    if (this.isFull) this.#clear();
    const entry = this.#count++;
    this.#addKey(entry, text, from, to);
    this.#addIds(entry, ids);
    this.costs[entry] = cost;
    this.limits[entry] = limit;
    let slot = slotOf(hash);
    while (this.#slots[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
    this.#slots[slot] = entry + 1;
    return entry;
  }

  #addKey(entry: number, text: string, from: number, to: number): void {
    const start = this.#keyStarts[entry]!;
    const end = start + to - from;
    if (end > this.#keys.length) {
      const grown = new Uint16Array(this.#keys.length * 2);
      grown.set(this.#keys);
      this.#keys = grown;
    }
    for (let i = from; i < to; i++) this.#keys[start + i - from] = text.charCodeAt(i);
    this.#keyStarts[entry + 1] = end;
  }

  #addIds(entry: number, ids: Int32Array): void {
    const start = this.idStarts[entry]!;
    const end = start + ids.length;
    if (end > this.ids.length) {
      const grown = new Int32Array(Math.max(end, this.ids.length * 2));
      grown.set(this.ids);
      this.ids = grown;
    }
    this.ids.set(ids, start);
    this.idStarts[entry + 1] = end;
  }

  #clear(): void {
    this.#slots.fill(0);
    this.#count = 0;
  }
}

function slotOf(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x9e3779b1);
  return (mixed ^ (mixed >>> 13)) & (SLOTS - 1);
}
