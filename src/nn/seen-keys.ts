/** Long texts are attended to block by block: keys that a mask hides from all queries of a block are not looked at, and no matrix of all scores is made. */
import { concat, slice, type Tensor } from "../graph/index.ts";
import { HIDDEN } from "./masks.ts";

/** Queries from which on blocks pay, and those of a block; measured with `bench/scaling.ts`. */
const [SHORTEST, BLOCK] = [256, 128];

/** Queries in succession, and the keys that at least one of them sees. */
interface Seen {
  readonly queries: readonly [from: number, to: number];
  readonly keys: readonly [from: number, to: number];
}

/** Blocks of queries of a mask [T, S] that is known, where a block sees fewer keys than there are; undefined where that saves nothing. */
export function seenBlocks(mask: Tensor | undefined): readonly Seen[] | undefined {
  if (mask?.op !== "constant" || mask.shape.length !== 2) return undefined;
  const known = blocks.get(mask) ?? blocksOf(mask as Tensor<"constant">);
  blocks.set(mask, known);
  return known.length > 1 ? known : undefined;
}

/** Layers of a model share their mask. */
const blocks = new WeakMap<Tensor, readonly Seen[]>();

const isSeen = (addend: number) => addend > HIDDEN / 2;

function blocksOf({ attributes: { data }, shape }: Tensor<"constant">): readonly Seen[] {
  const [length, count] = shape as [number, number];
  if (length < SHORTEST) return [];
  const all = Array.from(data);
  const rows = Array.from({ length }, (_, query) => {
    const row = all.slice(query * count, (query + 1) * count);
    return [row.findIndex(isSeen), row.findLastIndex(isSeen)] as const;
  });
  // Weights of a query that sees nothing are even over all keys.
  if (rows.some(([first]) => first < 0)) return [];
  const found = Array.from({ length: Math.ceil(length / BLOCK) }, (_, i) => {
    const queries = [i * BLOCK, Math.min(length, (i + 1) * BLOCK)] as const;
    const own = rows.slice(...queries);
    const keys = [Math.min(...own.map(([first]) => first)), 1 + Math.max(...own.map(([, last]) => last))] as const;
    return { queries, keys };
  });
  return found.some(({ keys: [from, to] }) => to - from < count) ? found : [];
}

/** What is added to the scores of a block; undefined where nothing is. */
export const partOf = (x: Tensor | undefined, { queries, keys }: Seen): Tensor | undefined =>
  x && part(part(x, -2, queries), -1, keys);

function part(x: Tensor, axis: number, [from, to]: readonly [number, number]): Tensor {
  const size = x.shape.at(axis)!;
  return size === 1 || (from === 0 && to === size) ? x : slice(x, axis, from, to);
}

/** What `attend` gives for each block, as one: queries […, T, D], keys and values […, S, D]. */
export function byBlocks(
  found: readonly Seen[],
  queries: Tensor,
  attended: (rows: Tensor, of: (all: Tensor) => Tensor, seen: Seen) => Tensor,
): Tensor {
  const mixed = found.map((seen) => {
    return attended(slice(queries, -2, ...seen.queries), (all) => slice(all, -2, ...seen.keys), seen);
  });
  return concat(mixed, -2);
}
