/** The causal language model: learned positions, pre-norm blocks run in the order of a plan, a head tied to the embedding. */
import { reject } from "../base/errors.ts";
import { type HaltingOptions, type HaltingPolicy, halting } from "../depth/halting.ts";
import type { Deepened } from "../depth/policy.ts";
import {
  add,
  addDims,
  crossEntropy,
  type Dim,
  flattenRows,
  input,
  mean,
  type NoiseInput,
  reshape,
  slice,
  type Tensor,
  within,
} from "../graph/index.ts";
import type { Cache, KeyValues } from "../nn/attention.ts";
import {
  type Activation,
  type Block,
  causalMask,
  Embedding,
  inference,
  LayerNorm,
  type Mode,
  normal,
  type Parameter,
  Training,
  TransformerBlock,
} from "../nn/index.ts";

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

/** A loss to minimise, what it depends on, and the random inputs it asks for. */
export interface Objective {
  readonly loss: Tensor;
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly noise: readonly NoiseInput[];
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

export class LanguageModel {
  readonly options: Required<LanguageModelOptions>;
  readonly #embedding: Embedding;
  readonly #positions: Embedding;
  readonly #blocks: readonly Block[];
  readonly #halting: HaltingPolicy | undefined;
  readonly #norm: LayerNorm;

  constructor(options: LanguageModelOptions) {
    this.options = { hidden: 4 * options.width, dropout: 0, activation: "gelu", halting: undefined, ...options };
    const { vocabulary, width, length, plan } = this.options;
    const unique = checkPlan(plan);
    this.#embedding = new Embedding("embedding", { count: vocabulary, width });
    this.#positions = new Embedding("positions", { count: length, width });
    this.#blocks = Array.from({ length: unique }, (_, i) => {
      return new TransformerBlock(`blocks.${i}`, { ...this.options, weight: normal(DEVIATION) });
    });
    this.#halting = this.options.halting && halting(this.#blocks, plan, { ...this.options.halting, width });
    this.#norm = new LayerNorm("norm", { width });
  }

  get parameters(): Parameter[] {
    const depth = this.#halting ? [this.#halting] : this.#blocks;
    const layers = [this.#embedding, this.#positions, ...depth, this.#norm];
    return layers.flatMap((layer) => [...layer.parameters]);
  }

  /** ids [B, T] → hidden rows [B·T, C], after the last norm; `caches`, where given, stand one a depth. */
  hidden(ids: Tensor, mode: Mode = inference, caches?: readonly Cache[]): Tensor {
    return this.#norm.apply(this.deepened(ids, mode, caches).hidden);
  }

  /** ids [B, T] → what the depths make of them, before the last norm. */
  deepened(ids: Tensor, mode: Mode = inference, caches?: readonly Cache[]): Deepened {
    const [batch, length] = ids.shape as [Dim, Dim];
    const { dropout, plan } = this.options;
    const past = caches?.[0]?.past?.keys.shape[1] ?? 0;
    const positions = slice(this.#positions.weight.tensor, 0, past, addDims(past, length));
    const embedded = within("embedding", () => add(this.#embedding.apply(ids), positions));
    // A single last token may look at everything.
    const mask = caches && length === 1 ? undefined : causalMask(length, past);
    const start = mode.dropout(flattenRows(embedded), dropout);
    const common = { rows: { batch, length }, mode, mask };
    if (this.#halting) return this.#halting.apply(start, { ...common, caches });
    const hidden = plan.reduce((x, i, depth) => {
      const context = { ...common, cache: caches?.[depth] };
      return within(`depth ${depth}`, () => this.#blocks[i]!.apply(x, context));
    }, start);
    return { hidden, probes: {} };
  }

  /** ids [B, T] → [B, T, V] */
  logits(ids: Tensor, mode: Mode = inference): Tensor {
    return reshape(this.#embedding.logits(this.hidden(ids, mode)), [...ids.shape, this.options.vocabulary]);
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
    const rows = this.#embedding.logits(this.hidden(ids, inference, caches));
    return { logits: reshape(rows, [...ids.shape, this.options.vocabulary]), added };
  }

  /** Mean cross-entropy of `targets` after `ids`, both [batch, length]; with dropout and the penalty on depth when it is for training. */
  objective({ batch, length, training }: { batch: number; length: number; training: boolean }): Objective {
    const ids = input("ids", [batch, length], "int");
    const targets = input("targets", [batch, length], "int");
    const mode = training ? new Training() : inference;
    const { hidden, penalty } = this.deepened(ids, mode);
    const logits = this.#embedding.logits(this.#norm.apply(hidden));
    const entropy = mean(crossEntropy(logits, reshape(targets, [batch * length])));
    const loss = training && penalty ? add(entropy, penalty) : entropy;
    return { loss, inputs: { ids, targets }, noise: mode instanceof Training ? mode.noise : [] };
  }
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
export function boundWeights(model: LanguageModel, weights: Weights): Map<Tensor<"parameter">, Float32Array> {
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
