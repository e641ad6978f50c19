/** Byte-pair merges: of all neighbours the pair that was learnt first is merged, the leftmost of equals, until none is left. */

/** Pairs of ids by their rank, and what they become. */
export interface Merges {
  /** Larger than every id. */
  readonly size: number;
  /** left · size + right → rank. */
  readonly ranks: ReadonlyMap<number, number>;
  /** The id that the pair of a rank becomes. */
  readonly merged: Int32Array;
}

/** Ranks and places share a number of 53 bits. */
const PLACES = 2 ** 31;

/** Merges ids in n log n steps: candidates wait in a heap, those that came to nothing are skipped when they come up. */
export function mergeAll(ids: Int32Array, { size, ranks, merged }: Merges): Int32Array {
  const count = ids.length;
  const [before, after] = [new Int32Array(count), new Int32Array(count)];
  for (let i = 0; i < count; i++) [before[i], after[i]] = [i - 1, i + 1];
  const heap = new Heap();
  const rankAt = (place: number) => {
    const right = after[place]!;
    return right < count ? ranks.get(ids[place]! * size + ids[right]!) : undefined;
  };
  const offer = (place: number) => {
    const rank = place < 0 ? undefined : rankAt(place);
    if (rank !== undefined) heap.push(rank * PLACES + place);
  };
  for (let place = 0; place < count - 1; place++) offer(place);
  for (let found = heap.pop(); found !== undefined; found = heap.pop()) {
    const [rank, place] = [Math.floor(found / PLACES), found % PLACES];
    if (ids[place]! < 0 || rankAt(place) !== rank) continue;
    const right = after[place]!;
    ids[place] = merged[rank]!;
    ids[right] = -1;
    after[place] = after[right]!;
    if (after[place]! < count) before[after[place]!] = place;
    offer(before[place]!);
    offer(place);
  }
  return ids.filter((id) => id >= 0);
}

/** Numbers, the least first. */
class Heap {
  readonly #items: number[] = [];

  push(item: number): void {
    const items = this.#items;
    let at = items.length;
    for (let up = (at - 1) >> 1; at > 0 && items[up]! > item; up = (at - 1) >> 1) {
      items[at] = items[up]!;
      at = up;
    }
    items[at] = item;
  }

  pop(): number | undefined {
    const items = this.#items;
    const [least, last] = [items[0], items.pop()];
    if (items.length > 0) this.#sink(last!);
    return least;
  }

  #sink(item: number): void {
    const items = this.#items;
    let at = 0;
    for (let down = 1; down < items.length; down = 2 * at + 1) {
      if (down + 1 < items.length && items[down + 1]! < items[down]!) down++;
      if (items[down]! >= item) break;
      items[at] = items[down]!;
      at = down;
    }
    items[at] = item;
  }
}
