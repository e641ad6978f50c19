/** Suffixes of a symbol array in the order of their first symbols: prefix doubling with counting sorts. */

/**
 * The starts of all suffixes, ordered by their first `depth` symbols (or a few more). Ordering further is not needed where
 * only substrings up to `depth` count, which makes the work linear: log2(depth) passes.
 */
export function suffixArray(symbols: Int32Array, depth: number): Int32Array {
  const size = symbols.length;
  let ranks = symbols.slice();
  let order = sortByRank(identity(size), ranks);
  ranks = refined(order, ranks, size);
  for (let length = 1; length < depth; length *= 2) {
    const previous = ranks;
    order = sortByRank(shifted(order, length), previous);
    ranks = refined(order, previous, length);
  }
  return order;
}

function identity(size: number): Int32Array {
  const order = new Int32Array(size);
  for (let i = 0; i < size; i++) order[i] = i;
  return order;
}

/** The suffixes in the order of what follows their first `length` symbols; those with nothing there come first. */
function shifted(order: Int32Array, length: number): Int32Array {
  const size = order.length;
  const result = new Int32Array(size);
  let at = 0;
  for (let i = Math.max(0, size - length); i < size; i++) result[at++] = i;
  for (const start of order) if (start >= length) result[at++] = start - length;
  return result;
}

/** Stable counting sort. */
function sortByRank(order: Int32Array, ranks: Int32Array): Int32Array<ArrayBuffer> {
  let greatest = 0;
  for (const rank of ranks) if (rank > greatest) greatest = rank;
  const places = new Int32Array(greatest + 2);
  for (const rank of ranks) places[rank + 1]!++;
  for (let rank = 0; rank <= greatest; rank++) places[rank + 1]! += places[rank]!;
  const sorted = new Int32Array(order.length);
  for (const start of order) sorted[places[ranks[start]!]!++] = start;
  return sorted;
}

/** New ranks: equal where both the old rank and the old rank `length` further on are equal. */
function refined(order: Int32Array, ranks: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const result = new Int32Array(ranks.length);
  const after = (start: number): number => ranks[start + length] ?? -1;
  let rank = 0;
  for (let i = 1; i < order.length; i++) {
    const a = order[i - 1]!;
    const b = order[i]!;
    if (ranks[a] !== ranks[b] || after(a) !== after(b)) rank++;
    result[b] = rank;
  }
  return result;
}
