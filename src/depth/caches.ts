/** What the blocks of a policy are told one by one: which caches are theirs, and how often they ran before. */
import type { Block, Context } from "../nn/index.ts";

/** Caches of blocks that run in this order, all together; undefined where one of the blocks cannot go on from caches. */
export function cachesOf(order: readonly Pick<Block, "caches">[]): number | undefined {
  return order.reduce<number | undefined>((total, { caches }) => {
    return total === undefined || caches === undefined ? undefined : total + caches;
  }, 0);
}

/**
 * What each of the blocks that run in this order is told: the context with the caches that are its own, and how often it ran before. A
 * block of a stack that is itself visited again goes on counting, as if `whole` had run each time: a shallower use keeps its counts.
 */
export function contextsOf<C extends Context>(
  context: C,
  order: readonly Pick<Block, "caches">[],
  whole: readonly object[] = order,
): C[] {
  const { caches, visit: outer = 0 } = context;
  const runs = new Map<object, number>();
  let taken = 0;
  return order.map((block) => {
    const before = runs.get(block) ?? 0;
    runs.set(block, before + 1);
    const visit = outer === 0 ? before : outer * whole.filter((each) => each === block).length + before;
    if (!caches) return { ...context, visit };
    const own = caches.slice(taken, taken + (block.caches ?? 0));
    taken += own.length;
    return { ...context, visit, cache: own[0], caches: own };
  });
}
