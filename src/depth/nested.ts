/** Depth within depth: whole policies take the place of another policy's blocks, so that sharing, search and halting compose. */
import { rejectOption } from "../base/errors.ts";
import { add, multiply, type Tensor } from "../graph/index.ts";
import type { Block, Mode } from "../nn/index.ts";
import { checkPlan } from "./fixed.ts";
import type { Plan } from "./plan.ts";
import type { Course, Deepened, DepthPolicy, TrainingScalar, TrainingScalars } from "./policy.ts";

/** What makes a policy of blocks and a plan: `fixed`, or `(blocks, plan) => halting(blocks, plan, { width })`. */
export type Outer = (blocks: readonly Block[], plan: Plan) => DepthPolicy;

/**
 * Runs whole policies in the order of a plan, by an outer policy: `nested([searched(…)], [0, 0, 0], halting)` passes through one searched
 * stack up to three times, and every token halts after as many passes as it needs. A stack is the same network at each pass: its
 * weights are shared, and what it draws for its architecture is drawn once; only dropout is drawn again at each pass. Probes of stack i are called
 * `stack{i}.…`, as its first pass sees them; the penalty is the outer one plus the mean of the passes'.
 */
export function nested(stacks: readonly DepthPolicy[], plan: Plan, outer: Outer): DepthPolicy {
  checkPlan(plan, stacks.length);
  let passes: Pass[] = [];
  const blocks = stacks.map((stack, index): Block => {
    const drawn = new WeakMap<Mode, Tensor[]>();
    return {
      parameters: stack.parameters,
      caches: stack.caches,
      apply: (x, context) => {
        const mode = drawingOnce(context.mode, drawn);
        const deepened = stack.apply(x, { ...context, mode });
        passes.push({ index, deepened });
        return deepened.hidden;
      },
    };
  });
  const policy = outer(blocks, plan);
  return {
    parameters: policy.parameters,
    depth: plan.reduce((total, i) => total + stacks[i]!.depth, 0),
    unique: stacks.reduce((total, { unique, depth }) => total + (unique ?? depth), 0),
    caches: policy.caches,
    scalars: joinedScalars([policy, ...stacks]),
    shallower: (depth) => (stacks.length === 1 ? shallowerPasses(policy, stacks[0]!, depth) : undefined),
    apply: (x, context) => {
      passes = []; // graphs are built in one go: nobody else comes between
      return joined(policy.apply(x, context), passes);
    },
  };
}

/** Fewer passes through one stack. */
function shallowerPasses(policy: DepthPolicy, stack: DepthPolicy, depth: number): DepthPolicy | undefined {
  const less = policy.shallower?.(Math.floor(depth / stack.depth));
  if (!less) return undefined;
  const { parameters, caches } = less;
  return { parameters, caches, depth: less.depth * stack.depth, apply: (x, context) => less.apply(x, context) };
}

/** Policies that share a scalar share its input, so its course must be one. */
export function joinedScalars(policies: readonly DepthPolicy[]): TrainingScalars {
  const joined: Record<string, TrainingScalar> = {};
  for (const [name, scalar] of policies.flatMap(({ scalars = {} }) => Object.entries(scalars))) {
    joined[name] ??= scalar;
    const [a, b] = [valuesOf(joined[name].at), valuesOf(scalar.at)];
    if (joined[name].input === scalar.input && String(a) === String(b)) continue;
    const remedy = "give all policies the same options for it";
    rejectOption({ who: `nested / ${name}`, needed: "one course for all policies", got: `${a} and ${b}`, remedy });
  }
  return joined;
}

/** A course at its start, middle and end, which tell two of them apart. */
const valuesOf = (at: Course) => [0, 50, 99].map((step) => at(step, 100));

interface Pass {
  readonly index: number;
  readonly deepened: Deepened;
}

function joined(outer: Deepened, passes: readonly Pass[]): Deepened {
  const probes: Record<string, Tensor> = { ...outer.probes };
  for (const { index, deepened } of passes) {
    for (const [name, probe] of Object.entries(deepened.probes)) probes[`stack${index}.${name}`] ??= probe;
  }
  const inner: Tensor[] = passes.flatMap(({ deepened }) => (deepened.penalty ? [deepened.penalty] : []));
  const mean = inner.length > 0 ? [multiply(sumOf(inner), 1 / passes.length)] : [];
  const penalties = [...(outer.penalty ? [outer.penalty] : []), ...mean];
  // Exits of a stack count where nothing comes after it.
  const exits = outer.exits ?? passes.find(({ deepened }) => deepened.hidden === outer.hidden)?.deepened.exits;
  return { hidden: outer.hidden, exits, probes, ...(penalties.length > 0 ? { penalty: sumOf(penalties) } : {}) };
}

const sumOf = (terms: readonly Tensor[]) => terms.reduce((a, b) => add(a, b));

/** A mode that repeats its draws at every pass: an architecture is drawn once per step. */
function drawingOnce(mode: Mode, drawn: WeakMap<Mode, Tensor[]>): Mode {
  const kept = drawn.get(mode) ?? [];
  drawn.set(mode, kept);
  let next = 0;
  return {
    trains: mode.trains,
    dropout: (x, rate) => mode.dropout(x, rate),
    draw: (draw, shape) => {
      const index = next++;
      const found = kept[index] ?? mode.draw(draw, shape);
      if (found) kept[index] = found;
      return found;
    },
  };
}
