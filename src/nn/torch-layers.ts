/** PyTorch's encoder and decoder layers under PyTorch's parameter names, in parts: whoever holds a part twice shares its weights. */
import { add, matmul, slice, type Tensor, within } from "../graph/index.ts";
import { attendByHeads, foldPair, type KeyValues, withPast } from "./attention.ts";
import type { Block, Context } from "./block.ts";
import { type Activation, activations } from "./feed-forward.ts";
import { headWidth, LayerNorm, Linear } from "./layers.ts";
import type { Mode } from "./mode.ts";
import { kaimingUniform, newParameter, type Parameter, uniform, xavierUniform, zeros } from "./parameter.ts";
import type { Rows } from "./running.ts";

/** Sizes and form of PyTorch's layers. */
export interface TorchLayerOptions {
  width: number;
  heads: number;
  /** Width of the feed-forward layer. */
  hidden: number;
  dropout: number;
  activation: Activation;
  /** Norms before the sublayers (pre-norm) instead of after the sums (post-norm). */
  normFirst: boolean;
  epsilon: number;
}

/** nn.MultiheadAttention: one packed projection [3·C, C] in the order query, key, value. */
export class MultiheadAttention {
  readonly #weight: Parameter;
  readonly #bias: Parameter;
  readonly #out: Linear;
  readonly #options: TorchLayerOptions;

  constructor(name: string, options: TorchLayerOptions) {
    const { width, heads } = options;
    this.#options = options;
    headWidth(name, width, heads); // refuses heads that do not divide the width
    this.#weight = newParameter(`${name}.in_proj_weight`, [3 * width, width], xavierUniform, "matrix");
    this.#bias = newParameter(`${name}.in_proj_bias`, [3 * width], zeros, "bias");
    this.#out = new Linear(`${name}.out_proj`, { in: width, out: width });
  }

  get parameters(): Parameter[] {
    return [this.#weight, this.#bias, ...this.#out.parameters];
  }

  /** x [B·T, C] over itself, and over what its cache remembers. */
  apply(x: Tensor, { rows, mode, mask, cache }: Context): Tensor {
    const { width } = this.#options;
    const packed = this.#project(x, 0, 3); // [B·T, 3·C]
    const [q, k, v] = [0, 1, 2].map((i) => slice(packed, 1, i * width, (i + 1) * width)) as [Tensor, Tensor, Tensor];
    const all = withPast(foldPair({ keys: k, values: v }, rows), cache);
    return this.#attend(q, all, rows, mode, mask);
  }

  /** Keys and values [B, S, C] of a memory [B·S, C]. */
  remember(memory: Tensor, rows: Rows): KeyValues {
    const { width } = this.#options;
    const packed = this.#project(memory, 1, 3); // [B·S, 2·C]
    return foldPair({ keys: slice(packed, 1, 0, width), values: slice(packed, 1, width, 2 * width) }, rows);
  }

  /** x [B·T, C] over a memory's keys and values. */
  attendTo(x: Tensor, memory: KeyValues, rows: Rows, mode: Mode, mask?: Tensor): Tensor {
    return this.#attend(this.#project(x, 0, 1), memory, rows, mode, mask);
  }

  /** The `from`th to the `to`th of the three projections. */
  #project(x: Tensor, from: number, to: number): Tensor {
    const { width } = this.#options;
    const part = (tensor: Tensor) => (to - from === 3 ? tensor : slice(tensor, 0, from * width, to * width));
    return add(matmul(x, part(this.#weight.tensor), { transposeB: true }), part(this.#bias.tensor));
  }

  #attend(queries: Tensor, all: KeyValues, rows: Rows, mode: Mode, mask?: Tensor): Tensor {
    const { heads, dropout } = this.#options;
    return this.#out.apply(attendByHeads(queries, all, { heads, rows, mask, mode, dropout }));
  }
}

/** linear2(dropout(activation(linear1 x))); biases start as PyTorch's, ±1 / √in. */
export class TorchFeedForward {
  readonly parameters: readonly Parameter[];
  readonly #options: TorchLayerOptions;
  readonly #layers: readonly [Parameter, Parameter][];

  constructor(name: string, options: TorchLayerOptions) {
    const { width, hidden } = options;
    this.#options = options;
    this.#layers = [linear(`${name}.linear1`, width, hidden), linear(`${name}.linear2`, hidden, width)];
    this.parameters = this.#layers.flat();
  }

  apply(x: Tensor, mode: Mode): Tensor {
    const [up, down] = this.#layers.map(([weight, bias]) => (y: Tensor) => {
      return add(matmul(y, weight.tensor, { transposeB: true }), bias.tensor);
    });
    const { activation, dropout } = this.#options;
    return down!(mode.dropout(activations[activation](up!(x)), dropout));
  }
}

