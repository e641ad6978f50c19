/** What a model stacks: the Block interface, and the pre-norm transformer block. */
import { LARGEST } from "../base/limits.ts";
import {
  anything,
  checkOptions,
  dropoutRate,
  number,
  oneOf,
  type Rules,
  required,
  truth,
  whole,
} from "../base/options.ts";
import { add, type Tensor, within } from "../graph/index.ts";
import { type Cache, type KeyValues, SelfAttention } from "./attention.ts";
import { type Activation, activationRule, FeedForward } from "./feed-forward.ts";
import { type Norm, type NormName, norms } from "./layers.ts";
import type { Mode } from "./mode.ts";
import type { Initial, Parameter } from "./parameter.ts";
import type { Rotary, RotaryOptions } from "./rotary.ts";
import type { Rows, SomeRows } from "./running.ts";

/** What a block is told about the place where it runs. */
export interface Context {
  readonly rows: Rows;
  readonly mode: Mode;
  /** Added to attention scores. */
  readonly mask?: Tensor | undefined;
  /** Keys and values of the tokens before, where a text is continued: as many as the block has `caches`. */
  readonly caches?: readonly Cache[] | undefined;
  /** The first of them, for blocks that have one. */
  readonly cache?: Cache | undefined;
  /** How often the block has run before in this pass: what a shared block needs to differ from depth to depth. */
  readonly visit?: number | undefined;
  /** Scores of the next token from hidden rows, [N, C] → [N, V], where the model has a head. */
  readonly scores?: ((hidden: Tensor) => Tensor) | undefined;
  /** For inference: blocks that tokens have left need not be computed for them. */
  readonly skips?: boolean | undefined;
  /** Shown the attention weights [B, H, T, T] of a block that computes all rows, in the order in which blocks run; ALBERT's layers show theirs. */
  readonly watch?: ((weights: Tensor) => void) | undefined;
  /** What attention is to look at instead of the keys and values [B·T, ·] that it made itself. */
  readonly seen?: ((own: KeyValues) => KeyValues) | undefined;
  /** bool [B·T]: true for tokens that count, false for padding. Absent: all count. */
  readonly real?: Tensor | undefined;
  /** Another text, for blocks that look at one: what a decoder translates. */
  readonly source?: Memory | undefined;
}

/** A text that another one looks at by cross-attention. */
export interface Memory {
  /** Keys and values [B, S, ·] that `make` makes of its rows [B·S, C] with these weights; they are made once, however many depths ask. */
  keyValues(weights: readonly Tensor[], make: (text: Tensor, rows: Rows) => KeyValues): KeyValues;
  /** Added to the scores [B, H, T, S]. */
  readonly mask?: Tensor | undefined;
  /** How rows that ask fold over it, where that is not as in self-attention: the beams of a sentence are so many queries. */
  readonly rows?: Rows | undefined;
}

/** Owns parameters; applying one block at several depths shares them. */
export interface Block {
  readonly parameters: readonly Parameter[];
  /**
   * Caches with which it continues a text token by token: 1 for attention that reads and stores `context.cache`, 0 where tokens do not
   * look at each other. Absent: it has none to go on from, so the whole text is computed for every new token.
   */
  readonly caches?: number | undefined;
  /** x [B·T, C] → [B·T, C] */
  apply(x: Tensor, context: Context): Tensor;
}

/** A block that can run for some rows of a batch, looking at keys and values of all of them. For inference. */
export interface RowwiseBlock extends Block {
  /** Keys and values of some rows: x [K, C] → [K, ·] each; absent where tokens do not look at each other. */
  keyValues?(x: Tensor, rows: SomeRows, context: Context): KeyValues;
  /** x [R, C] → [R, C]: these rows look at keys and values [B·T, ·] of all, and at those of the cache. */
  applyRows(x: Tensor, all: KeyValues | undefined, rows: SomeRows, context: Context): Tensor;
  /** Whether it makes other keys and values of the same state when it runs again. */
  readonly differs?: boolean | undefined;
}

/** Whether a block can run for some rows only. */
export const isRowwise = (block: Block): block is RowwiseBlock => "applyRows" in block && block.applyRows !== undefined;

