/** Caches of keys and values among the blocks of a policy: how many there are, and which block has which. */
import type { Block, Context } from "../nn/index.ts";

type Cached = Pick<Block, "caches">;

/** Caches of blocks that run in this order, all together; undefined where one of the blocks cannot go on from caches. */
export function cachesOf(order: readonly Cached[]): number | undefined {
  return order.reduce<number | undefined>((total, { caches }) => {
    return total === undefined || caches === undefined ? undefined : total + caches;
  }, 0);
}

/** What each of the blocks that run in this order is told: the context with the caches that are its own. */
export function contextsOf<C extends Context>(context: C, order: readonly Cached[]): C[] {
  const { caches } = context;
  if (!caches) return order.map(() => context);
  let taken = 0;
  return order.map(({ caches: count = 0 }) => {
    const own = caches.slice(taken, taken + count);
    taken += count;
    return { ...context, cache: own[0], caches: own };
  });
}
