/** Candidates for a searched block: attention, feed-forward, identity, each with its own norm and residual. */
import { add, type Tensor, within } from "../graph/index.ts";
import { type KeyValues, SelfAttention } from "./attention.ts";
import type { Block, BlockStyle, Context, RowwiseBlock } from "./block.ts";
import { type Activation, FeedForward } from "./feed-forward.ts";
import { type Norm, norms } from "./layers.ts";
import { type Initial, type Parameter, xavierUniform } from "./parameter.ts";
import { RelativeAttention, type SegmentContext } from "./relative.ts";
import type { Rotary } from "./rotary.ts";
import type { SomeRows } from "./running.ts";

/** What a searched block may be: one of ours, or a candidate of your own by its letter. */
export type CandidateKind = "attention" | "feed-forward" | "identity" | (string & {});

/** A block that may be chosen. */
export interface Candidate extends Block {
  readonly kind: CandidateKind;
  /** Its heads or feed-forward width, where they are not the network's own. */
  readonly size?: number | undefined;
  /** What it adds to its input: null where that is nothing, absent where it is no such block. */
  residual?(x: Tensor, context: SegmentContext): Tensor | null;
}

/** Sizes of a candidate, and how it differs from the default. */
export interface CandidateOptions extends BlockStyle {
  width: number;
  heads: number;
  /** Width of the feed-forward layer. */
  hidden: number;
  dropout: number;
  /** Of relative attention's probabilities. Default: 0. */
  attentionDropout?: number | undefined;
  activation: Activation;
  /** What a pattern says of its size. */
  size?: number | undefined;
  /** norm(x + F(x)) with the original's epsilon, where the default is x + F(norm x). */
  compat?: "original" | undefined;
  weight?: Initial;
  /** Turns queries and keys of plain self-attention by their places. */
  rotary?: Rotary | undefined;
}

/** What a candidate does between norm and residual. */
interface Layer {
  readonly parameters: readonly Parameter[];
  readonly caches?: number;
  apply(x: Tensor, context: SegmentContext): Tensor;
  keyValues?(x: Tensor, rows: SomeRows, context: Context): KeyValues;
  applyRows?(x: Tensor, all: KeyValues, rows: SomeRows, context: Context): Tensor;
}

class Sublayer implements Candidate {
  readonly kind: CandidateKind;
  readonly size: number | undefined;
  readonly #name: string;
  readonly #layer: Layer;
  readonly #norm: Norm;
  readonly #options: CandidateOptions;

  constructor(name: string, kind: CandidateKind, layer: Layer, options: CandidateOptions) {
    this.kind = kind;
    this.size = options.size;
    this.#name = name;
    this.#layer = layer;
    this.#options = options;
    const { width, norm = "layer", normEpsilon = options.compat === "original" ? 1e-3 : 1e-5 } = options;
    this.#norm = norms[norm](`${name}.norm`, { width, epsilon: normEpsilon });
    if (options.compat === undefined) {
      this.residual = (x, context) => this.#residual(x, context);
      this.#openRows(layer);
    }
  }

  keyValues?: RowwiseBlock["keyValues"];
  applyRows?: RowwiseBlock["applyRows"];

  #openRows({ keyValues, applyRows, caches }: Layer): void {
    const inside = <T>(make: () => T) => within(this.#name, make);
    if (keyValues) this.keyValues = (x, ...rest) => inside(() => keyValues(this.#norm.apply(x), ...rest));
    if (applyRows)
      this.applyRows = (x, all, ...rest) => inside(() => add(x, applyRows(this.#norm.apply(x), all!, ...rest)));
    if (caches === 0) this.applyRows = (x, _all, _rows, context) => add(x, this.#residual(x, context));
  }

  residual?: (x: Tensor, context: SegmentContext) => Tensor;

  get parameters(): Parameter[] {
    return [...this.#layer.parameters, ...this.#norm.parameters];
  }

  get caches(): number | undefined {
    return this.#layer.caches;
  }

  apply(x: Tensor, context: SegmentContext): Tensor {
    if (this.residual) return add(x, this.residual(x, context));
    return within(this.#name, () => {
      const changed = context.mode.dropout(this.#layer.apply(x, context), this.#options.dropout);
      return this.#norm.apply(add(x, changed));
    });
  }

  #residual(x: Tensor, context: SegmentContext): Tensor {
    return within(this.#name, () => {
      const memory = context.memory && this.#norm.apply(context.memory);
      const changed = this.#layer.apply(this.#norm.apply(x), { ...context, memory });
      return context.mode.dropout(changed, this.#options.dropout);
    });
  }
}

/** Nothing at all: the block is left out. */
export const identity: Candidate = {
  kind: "identity",
  parameters: [],
  caches: 0,
  apply: (x) => x,
  residual: () => null,
};

/** Relative attention over the segment and its memory. */
export function attentionCandidate(name: string, options: CandidateOptions): Candidate {
  return new Sublayer(name, "attention", new RelativeAttention(name, options), options);
}

/** Plain self-attention, for models with positions in the embedding. */
export function selfAttentionCandidate(name: string, options: CandidateOptions): Candidate {
  const attention = new SelfAttention(name, options);
  const layer: Layer = {
    parameters: attention.parameters,
    caches: 1,
    apply: (x, context) => attention.apply(x, context),
    keyValues: (x, rows, context) => attention.keyValues(x, rows, context),
    applyRows: (x, all, rows, context) => attention.applyRows(x, all, rows, context),
  };
  return new Sublayer(name, "attention", layer, options);
}

/** The position-wise feed-forward layer. */
export function feedForwardCandidate(name: string, options: CandidateOptions): Candidate {
  const { width, hidden, activation, weight = xavierUniform, gated, bias } = options;
  const layer = new FeedForward(name, { width, hidden, activation, weight, gated, bias });
  const apply: Layer["apply"] = (x) => layer.apply(x);
  return new Sublayer(name, "feed-forward", { parameters: layer.parameters, caches: 0, apply }, options);
}
