/** Fixed depth: the blocks run in the order of a plan, every token through all of them. */
import { rejectOption } from "../base/errors.ts";
import { within } from "../graph/index.ts";
import type { Block } from "../nn/index.ts";
import { cachesOf, contextsOf } from "./caches.ts";
import type { Plan } from "./plan.ts";
import type { DepthPolicy } from "./policy.ts";

/** A plan names every block, by its index, at least once. */
export function checkPlan(plan: Plan, blocks: number): void {
  const fits = plan.every((i) => Number.isInteger(i) && i >= 0 && i < blocks);
  if (fits && new Set(plan).size === blocks) return;
  rejectOption({
    who: "plan",
    needed: `each of the blocks 0 … ${blocks - 1} at least once`,
    got: `[${plan}]`,
    remedy: "number the blocks from 0 without gaps",
  });
}

/** The first depths of a plan, every token through all of them. */
export function beginning(blocks: readonly Block[], plan: Plan, depth: number): DepthPolicy | undefined {
  if (depth < 1) return undefined;
  const first = plan.slice(0, depth);
  const used = [...new Set(first)];
  const order = first.map((i) => used.indexOf(i));
  const whole = plan.map((i) => blocks[i]!);
  return beginningOf(
    used.map((i) => blocks[i]!),
    order,
    whole,
  );
}

/** Every token runs through all depths of the plan: `fixed([a, b], [0, 1, 0, 1])` shares two blocks among four depths. */
export function fixed(blocks: readonly Block[], plan: Plan): DepthPolicy {
  return beginningOf(blocks, plan);
}

/** `whole`: the blocks of the plan of which this is the beginning. */
function beginningOf(blocks: readonly Block[], plan: Plan, whole?: readonly Block[]): DepthPolicy {
  checkPlan(plan, blocks.length);
  const order = plan.map((i) => blocks[i]!);
  return {
    parameters: blocks.flatMap((block) => [...block.parameters]),
    depth: plan.length,
    unique: blocks.length,
    order,
    caches: cachesOf(order),
    shallower: (depth) => beginning(blocks, plan, depth),
    apply: (x, context) => {
      const contexts = contextsOf(context, order, whole);
      const hidden = order.reduce((state, block, depth) => {
        return within(`depth ${depth}`, () => block.apply(state, contexts[depth]!));
      }, x);
      return { hidden, probes: {} };
    },
  };
}
