/** The translation model: an encoder–decoder whose one embedding table serves source, target and output. */
import { checkOptions, defined, number, type Rules, required, whole } from "../../base/options.ts";
import {
  add,
  addDims,
  cast,
  constant,
  crossEntropy,
  type Dim,
  divide,
  flattenRows,
  gather,
  greater,
  input,
  logSoftmax,
  maximum,
  mean,
  multiply,
  reshape,
  slice,
  subtract,
  sum,
  type Tensor,
  within,
} from "../../graph/index.ts";
import type { Cache, KeyValues } from "../../nn/attention.ts";
import { causalMask, Embedding, inference, type Mode, normal, type Parameter, Training } from "../../nn/index.ts";
import { additiveMask, sentenceMask } from "../../nn/masks.ts";
import type { Objective } from "../language/language.ts";
import { EncoderDecoder, type EncoderDecoderOptions, sidesRules } from "./encoder-decoder.ts";

/** Sizes of a translation model over one vocabulary for both languages. */
export interface TranslationOptions extends Omit<EncoderDecoderOptions, "layout"> {
  /** Number of pieces, of both languages together. */
  vocabulary: number;
  /** Longest sentence that positions reach. */
  length: number;
  /** Part of the target's probability that is spread over all pieces in training. Default: 0.1. */
  smoothing?: number;
}

const rules: Rules<TranslationOptions> = {
  ...sidesRules,
  vocabulary: required(whole(1)),
  length: required(whole(1)),
  smoothing: number({ from: 0, below: 1 }),
};

/** Ids, their positions in their sentences, and the sentences' numbers in their rows (0 for padding): [B, T] each. */
interface Packed {
  readonly ids: Tensor;
  readonly positions: Tensor;
  readonly segments: Tensor;
}

/** What one step of decoding computes. */
export interface DecodingStep {
  /** [B·K, V] */
  readonly logProbabilities: Tensor;
  /** Keys and values of the new tokens, one pair a depth: [B·K, 1, C]. */
  readonly added: readonly KeyValues[];
}

/** An encoder-decoder with one table for source, target and softmax: trained on pairs, used by beam search. */
export class TranslationModel {
  readonly options: TranslationOptions & { smoothing: number };
  readonly parameters: readonly Parameter[];
  readonly #embedding: Embedding;
  readonly #sides: EncoderDecoder;
  readonly #positions: Tensor;

