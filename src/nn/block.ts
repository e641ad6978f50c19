/** What a model stacks: the Block interface, and the pre-norm transformer block. */
import { anything, checkOptions, dropoutRate, oneOf, type Rules, required, whole } from "../base/options.ts";
import { add, type Tensor, within } from "../graph/index.ts";
import { type Cache, type Rows, SelfAttention } from "./attention.ts";
import { type Activation, activations, FeedForward } from "./feed-forward.ts";
import { LayerNorm } from "./layers.ts";
import type { Mode } from "./mode.ts";
import type { Initial, Parameter } from "./parameter.ts";

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

/** Sizes and parts of a transformer block. */
export interface TransformerBlockOptions {
  width: number;
  heads: number;
  hidden: number;
  dropout: number;
  activation: Activation;
  weight?: Initial;
}

const rules: Rules<TransformerBlockOptions> = {
  width: required(whole(1)),
  heads: required(whole(1)),
  hidden: required(whole(1)),
  dropout: required(dropoutRate),
  activation: required(oneOf(Object.keys(activations))),
  weight: anything,
};

/** x + attention(norm x), then x + feed-forward(norm x). */
export class TransformerBlock implements Block {
  readonly caches = 1;
  readonly #name: string;
  readonly #norm1: LayerNorm;
  readonly #attention: SelfAttention;
  readonly #norm2: LayerNorm;
  readonly #feedForward: FeedForward;
  readonly #dropout: number;

  constructor(name: string, options: TransformerBlockOptions) {
    checkOptions(name, options, rules);
    this.#name = name;
    this.#dropout = options.dropout;
    const { width, hidden, activation, weight } = options;
    this.#norm1 = new LayerNorm(`${name}.norm1`, { width });
    this.#attention = new SelfAttention(name, options);
    this.#norm2 = new LayerNorm(`${name}.norm2`, { width });
    this.#feedForward = new FeedForward(name, { width, hidden, activation, ...(weight ? { weight } : {}) });
  }

  get parameters(): Parameter[] {
    return [this.#norm1, this.#attention, this.#norm2, this.#feedForward].flatMap((layer) => layer.parameters);
  }

  apply(x: Tensor, { rows, mode, mask, cache }: Context): Tensor {
    return within(this.#name, () => {
      const attended = within("attention", () => {
        return this.#attention.apply(this.#norm1.apply(x), rows, mode, mask, cache);
      });
      const y = add(x, mode.dropout(attended, this.#dropout));
      const fed = within("feed-forward", () => this.#feedForward.apply(this.#norm2.apply(y)));
      return add(y, mode.dropout(fed, this.#dropout));
    });
  }
}
