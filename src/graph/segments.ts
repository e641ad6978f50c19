/** Where a graph is best cut so that what lies between two cuts can be computed again from what crosses the first. */
import { evaluateShape, namesIn, type Sizes } from "./dims.ts";
import type { Op, Tensor } from "./vocabulary.ts";

/** Given from outside, or written in the program: nothing has to be kept of them. */
const leaves: ReadonlySet<Op> = new Set<Op>(["input", "parameter", "constant", "iota"]);
const views: ReadonlySet<Op> = new Set<Op>(["reshape", "stopGradient", "after"]);

/** Whether a node takes nothing. */
export const isLeaf = ({ op }: Tensor): boolean => leaves.has(op);

/** For dimensions of which nobody knows how large they become. */
const SOME = 64;

function sizeOf({ shape }: Tensor, sizes: Sizes): number {
  const unknown = shape.flatMap(namesIn).filter((name) => !sizes.has(name));
  const known = unknown.length === 0 ? sizes : new Map([...sizes, ...unknown.map((name) => [name, SOME] as const)]);
  return evaluateShape(shape, known).reduce((a, b) => a * b, 1);
}

/** What crosses each place of an order, in elements: made before it, and wanted from it on. */
function crossing(order: readonly Tensor[], sizes: Sizes): number[] {
  const last = new Map<Tensor, number>();
  order.forEach((node, i) => {
    for (const input of node.inputs) last.set(input, i);
  });
  const changes = new Array<number>(order.length + 1).fill(0);
  order.forEach((node, i) => {
    const end = last.get(node) ?? i;
    const size = isLeaf(node) ? 0 : sizeOf(node, sizes);
    changes[i + 1]! += size;
    changes[end + 1]! -= size;
  });
  let now = 0;
  return changes.map((change) => {
    now += change;
    return now;
  });
}

/** The places where less crosses than on either side, with the two ends. */
function narrowPlaces(across: readonly number[]): number[] {
  const end = across.length - 1;
  return across.flatMap((size, i) => {
    const isNarrow = size > 0 && size < (across[i + 1] ?? 0) && size <= (across[i - 1] ?? 0);
    return isNarrow || i === 0 || i === end ? [i] : [];
  });
}

/** The cuts that keep least, of those with no more than `most` between two of them. */
function leastKept(places: readonly number[], across: readonly number[], inside: readonly number[], most: number) {
  const kept = places.map(() => Number.POSITIVE_INFINITY);
  const from = places.map((_, b) => b - 1);
  kept[0] = 0;
  for (let b = 1; b < places.length; b++) {
    for (let a = b - 1; a >= 0 && (a === b - 1 || inside[places[b]!]! - inside[places[a]!]! <= most); a--) {
      const sum = kept[a]! + across[places[b]!]!;
      if (sum < kept[b]!) [kept[b], from[b]] = [sum, a];
    }
  }
  const cuts: number[] = [];
  for (let b = from.at(-1)!; b > 0; b = from[b]!) cuts.unshift(places[b]!);
  return cuts;
}

/** How much more memory a cut less at the end may take: what follows the last cut is not computed again. */
const LITTLE = 1.02;

/**
 * The order cut into segments, so that what crosses all cuts and the largest segment together are least: about the most memory that
 * is needed where each segment is computed again from what enters it. Blocks of a network come out, since little crosses between them.
 */
export function segmentsOf(order: readonly Tensor[], sizes: Sizes): Tensor[][] {
  const across = crossing(order, sizes);
  const places = narrowPlaces(across);
  const inside = [0];
  for (const node of order) {
    inside.push(inside.at(-1)! + (isLeaf(node) || views.has(node.op) ? 0 : sizeOf(node, sizes)));
  }
  const memoryWith = (cuts: readonly number[]) => {
    const ends = [0, ...cuts, order.length];
    const largest = Math.max(...ends.slice(1).map((end, i) => inside[end]! - inside[ends[i]!]!));
    return cuts.reduce((sum, cut) => sum + across[cut]!, largest);
  };
  let best: readonly number[] = [];
  for (let most = inside.at(-1)! / 2; most >= 1; most /= 1.5) {
    const cuts = leastKept(places, across, inside, most);
    if (memoryWith(cuts) < memoryWith(best)) best = cuts;
    if (cuts.length === places.length - 2) break;
  }
  const limit = LITTLE * memoryWith(best);
  while (best.length > 0 && memoryWith(best.slice(0, -1)) <= limit) best = best.slice(0, -1);
  const ends = [0, ...best, order.length];
  return ends.slice(1).map((end, i) => order.slice(ends[i], end));
}
