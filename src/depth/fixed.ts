/** Fixed depth: the blocks run in the order of a plan, every token through all of them. */
import { reject } from "../base/errors.ts";
import { within } from "../graph/index.ts";
import type { Cache } from "../nn/attention.ts";
import type { Block, Context } from "../nn/index.ts";
import type { Plan } from "./plan.ts";
import type { DepthPolicy } from "./policy.ts";

/** A plan names every block, by its index, at least once. */
export function checkPlan(plan: Plan, blocks: number): void {
  const fits = plan.every((i) => Number.isInteger(i) && i >= 0 && i < blocks);
  if (fits && new Set(plan).size === blocks) return;
  reject({
    who: "plan",
    needed: `each of the blocks 0 … ${blocks - 1} at least once`,
    got: `[${plan}]`,
    remedy: "number the blocks from 0 without gaps",
  });
}

/** A context that may remember keys and values depth by depth, where text is continued. */
export interface DeepContext extends Context {
  readonly caches?: readonly Cache[] | undefined;
}

/** What the block of a depth is told. */
export function atDepth<C extends DeepContext>(context: C, depth: number): C {
  return context.caches ? { ...context, cache: context.caches[depth] } : context;
}

export function fixed(blocks: readonly Block[], plan: Plan): DepthPolicy {
  checkPlan(plan, blocks.length);
  return {
    parameters: blocks.flatMap((block) => [...block.parameters]),
    depth: plan.length,
    apply: (x, context: DeepContext) => {
      const hidden = plan.reduce((state, i, depth) => {
        return within(`depth ${depth}`, () => blocks[i]!.apply(state, atDepth(context, depth)));
      }, x);
      return { hidden, probes: {} };
    },
  };
}