function linear(name: string, width: number, out: number): [Parameter, Parameter] {
  const bias = uniform(1 / Math.sqrt(width));
  return [
    newParameter(`${name}.weight`, [out, width], kaimingUniform, "matrix"),
    newParameter(`${name}.bias`, [out], bias, "bias"),
  ];
}

/** norm1, norm2, … of a layer. */
export function layerNorms(name: string, count: number, { width, epsilon }: TorchLayerOptions): LayerNorm[] {
  return Array.from({ length: count }, (_, i) => new LayerNorm(`${name}.norm${i + 1}`, { width, epsilon }));
}

const parametersOf = (parts: readonly { readonly parameters: readonly Parameter[] }[]) =>
  parts.flatMap((part) => [...part.parameters]);

/** Post-norm: norm(x + f(x)). Pre-norm: x + f(norm(x)). */
function residual(x: Tensor, norm: LayerNorm, options: TorchLayerOptions, mode: Mode, f: (x: Tensor) => Tensor) {
  const { normFirst, dropout } = options;
  const sum = add(x, mode.dropout(f(normFirst ? norm.apply(x) : x), dropout));
  return normFirst ? sum : norm.apply(sum);
}

/** What an encoder layer is made of. */
export interface EncoderParts {
  readonly attention: MultiheadAttention;
  readonly feedForward: TorchFeedForward;
  readonly norms: readonly LayerNorm[];
}

/** What both kinds of layers do: sublayers under their names, each with its residual and norm. */
export class TorchLayer<P extends EncoderParts> {
  readonly parameters: readonly Parameter[];
  protected readonly name: string;
  protected readonly parts: P;
  readonly #options: TorchLayerOptions;

  constructor(name: string, parts: P, options: TorchLayerOptions, cross: readonly MultiheadAttention[] = []) {
    [this.name, this.parts, this.#options] = [name, parts, options];
    this.parameters = parametersOf([parts.attention, ...cross, parts.feedForward, ...parts.norms]);
  }

  /** One sublayer; `norm` is the number of its norm. */
  protected sublayer(name: string, norm: number, x: Tensor, mode: Mode, of: (y: Tensor) => Tensor): Tensor {
    return within(name, () => residual(x, this.parts.norms[norm]!, this.#options, mode, of));
  }

  protected attended(x: Tensor, context: Context): Tensor {
    return this.sublayer("attention", 0, x, context.mode, (y) => this.parts.attention.apply(y, context));
  }

  protected fed(x: Tensor, norm: number, mode: Mode): Tensor {
    return this.sublayer("feed-forward", norm, x, mode, (y) => this.parts.feedForward.apply(y, mode));
  }
}

/** nn.TransformerEncoderLayer. */
export class EncoderLayer extends TorchLayer<EncoderParts> implements Block {
  apply(x: Tensor, context: Context): Tensor {
    return within(this.name, () => this.fed(this.attended(x, context), 1, context.mode));
  }
}

/** What a decoder layer is made of. */
export interface DecoderParts extends EncoderParts {
  readonly cross: MultiheadAttention;
}

/** What a decoder layer sees of the encoder's output: its own keys and values of it, and what may not be seen. */
export interface Memory extends KeyValues {
  /** Added to the scores [B, H, T, S]. */
  readonly mask?: Tensor | undefined;
  /** How rows fold over the memory, where that is not as in self-attention: the beams of a sentence are so many queries. */
  readonly rows?: Rows | undefined;
}

/** nn.TransformerDecoderLayer; bound to a memory it is a block like any other. */
export class DecoderLayer extends TorchLayer<DecoderParts> {
  constructor(name: string, parts: DecoderParts, options: TorchLayerOptions) {
    super(name, parts, options, [parts.cross]);
  }

  /** This layer's keys and values of an encoder's output [B·S, C]: the same at all depths that run the layer. */
  remember(memory: Tensor, rows: Rows): KeyValues {
    return within(this.name, () => within("cross-attention", () => this.parts.cross.remember(memory, rows)));
  }

  over(memory: Memory): Block {
    return { parameters: this.parameters, apply: (x, context) => this.#apply(x, context, memory) };
  }

  #apply(x: Tensor, context: Context, memory: Memory): Tensor {
    const { mode, rows } = context;
    return within(this.name, () => {
      const informed = this.sublayer("cross-attention", 1, this.attended(x, context), mode, (y) =>
        this.parts.cross.attendTo(y, memory, memory.rows ?? rows, mode, memory.mask),
      );
      return this.fed(informed, 2, mode);
    });
  }
}
