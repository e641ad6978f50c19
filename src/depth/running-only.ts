/** Tokens that run see each other only: what hides the others at a depth, and the cache that remembers how deep tokens of the past ran. */
import { add, cast, concat, type Dim, full, less, not, reshape, sum, type Tensor } from "../graph/index.ts";
import type { Cache, KeyValues, PastKeys } from "../nn/attention.ts";
import { type Context, hiddenWhere } from "../nn/index.ts";

/** The context of a depth, bool [N, 1] of the tokens that run there: undefined where all do, now and in the past. */
export type Shown = (context: Context, depth: number, running: Tensor | undefined) => Context;

/** For depths that are asked for one after the other, each once. The last of the policy's caches is for what is remembered. */
export function runningOnly({ rows: { batch, length }, caches }: Context, depths: number): Shown {
  const memory = caches?.at(-1);
  const ran: Tensor[] = [];
  return (context, depth, running) => {
    const past = memory?.past;
    if (running) ran.push(cast(running, "float"));
    if (depth === depths - 1) memory?.store(known(depthsRun(ran, depths, [batch, length, 1])));
    if (!running) return context;
    const own = hiddenWhere(reshape(not(running), [batch, 1, 1, length]));
    const columns = past ? concat([stoppedBefore(past.keys, depth), own], 3) : own;
    const mask = context.mask ? add(context.mask, columns) : columns;
    const held = past?.held && concat([stoppedBefore(past.held.keys, depth), full(0, [batch, 1, 1, 1])], 3);
    const hidden = held ? context.caches?.map((cache) => hidingIn(cache, held)) : context.caches;
    return { ...context, mask, ...(hidden && { caches: hidden, cache: hidden[0] }) };
  };
}

/** Depths that each token ran, [B, T, 1]: those at which all run, and those that tell. */
function depthsRun(ran: readonly Tensor[], depths: number, shape: readonly Dim[]): Tensor {
  const all = full(depths - ran.length, shape);
  return ran.length > 0 ? add(all, reshape(sum(concat(ran, 1), { axes: [1] }), shape)) : all;
}

/** One number of each token, as keys; nobody reads the values. */
const known = (keys: Tensor): KeyValues => ({ keys, values: keys });

/** Hides tokens that did not come to a depth, of which it is known how many depths they ran: [B, …, 1] of S tokens → [B, 1, 1, S]. */
function stoppedBefore(depths: Tensor, depth: number): Tensor {
  const [batch, length] = [depths.shape[0]!, depths.shape.at(-2)!];
  return reshape(hiddenWhere(less(depths, depth + 1)), [batch, 1, 1, length]);
}

/** A cache whose keys are hidden from single tokens where they lie; several tokens look at them by the mask of their context. */
function hidingIn(cache: Cache, mask: Tensor): Cache {
  const { past } = cache;
  if (!past?.held) return cache;
  const { attend } = past.held;
  const hiding: PastKeys = {
    ...past,
    held: {
      ...past.held,
      attend: (q, own, options) => (own.keys.shape[1] === 1 ? attend(q, own, { ...options, mask }) : undefined),
    },
  };
  return { ...cache, past: hiding };
}