/** Sizes and parts of a transformer block. */
export interface TransformerBlockOptions extends BlockStyle {
  width: number;
  heads: number;
  hidden: number;
  dropout: number;
  activation: Activation;
  weight?: Initial;
  /** Turns queries and keys by their places, up to a length. Default: positions are in the rows already. */
  rotary?: Rotary | RotaryOptions | undefined;
}

/** What sets newer blocks apart from the first ones; each of them by itself. */
export interface BlockStyle {
  /** Default: layer. */
  norm?: NormName | undefined;
  /** Added to the norms' variance. Default: 1e-5. */
  normEpsilon?: number | undefined;
  /** Heads of keys and values, each of which serves several heads of queries. Default: as many as heads. */
  keyHeads?: number | undefined;
  /** Whether every head's queries and keys are brought to one size first. Default: false. */
  queryKeyNorm?: boolean | undefined;
  /** Whether the feed-forward layer has a gate, such as SwiGLU with silu. Default: false. */
  gated?: boolean | undefined;
  /** Whether products add a bias. Default: true. */
  bias?: boolean | undefined;
}

/** Rules for those who take the style of blocks as options. */
export const styleRules: Rules<BlockStyle> = {
  norm: oneOf(Object.keys(norms)),
  normEpsilon: number({ above: 0 }),
  keyHeads: whole(1),
  queryKeyNorm: truth,
  gated: truth,
  bias: truth,
};

const rules: Rules<TransformerBlockOptions> = {
  width: required(whole(1, LARGEST.width)),
  heads: required(whole(1, LARGEST.heads)),
  hidden: required(whole(1, LARGEST.hidden)),
  dropout: required(dropoutRate),
  activation: required(activationRule),
  weight: anything,
  rotary: anything,
  ...styleRules,
};

/** x + attention(norm x), then x + feed-forward(norm x). */
export class TransformerBlock implements RowwiseBlock {
  readonly caches = 1;
  readonly #name: string;
  readonly #norm1: Norm;
  readonly #attention: SelfAttention;
  readonly #norm2: Norm;
  readonly #feedForward: FeedForward;
  readonly #dropout: number;

  constructor(name: string, options: TransformerBlockOptions) {
    checkOptions(name, options, rules);
    this.#name = name;
    this.#dropout = options.dropout;
    const { width, hidden, activation, weight, gated, bias, norm = "layer", normEpsilon: epsilon = 1e-5 } = options;
    this.#norm1 = norms[norm](`${name}.norm1`, { width, epsilon });
    this.#attention = new SelfAttention(name, options);
    this.#norm2 = norms[norm](`${name}.norm2`, { width, epsilon });
    const given = { gated, bias, ...(weight ? { weight } : {}) };
    this.#feedForward = new FeedForward(name, { width, hidden, activation, ...given });
  }

  get parameters(): Parameter[] {
    return [this.#norm1, this.#attention, this.#norm2, this.#feedForward].flatMap((layer) => [...layer.parameters]);
  }

  apply(x: Tensor, context: Context): Tensor {
    return within(this.#name, () => {
      const attended = within("attention", () => this.#attention.apply(this.#norm1.apply(x), context));
      return this.#fed(add(x, context.mode.dropout(attended, this.#dropout)), context.mode);
    });
  }

  keyValues(x: Tensor, rows: SomeRows, context: Context): KeyValues {
    return within(`${this.#name} / attention`, () => this.#attention.keyValues(this.#norm1.apply(x), rows, context));
  }

  applyRows(x: Tensor, all: KeyValues, rows: SomeRows, context: Context): Tensor {
    return within(this.#name, () => {
      const attended = within("attention", () => this.#attention.applyRows(this.#norm1.apply(x), all, rows, context));
      return this.#fed(add(x, attended), context.mode);
    });
  }

  #fed(y: Tensor, mode: Mode): Tensor {
    const fed = within("feed-forward", () => this.#feedForward.apply(this.#norm2.apply(y)));
    return add(y, mode.dropout(fed, this.#dropout));
  }
}