  constructor(options: TranslationOptions) {
    checkOptions("translation model", options, rules);
    this.options = { smoothing: 0.1, ...defined(options) };
    const { vocabulary, length, smoothing: _, ...sides } = options;
    const { width } = sides;
    this.#sides = new EncoderDecoder(sides);
    this.#embedding = new Embedding("embedding", { count: vocabulary, width, weight: normal(width ** -0.5) });
    this.#positions = constant(sinusoids(length, width), [length, width]);
    this.parameters = [...this.#embedding.parameters, ...this.#sides.parameters];
  }

  /** Layers of the decoder that own a cross-attention: so many pairs of keys and values a source is remembered by. */
  get memories(): number {
    return this.#sides.decoder.memories;
  }

  /** ids [B, T] → rows [B·T, C]: √C · embedding + position. */
  #embed(ids: Tensor, positions: Tensor, mode: Mode): Tensor {
    const scaled = multiply(this.#embedding.apply(ids), Math.sqrt(this.options.width));
    return mode.dropout(flattenRows(add(scaled, positions)), this.#sides.options.dropout);
  }

  /** Packed rows → hidden rows [B·T, C] of the target. */
  #hidden(source: Packed, target: Packed, mode: Mode): Tensor {
    const rowsOf = ({ ids }: Packed) => ({ batch: ids.shape[0]!, length: ids.shape[1]! });
    const embed = ({ ids, positions }: Packed) => this.#embed(ids, gather(this.#positions, positions), mode);
    const [from, to] = [rowsOf(source), rowsOf(target)];
    const memory = within("encoder", () => {
      const mask = sentenceMask(source.segments, source.segments);
      return this.#sides.encoder.apply(embed(source), { rows: from, mode, mask });
    });
    return within("decoder", () => {
      const { decoder } = this.#sides;
      const mask = add(sentenceMask(target.segments, target.segments), causalMask(to.length));
      const memoryMask = sentenceMask(target.segments, source.segments);
      return decoder.apply(embed(target), { rows: to, mode, mask }, decoder.remember(memory, from), { memoryMask });
    });
  }

  /** Mean loss a predicted piece over packed rows [batch, length]; with dropout and smoothing when it is for training. */
  objective({ batch, length, training }: { batch: number; length: number; training: boolean }): Objective {
    const names = [
      "source",
      "sourcePositions",
      "sourceSegments",
      "target",
      "targetPositions",
      "targetSegments",
      "labels",
    ];
    const inputs = Object.fromEntries(names.map((name) => [name, input(name, [batch, length], "int")]));
    const packed = (side: string): Packed => ({
      ids: inputs[side]!,
      positions: inputs[`${side}Positions`]!,
      segments: inputs[`${side}Segments`]!,
    });
    const mode = training ? new Training() : inference;
    const hidden = this.#hidden(packed("source"), packed("target"), mode);
    const rows = [batch * length];
    const real = cast(greater(reshape(inputs.targetSegments!, rows), 0), "float");
    const each = this.#losses(hidden, reshape(inputs.labels!, rows), training);
    const count = sum(real);
    const loss = divide(sum(multiply(each, real)), maximum(count, 1));
    return { loss, terms: [{ loss, count }], inputs, noise: mode instanceof Training ? mode.noise : [] };
  }

  /**
   * One value a row [N]: (1 − ε) · cross-entropy + ε · mean over all pieces of −log p. With logits z = h · Eᵀ that is
   * cross-entropy + ε · (h · E[label] − h · mean E), which spares passes over matrices of [N, V].
   */
  #losses(hidden: Tensor, labels: Tensor, smooth: boolean): Tensor {
    const { smoothing } = this.options;
    const exact = crossEntropy(this.#embedding.logits(hidden), labels);
    if (!smooth || smoothing === 0) return exact;
    const centre = mean(this.#embedding.weight.tensor, { axes: [0] }); // [C]
    const above = multiply(hidden, subtract(this.#embedding.apply(labels), centre)); // [N, C]
    return add(exact, multiply(sum(above, { axes: [-1] }), smoothing));
  }

  /** ids [B, S], true where padded [B, S] → keys and values [B, S, C] of the source, one pair a distinct decoder layer. */
  encode(ids: Tensor, padding: Tensor): KeyValues[] {
    const [batch, length] = ids.shape as [Dim, Dim];
    const rows = { batch, length };
    const mask = additiveMask({ padding }, batch, length, length);
    const embedded = this.#embed(ids, slice(this.#positions, 0, 0, length), inference);
    const memory = within("encoder", () => this.#sides.encoder.apply(embedded, { rows, mode: inference, mask }));
    return within("decoder", () => this.#sides.decoder.remember(memory, rows));
  }

  /**
   * One more token for each of B sentences' K beams: ids [B·K, 1] after P others. The beams of a sentence are K queries over one
   * memory, so that this is not copied for each.
   */
  decode(
    ids: Tensor,
    past: readonly KeyValues[],
    memory: readonly KeyValues[],
    padding: Tensor,
    beams: number,
  ): DecodingStep {
    const [rowCount, batch] = [ids.shape[0]!, padding.shape[0]!];
    const before = past[0]!.keys.shape[1]!;
    const added: KeyValues[] = [];
    const caches = past.map((pair): Cache => ({ past: pair, store: (each) => added.push(each) }));
    const embedded = this.#embed(ids, slice(this.#positions, 0, before, addDims(before, 1)), inference);
    const hidden = within("decoder", () =>
      this.#sides.decoder.apply(embedded, { rows: { batch: rowCount, length: 1 }, mode: inference }, memory, {
        caches,
        memoryMask: additiveMask({ padding }, batch, beams, padding.shape[1]!),
        memoryRows: { batch, length: beams },
      }),
    );
    return { logProbabilities: logSoftmax(this.#embedding.logits(hidden)), added };
  }
}

/** sin and cos of position / 10000^(2i / C), in turn. */
function sinusoids(length: number, width: number): Float32Array {
  return Float32Array.from({ length: length * width }, (_, k) => {
    const [position, column] = [Math.floor(k / width), k % width];
    const angle = position / 10000 ** ((2 * Math.floor(column / 2)) / width);
    return column % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
  });
}
