/** PyTorch's encoder and decoder layers under PyTorch's parameter names, in parts: whoever holds a part twice shares its weights. */
import { rejectOption } from "../base/errors.ts";
import { add, matmul, multiply, slice, type Tensor, within } from "../graph/index.ts";
import { substituted } from "../graph/tensor.ts";
import { attendByHeads, foldPair, type KeyValues, withPast } from "./attention.ts";
import type { Block, Context, Memory, RowwiseBlock } from "./block.ts";
import { type Activation, activations } from "./feed-forward.ts";
import { headWidth, Linear, type Norm, type NormName, norms } from "./layers.ts";
import type { Mode } from "./mode.ts";
import { kaimingUniform, newParameter, type Parameter, uniform, xavierUniform, zeros } from "./parameter.ts";
import { maskOf, type Rows, type SomeRows } from "./running.ts";

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
  /** Layer norms, or norms by the mean square alone. Default: layer. */
  normKind?: NormName | undefined;
  /** linear2(activation(linear3 x) · linear1 x), such as SwiGLU with silu. Default: false. */
  gated?: boolean | undefined;
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
  apply(x: Tensor, { rows, mode, mask, cache, seen }: Context): Tensor {
    const { width } = this.#options;
    const packed = this.#project(x, 0, 3); // [B·T, 3·C]
    const [q, k, v] = [0, 1, 2].map((i) => slice(packed, 1, i * width, (i + 1) * width)) as [Tensor, Tensor, Tensor];
    const own = { keys: k, values: v };
    const all = withPast(foldPair(seen ? seen(own) : own, rows), cache);
    return this.#attend(q, all, rows, mode, mask);
  }

  /** Keys and values of some rows: x [K, C] → [K, C] each. */
  keyValues(x: Tensor): KeyValues {
    const { width } = this.#options;
    const packed = this.#project(x, 1, 3); // [K, 2·C]
    return { keys: slice(packed, 1, 0, width), values: slice(packed, 1, width, 2 * width) };
  }

  /** x [R, C] → [R, C]: some rows look at keys and values [B·T, C] of all. */
  applyRows(x: Tensor, all: KeyValues, some: SomeRows, { rows, mask }: Context): Tensor {
    const { heads } = this.#options;
    const q = some.byText(this.#project(x, 0, 1));
    const mixed = attendByHeads(q, foldPair(all, rows), { heads, rows, mask: mask && maskOf(some, mask, rows) });
    return this.#out.apply(some.fromText(mixed));
  }

  /** Keys and values [B, S, C] of another text [B·S, C]. */
  remember(text: Tensor, rows: Rows): KeyValues {
    return foldPair(this.keyValues(text), rows);
  }

  /** x [B·T, C] over another text, of which it makes keys and values once for all depths with the same weights. */
  attendTo(x: Tensor, memory: Memory, { rows, mode }: Context): Tensor {
    const weights = [this.#weight, this.#bias].map(({ tensor }) => substituted(tensor));
    const all = memory.keyValues(weights, (text, of) => this.remember(text, of));
    return this.#attend(this.#project(x, 0, 1), all, memory.rows ?? rows, mode, memory.mask);
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

/** linear2(dropout(activation(linear1 x))), or with a gate, linear3; biases start as PyTorch's, ±1 / √in. */
export class TorchFeedForward {
  readonly parameters: readonly Parameter[];
  readonly #options: TorchLayerOptions;
  readonly #layers: readonly [Parameter, Parameter][];

  constructor(name: string, options: TorchLayerOptions) {
    const { width, hidden } = options;
    this.#options = options;
    const gate = options.gated ? [linear(`${name}.linear3`, width, hidden)] : [];
    this.#layers = [linear(`${name}.linear1`, width, hidden), linear(`${name}.linear2`, hidden, width), ...gate];
    this.parameters = this.#layers.flat();
  }

  apply(x: Tensor, mode: Mode): Tensor {
    const [up, down, gate] = this.#layers.map(([weight, bias]) => (y: Tensor) => {
      return add(matmul(y, weight.tensor, { transposeB: true }), bias.tensor);
    });
    const { activation, dropout } = this.#options;
    const activate = activations[activation];
    const inner = gate ? multiply(activate(gate(x)), up!(x)) : activate(up!(x));
    return down!(mode.dropout(inner, dropout));
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
export function layerNorms(name: string, count: number, options: TorchLayerOptions): Norm[] {
  return Array.from({ length: count }, (_, i) => normNamed(`${name}.norm${i + 1}`, options));
}

/** A norm of the kind that options say. */
export const normNamed = (
  name: string,
  { width, epsilon, normKind = "layer" }: Pick<TorchLayerOptions, "width" | "epsilon" | "normKind">,
): Norm => norms[normKind](name, { width, epsilon });

const parametersOf = (parts: readonly { readonly parameters: readonly Parameter[] }[]) =>
  parts.flatMap((part) => [...part.parameters]);

/** Post-norm: norm(x + f(x)). Pre-norm: x + f(norm(x)). */
function residual(x: Tensor, norm: Norm, options: TorchLayerOptions, mode: Mode, f: (x: Tensor) => Tensor) {
  const { normFirst, dropout } = options;
  const sum = add(x, mode.dropout(f(normFirst ? norm.apply(x) : x), dropout));
  return normFirst ? sum : norm.apply(sum);
}

/** What an encoder layer is made of. */
export interface EncoderParts {
  readonly attention: MultiheadAttention;
  readonly feedForward: TorchFeedForward;
  readonly norms: readonly Norm[];
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

  /** What a sublayer reads of x. */
  protected entering(x: Tensor, norm: number): Tensor {
    return this.#options.normFirst ? this.parts.norms[norm]!.apply(x) : x;
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
export class EncoderLayer extends TorchLayer<EncoderParts> implements RowwiseBlock {
  apply(x: Tensor, context: Context): Tensor {
    return within(this.name, () => this.fed(this.attended(x, context), 1, context.mode));
  }

  keyValues(x: Tensor): KeyValues {
    return within(`${this.name} / attention`, () => this.parts.attention.keyValues(this.entering(x, 0)));
  }

  applyRows(x: Tensor, all: KeyValues, rows: SomeRows, context: Context): Tensor {
    const { attention } = this.parts;
    return within(this.name, () => {
      const attended = this.sublayer("attention", 0, x, context.mode, (y) =>
        attention.applyRows(y, all, rows, context),
      );
      return this.fed(attended, 1, context.mode);
    });
  }
}

/** What a decoder layer is made of. */
export interface DecoderParts extends EncoderParts {
  readonly cross: MultiheadAttention;
}

/** nn.TransformerDecoderLayer: a block that looks at `context.source` too. */
export class DecoderLayer extends TorchLayer<DecoderParts> implements Block {
  readonly caches = 1;

  constructor(name: string, parts: DecoderParts, options: TorchLayerOptions) {
    super(name, parts, options, [parts.cross]);
  }

  apply(x: Tensor, context: Context): Tensor {
    const { mode, source = refuseAlone(this.name) } = context;
    return within(this.name, () => {
      const informed = this.sublayer("cross-attention", 1, this.attended(x, context), mode, (y) =>
        this.parts.cross.attendTo(y, source, context),
      );
      return this.fed(informed, 2, mode);
    });
  }
}

function refuseAlone(name: string): never {
  const remedy = "decoder layers belong to the decoder of a translation model";
  return rejectOption({ who: name, needed: "context.source, a text to look at", got: "none", remedy });
}
