/**
 * Halting that saves time: at each depth only the tokens that still run are computed. Keys and values of a token are computed again when
 * its state has changed, so once more after it halts, and never again.
 */
import {
  concat,
  type Dim,
  full,
  not,
  replaceRows,
  reshape,
  scatterAdd,
  select,
  type Tensor,
  within,
} from "../graph/index.ts";
import type { KeyValues } from "../nn/attention.ts";
import { allRows, narrow, type RowwiseBlock, type SomeRows } from "../nn/index.ts";
import type { Counters, HaltingContext, HaltingPolicy } from "./halting.ts";
import type { Deepened } from "./policy.ts";

/** What a block knows of all tokens, and whose states have changed since. */
interface Memory {
  readonly pair: KeyValues;
  readonly changed: SomeRows;
}

/** The tokens that run, R of them, and what is known of each: what has halted is carried no further. */
interface Running {
  readonly rows: SomeRows;
  /** [R, C] */
  readonly state: Tensor;
  readonly total: Tensor;
  /** [R, 1] */
  readonly halting: Tensor;
  /** int [R, 1] */
  readonly caps: Tensor | undefined;
}

/** What a depth leaves behind of the tokens that ran there. */
interface Ran {
  readonly ids: Tensor;
  readonly halting: Tensor;
  readonly halts: Tensor;
  readonly weight: Tensor;
}

/** What `policy.apply` gives, for inference; its blocks must be `blocks`. Tokens that go on changing after they halt save nothing. */
export function applySkipping(
  policy: HaltingPolicy,
  blocks: readonly RowwiseBlock[],
  x: Tensor,
  context: HaltingContext,
): Deepened {
  const { accumulate, halted, keys } = policy.options;
  if (keys !== "own" || (accumulate === "weightedSum" && halted === "running")) return policy.apply(x, context);
  const memories = new Map<number, Memory>();
  const ran: Ran[] = [];
  let sums = { state: x, total: full(0, x.shape) };
  let now = begin(policy, x, context);
  policy.plan.forEach((block, depth) => {
    within(`depth ${depth}`, () => {
      const { rows } = now;
      const pair = refreshed(policy, blocks[block]!, memories.get(block), sums.state, depth, context);
      memories.set(block, { pair, changed: rows });
      const y = blocks[block]!.applyRows(policy.entering(now.state, depth), pair, rows, context);
      const zero = full(0, now.halting.shape);
      const counters = { halting: now.halting, remainders: zero, updates: zero };
      const turn = policy.turn(policy.probability(y), counters, depth, now.caps);
      const moved = policy.accumulate(y, now, { weight: turn.weight });
      sums = { state: rows.put(sums.state, moved.state), total: rows.put(sums.total, moved.total) };
      ran.push({ ...turn, ids: rows.ids });
      now = narrowed({ ...now, ...moved, halting: turn.total }, not(turn.halts), context, `${depth + 1}`);
    });
  });
  const rows = Object.fromEntries(ran.map(({ ids }, depth) => [`step${depth + 1}.rows`, ids]));
  return policy.finish(sums, countersOf(ran, x.shape[0]!), context, rows);
}

function begin(policy: HaltingPolicy, x: Tensor, context: HaltingContext): Running {
  const { real } = context;
  const shape = [x.shape[0]!, 1];
  const caps = context.caps && reshape(context.caps, shape);
  const all = { rows: allRows(context.rows), state: x, total: full(0, x.shape), halting: full(0, shape), caps };
  return real && policy.options.pads === "skip" ? narrowed(all, real, context, "0") : all;
}

function narrowed(
  { rows, state, total, halting, caps }: Running,
  goesOn: Tensor,
  context: HaltingContext,
  name: string,
) {
  const { keep, rows: fewer } = narrow(rows, reshape(goesOn, [state.shape[0]!]), context.rows, name);
  return { rows: fewer, state: keep(state), total: keep(total), halting: keep(halting), caps: caps && keep(caps) };
}

/** Everybody's counters, [N, 1] each: all have halted but those who still run after the last depth. */
function countersOf(ran: readonly Ran[], count: Dim): Counters {
  const all = (column: keyof Ran) => {
    const each = ran.map((depth) => depth[column]);
    return concat(each, 0);
  };
  const [ids, weights, last] = [all("ids"), all("weight"), ran.at(-1)!];
  return {
    halting: replaceRows(full(1, [count, 1]), last.ids, last.halting),
    remainders: scatterAdd(ids, select(all("halts"), weights, 0), count), // the weight at the halting step is what was left
    updates: scatterAdd(ids, full(1, weights.shape), count),
  };
}

/** Keys and values of all tokens: made where nothing is remembered or the step's vector moves everybody, else only of changed states. */
function refreshed(
  policy: HaltingPolicy,
  block: RowwiseBlock,
  memory: Memory | undefined,
  state: Tensor,
  depth: number,
  context: HaltingContext,
): KeyValues {
  const all = allRows(context.rows);
  if (!memory || policy.options.stepEmbedding) return block.keyValues!(policy.entering(state, depth), all, context);
  const { pair, changed } = memory;
  const fresh = block.keyValues!(changed.take(state), changed, context);
  return { keys: changed.put(pair.keys, fresh.keys), values: changed.put(pair.values, fresh.values) };
}
