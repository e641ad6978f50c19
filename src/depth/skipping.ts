/**
 * Halting that saves time: at each depth only the tokens that still run are computed. Keys and values of a token are made anew when
 * its state has changed, so once more after it halts, and never again.
 */
import { full, less, reshape, type Tensor, within } from "../graph/index.ts";
import type { KeyValues } from "../nn/attention.ts";
import { type RowwiseBlock, type SomeRows, someRows } from "../nn/index.ts";
import type { HaltingContext, HaltingPolicy } from "./halting.ts";
import type { Deepened } from "./policy.ts";

/** What a block knows of all tokens, and whose states have changed since. */
interface Memory {
  readonly pair: KeyValues;
  readonly changed: SomeRows;
}

/** What `policy.apply` gives, for inference; its blocks must be `blocks`. Tokens that go on changing after they halt save nothing. */
export function applySkipping(
  policy: HaltingPolicy,
  blocks: readonly RowwiseBlock[],
  x: Tensor,
  context: HaltingContext,
): Deepened {
  const { accumulate, halted } = policy.options;
  if (accumulate === "weightedSum" && halted === "running") return policy.apply(x, context);
  const [count] = x.shape;
  const memories = new Map<number, Memory>();
  const probes: Record<string, Tensor> = {};
  let counters = policy.start(x, context);
  let sums = { state: x, total: full(0, x.shape) };
  policy.plan.forEach((block, depth) => {
    within(`depth ${depth}`, () => {
      const rows = someRows(reshape(less(counters.halting, 1), [count!]), context.rows, `${depth}`);
      const here = { state: rows.take(sums.state), total: rows.take(sums.total) };
      const pair = refreshed(policy, blocks[block]!, memories.get(block), sums.state, depth);
      memories.set(block, { pair, changed: rows });
      const y = blocks[block]!.applyRows(policy.entering(here.state, depth), pair, rows, context);
      const probability = rows.put(full(0, [count!, 1]), policy.probability(y));
      const turn = policy.turn(probability, counters, depth, context);
      const moved = policy.accumulate(y, here, { weight: rows.take(turn.weight), running: rows.take(turn.running) });
      sums = { state: rows.put(sums.state, moved.state), total: rows.put(sums.total, moved.total) };
      counters = turn;
      probes[`step${depth + 1}.rows`] = rows.ids;
    });
  });
  return policy.finish(sums, counters, context, probes);
}

/** Keys and values of all tokens: made where nothing is remembered or the step's vector moves everybody, else only of changed states. */
function refreshed(
  policy: HaltingPolicy,
  block: RowwiseBlock,
  memory: Memory | undefined,
  state: Tensor,
  depth: number,
): KeyValues {
  if (!memory || policy.options.stepEmbedding) return block.keyValues(policy.entering(state, depth));
  const { pair, changed } = memory;
  const fresh = block.keyValues(changed.take(state));
  return { keys: changed.put(pair.keys, fresh.keys), values: changed.put(pair.values, fresh.values) };
}
