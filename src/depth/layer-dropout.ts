/** Layer dropout: deeper blocks are skipped more often in training, and every exit learns to predict, so that a model may stop early. */
import { reject } from "../base/errors.ts";
import { check, checkOptions, dropoutRate, number, type Rules, truth, whole } from "../base/options.ts";
import {
  broadcast,
  constant,
  greater,
  input,
  multiply,
  multiplyDims,
  reshape,
  select,
  type Tensor,
  within,
} from "../graph/index.ts";
import type { Block, Context } from "../nn/index.ts";
import { cachesOf, contextsOf } from "./caches.ts";
import { checkPlan } from "./fixed.ts";
import type { Plan } from "./plan.ts";
import type { Deepened, DepthPolicy, Exit, TrainingScalars } from "./policy.ts";

/** How often blocks are skipped, and what exits weigh. */
export interface LayerDropoutOptions {
  /** Rate at the last depth, of texts that skip it; at depth l of L it is this times 2^(l/(L − 1)) − 1, so 0 at the first. Default: 0.1. */
  dropout?: number | undefined;
  /** Whether the rates grow from 0 to these over training, by 2^(t/T) − 1. Default: false. */
  growing?: boolean | undefined;
  /** Weight of earlier exits in the loss: depth l has this times 0 + 1 + … + l, the last L − 1 more; all divided by their sum. 0: none. Default: 0.2. */
  exitLoss?: number | undefined;
  /** Depths from one exit to the next, counted from the last. Default: 1. */
  every?: number | undefined;
  /** For models that draft for themselves: the only early exit is after so many depths, and weighs `exitLoss` where the last weighs 1. Default: exits as `every` says. */
  exit?: number | undefined;
}

const rules: Rules<LayerDropoutOptions> = {
  dropout: dropoutRate,
  growing: truth,
  exitLoss: number({ from: 0 }),
  every: whole(1),
  exit: whole(1),
};

/** One for all: the rates of a model grow together. */
const scale = input("layerDropout", []);

/** A policy that may stop after any depth. */
export interface LayerDropoutPolicy extends DepthPolicy {
  /** The same weights, stopping after so many depths in use. */
  at(depth: number): LayerDropoutPolicy;
}

/** A plan with layer dropout and early-exit loss (LayerSkip): `layerDropout(blocks, plan, { dropout: 0.2 })`. In use it is `fixed`, or shallower. */
export function layerDropout(
  blocks: readonly Block[],
  plan: Plan,
  options: LayerDropoutOptions = {},
): LayerDropoutPolicy {
  checkPlan(plan, blocks.length);
  checkOptions("layer dropout", options, rules);
  checkExit(options, plan.length);
  return new LayerDropout(blocks, plan, options, plan.length);
}

function checkExit({ exit, every }: LayerDropoutOptions, depth: number): void {
  if (!exit) return;
  check("layer dropout / exit", exit, whole(1, depth - 1));
  if (every) reject({ who: "layer dropout / exit", needed: "no `every`", got: `${every}` }, 2);
}

class LayerDropout implements LayerDropoutPolicy {
  readonly depth: number;
  readonly unique: number;
  readonly caches: number | undefined;
  readonly scalars: TrainingScalars;
  readonly #blocks: readonly Block[];
  readonly #plan: Plan;
  readonly #options: LayerDropoutOptions;

  constructor(blocks: readonly Block[], plan: Plan, options: LayerDropoutOptions, depth: number) {
    this.depth = depth;
    const { growing, dropout = 0.1 } = options;
    const at = (step: number, total: number) => 2 ** (step / Math.max(1, total - 1)) - 1;
    this.scalars = growing && dropout > 0 && plan.length > 1 ? { layerDropout: { input: scale, at } } : {};
    this.#blocks = blocks;
    this.#plan = plan;
    this.#options = options;
    this.unique = new Set(this.order).size;
    this.caches = cachesOf(this.order);
  }

  get parameters() {
    return this.#blocks.flatMap(({ parameters }) => [...parameters]);
  }

  get order(): Block[] {
    return this.#plan.slice(0, this.depth).map((i) => this.#blocks[i]!);
  }

  shallower(depth: number): DepthPolicy | undefined {
    return depth < 1 ? undefined : this.at(Math.min(depth, this.depth));
  }

  at(depth: number): LayerDropoutPolicy {
    check("layer dropout / depth", depth, whole(1, this.#plan.length));
    return new LayerDropout(this.#blocks, this.#plan, this.#options, depth);
  }

  apply(x: Tensor, context: Context): Deepened {
    const { trains } = context.mode;
    const whole = this.#plan.map((i) => this.#blocks[i]!);
    const order = trains ? whole : this.order;
    const contexts = contextsOf(context, order, whole);
    const states: Tensor[] = [];
    const hidden = order.reduce((state, block, depth) => {
      const y = within(`depth ${depth}`, () => block.apply(state, contexts[depth]!));
      states.push(trains ? this.#skipped(y, state, depth, context) : y);
      return states[depth]!;
    }, x);
    const { exitLoss = 0.2 } = this.#options;
    return trains && exitLoss > 0 ? { hidden, exits: this.#exits(states), probes: {} } : { hidden, probes: {} };
  }

  /** The block's output, but for texts that skip it. */
  #skipped(y: Tensor, state: Tensor, depth: number, { mode, rows: { batch, length } }: Context): Tensor {
    const { dropout = 0.1 } = this.#options;
    const rate = dropout * (2 ** (depth / Math.max(1, this.#plan.length - 1)) - 1);
    const drawn = rate > 0 ? mode.draw({ kind: "uniform" }, [batch, 1, 1]) : undefined;
    if (!drawn) return y;
    const runs = greater(drawn, this.scalars.layerDropout ? multiply(scale, rate) : rate);
    return select(reshape(broadcast(runs, [batch, length, 1]), [multiplyDims(batch, length), 1]), y, state);
  }

  #exits(states: readonly Tensor[]): Exit[] {
    const weights = exitWeights(states.length, this.#options);
    return states.flatMap((hidden, i) => {
      return weights[i] === 0 ? [] : [{ hidden, probability: constant([weights[i]!], [1, 1]) }];
    });
  }
}

/** What each depth counts for in the loss; they add up to 1. */
function exitWeights(depth: number, { exitLoss = 0.2, every = 1, exit }: LayerDropoutOptions): number[] {
  const last = depth - 1;
  const raw = Array.from({ length: depth }, (_, l) => {
    if (exit) return l === last ? 1 : l === exit - 1 ? exitLoss : 0;
    if (l === last) return Math.max(1, last) + (exitLoss * (last - 1) * last) / 2;
    return (last - l) % every === 0 ? (exitLoss * l * (l + 1)) / 2 : 0;
  });
  const total = raw.reduce((a, b) => a + b);
  return raw.map((weight) => weight / total);
}
