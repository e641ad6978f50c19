/** The language model of transformer blocks: run in the order of a plan, through all depths or until each token halts. */
import { reject } from "../../base/errors.ts";
import { fixed } from "../../depth/fixed.ts";
import { type HaltingOptions, halting } from "../../depth/halting.ts";
import type { DepthPolicy } from "../../depth/policy.ts";
import { reshape, type Tensor } from "../../graph/index.ts";
import type { KeyValues } from "../../nn/attention.ts";
import { type Activation, inference, normal, TransformerBlock } from "../../nn/index.ts";
import { CausalModel } from "./causal.ts";

export type { Objective } from "./causal.ts";

export interface LanguageModelOptions {
  /** Number of pieces. */
  vocabulary: number;
  width: number;
  heads: number;
  /** Which block runs at each depth; a block named twice shares its weights. */
  plan: readonly number[];
  /** Width of the feed-forward layer. Default: four times the width. */
  hidden?: number;
  /** Longest text the learned positions reach. */
  length: number;
  dropout?: number;
  activation?: Activation;
  /** Where given, every token halts by itself, after as many depths of the plan as it needs. */
  halting?: Omit<HaltingOptions, "width"> | undefined;
}

/** What continuing a text computes. */
export interface Extension {
  readonly logits: Tensor;
  /** Keys and values of the new tokens, one pair a depth. */
  readonly added: readonly KeyValues[];
}

/** Values of a model's parameters. */
export type Weights = ReadonlyMap<Tensor<"parameter">, Float32Array>;

const DEVIATION = 0.02;

export class LanguageModel extends CausalModel {
  readonly options: Required<LanguageModelOptions>;

  constructor(given: LanguageModelOptions) {
    const options = { hidden: 4 * given.width, dropout: 0, activation: "gelu", halting: undefined, ...given } as const;
    super(options, policyOf(options));
    this.options = options;
  }

  /**
   * Continues texts: ids [B, T] after P tokens whose keys and values are given, one pair [B, P, C] an executed depth (none at the
   * start of a text). Gives logits [B, T, V] and the pairs [B, T, C] of the new tokens.
   */
  extend(ids: Tensor, past?: readonly KeyValues[]): Extension {
    if (past && past.length !== this.options.plan.length) {
      const needed = `keys and values for ${this.options.plan.length} depths`;
      reject({ who: "language model", needed, got: `${past.length}`, remedy: "give one pair an executed depth" });
    }
    const added: KeyValues[] = [];
    const caches = this.options.plan.map((_, depth) => ({
      past: past?.[depth],
      store: (pair: KeyValues) => added.push(pair),
    }));
    const rows = this.scores(this.hidden(ids, inference, caches));
    return { logits: reshape(rows, [...ids.shape, this.options.vocabulary]), added };
  }
}

function policyOf(options: Required<LanguageModelOptions>): DepthPolicy {
  const { plan, width } = options;
  const blocks = Array.from({ length: checkPlan(plan) }, (_, i) => {
    return new TransformerBlock(`blocks.${i}`, { ...options, weight: normal(DEVIATION) });
  });
  return options.halting ? halting(blocks, plan, { ...options.halting, width }) : fixed(blocks, plan);
}

/** A plan names blocks 0 … M − 1, each at least once; returns M. */
function checkPlan(plan: readonly number[]): number {
  const unique = new Set(plan).size;
  const whole = plan.length > 0 && plan.every((i) => Number.isInteger(i) && i >= 0 && i < unique);
  if (whole) return unique;
  return reject({
    who: "plan",
    needed: "block numbers 0, 1, … with none left out",
    got: `[${plan}]`,
    remedy: "number the blocks from 0 without gaps",
  });
}

/** The weights of all parameters of the model, and of no others; fails where one is missing or of another size. */
export function boundWeights(
  model: Pick<LanguageModel, "parameters">,
  weights: Weights,
): Map<Tensor<"parameter">, Float32Array> {
  return new Map(
    model.parameters.map(({ name, tensor }) => {
      const value = weights.get(tensor);
      const count = tensor.attributes.shape.reduce((a, b) => a * b, 1);
      if (value?.length !== count) {
        reject({ who: `weight ${name}`, needed: `${count} values`, got: value ? `${value.length}` : "none" });
      }
      return [tensor, value];
    }),
  );
}

/** A language model with the given options. */
export function languageModel(options: LanguageModelOptions): LanguageModel {
  return new LanguageModel(options);
}
