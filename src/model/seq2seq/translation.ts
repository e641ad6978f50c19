/** The translation model: an encoder–decoder whose one embedding table serves source, target and output, each side as deep as its policy says. */
import { rejectShape } from "../../base/errors.ts";
import { anything, checkOptions, defined, number, type Rules, required, truth, whole } from "../../base/options.ts";
import { type Deepened, type DepthPolicy, scalarCourses, scalarInputs } from "../../depth/policy.ts";
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
  multiplyDims,
  not,
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
import { memoryOf } from "../../nn/memory.ts";
import type { Objective } from "../language/language.ts";
import { type EncoderDecoderOptions, sidesRules } from "./encoder-decoder.ts";
import { openSides, type SideDepths, type SideStyle, type Sides, sideStyleRules } from "./sides.ts";

/** Sizes of a translation model over one vocabulary for both languages. */
export interface TranslationOptions
  extends Omit<EncoderDecoderOptions, "layout" | "encoderPlan" | "decoderPlan">,
    SideDepths,
    SideStyle {
  /** Number of pieces, of both languages together. */
  vocabulary: number;
  /** Longest sentence that positions reach. */
  length: number;
  /** Part of the target's probability that is spread over all pieces in training. Default: 0.1. */
  smoothing?: number;
  /** Whether the embedding is the head too. Default: true. */
  tied?: boolean | undefined;
}

const rules: Rules<TranslationOptions> = {
  ...sidesRules,
  ...sideStyleRules,
  encoderPlan: anything,
  decoderPlan: anything,
  encoderDepth: anything,
  decoderDepth: anything,
  vocabulary: required(whole(1)),
  length: required(whole(1)),
  smoothing: number({ from: 0, below: 1 }),
  tied: truth,
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
  /** Keys and values of the new tokens, one pair a cache of the decoder: [B·K, 1, C]. */
  readonly added: readonly KeyValues[];
}

const packedNames = [
  "source",
  "sourcePositions",
  "sourceSegments",
  "target",
  "targetPositions",
  "targetSegments",
  "labels",
];

/** An encoder-decoder with one table for source, target and softmax: trained on pairs, used by beam search. */
export class TranslationModel {
  readonly options: TranslationOptions & { smoothing: number };
  readonly parameters: readonly Parameter[];
  readonly #embedding: Embedding;
  /** The embedding, unless they are apart. */
  readonly #head: Embedding;
  readonly #sides: Sides;
  readonly #positions: Tensor;

  constructor(options: TranslationOptions) {
    checkOptions("translation model", options, rules);
    this.options = { smoothing: 0.1, ...defined(options) };
    const { vocabulary, length, smoothing: _, tied = true, ...sides } = options;
    const { width } = sides;
    const table = { count: vocabulary, width, weight: normal(width ** -0.5) };
    this.#embedding = new Embedding("embedding", table);
    this.#head = tied ? this.#embedding : new Embedding("head", { ...table, role: "head" });
    this.#sides = openSides(sides, this.#head);
    this.#positions = constant(sinusoids(length, width), [length, width]);
    const head = tied ? [] : this.#head.parameters;
    this.parameters = [...this.#embedding.parameters, ...this.#sides.parameters, ...head];
  }

  /** How deep the source is read. */
  get encoder(): DepthPolicy {
    return this.#sides.encoder.policy;
  }

  /** How deep the target is written. */
  get decoder(): DepthPolicy {
    return this.#sides.decoder.policy;
  }

  /** Layers that own weights, of both sides together. */
  get uniqueLayers(): number {
    return this.#sides.encoder.unique + this.#sides.decoder.unique;
  }

  /** Pairs of keys and values that a target is continued from. */
  get caches(): number {
    return this.decoder.caches!; // a decoder without them is refused
  }

  /** How wide the pairs are that a target is continued from. */
  get cacheWidths(): number[] {
    const padding = input("padding", [1, 1], "bool");
    const { added } = this.decode(input("ids", [1, 1], "int"), [], this.#remembered, padding, 1);
    return added.map(({ keys }) => Number(keys.shape[2]));
  }

  /** Pairs of keys and values that a source is remembered by: one for each cross-attention that has weights of its own. */
  get memories(): number {
    return this.#remembered.length;
  }

  /** What remembers a source of one token. */
  get #remembered(): KeyValues[] {
    const text = input("memory", [1, this.options.width]);
    return this.#sides.decoder.remember(text, { batch: 1, length: 1 });
  }

  /** ids [B, T] → rows [B·T, C]: √C · embedding + position. */
  #embed(ids: Tensor, positions: Tensor, mode: Mode): Tensor {
    const scaled = multiply(this.#embedding.apply(ids), Math.sqrt(this.options.width));
    return mode.dropout(flattenRows(add(scaled, positions)), this.#sides.dropout);
  }

  /** Hidden rows of the target [N, C] → scores of all pieces [N, V]. */
  #scores(hidden: Tensor): Tensor {
    return this.#head.logits(this.#sides.decoder.normed(hidden));
  }

  /** Packed rows → what the depths of either side make of them: rows [B·T, C], those of the target before its last norm. */
  #deepened(source: Packed, target: Packed, mode: Mode): { encoder: Deepened; decoder: Deepened } {
    const rowsOf = ({ ids }: Packed) => ({ batch: ids.shape[0]!, length: ids.shape[1]! });
    const embed = ({ ids, positions }: Packed) => this.#embed(ids, gather(this.#positions, positions), mode);
    const [from, to] = [rowsOf(source), rowsOf(target)];
    const sides = this.#sides;
    const encoder = within("encoder", () => {
      const mask = sentenceMask(source.segments, source.segments);
      const context = { rows: from, mode, mask, real: realOf(source.segments), skips: true };
      return sides.encoder.deepened(embed(source), context);
    });
    const memory = within("encoder", () => sides.encoder.normed(encoder.hidden));
    const decoder = within("decoder", () => {
      const mask = add(sentenceMask(target.segments, target.segments), causalMask(to.length));
      return sides.decoder.deepened(embed(target), {
        rows: to,
        mode,
        mask,
        real: realOf(target.segments),
        source: memoryOf((_, make) => make(memory, from), { mask: sentenceMask(target.segments, source.segments) }),
        scores: (hidden) => this.#scores(hidden),
      });
    });
    return { encoder, decoder };
  }

  /** Mean loss a predicted piece over packed rows [batch, length]; with dropout, smoothing and the policies' penalties when it is for training. */
  objective({ batch, length, training }: { batch: number; length: number; training: boolean }): Objective {
    const inputs = Object.fromEntries(packedNames.map((name) => [name, input(name, [batch, length], "int")]));
    const packed = (side: string): Packed => ({
      ids: inputs[side]!,
      positions: inputs[`${side}Positions`]!,
      segments: inputs[`${side}Segments`]!,
    });
    const mode = training ? new Training() : inference;
    const sides = this.#deepened(packed("source"), packed("target"), mode);
    const real = cast(realOf(inputs.targetSegments!), "float");
    const each = this.#eachLoss(sides.decoder, reshape(inputs.labels!, [batch * length]), training);
    const count = sum(real);
    const pieces = divide(sum(multiply(each, real)), maximum(count, 1));
    const fed = { scalars: training ? this.#sides.scalars : {} };
    return {
      ...withPenalties({ loss: pieces, count }, training ? Object.values(sides) : []),
      inputs: { ...inputs, ...scalarInputs(fed) },
      courses: scalarCourses(fed),
      noise: mode instanceof Training ? mode.noise : [],
      ...(training ? {} : depthOutputs(sides, inputs)),
    };
  }

  /** One value a row [N]: of the last state, or of all exits by their probabilities. */
  #eachLoss({ hidden, exits = [] }: Deepened, labels: Tensor, training: boolean): Tensor {
    const lossOf = (state: Tensor) => this.#losses(this.#sides.decoder.normed(state), labels, training);
    const parts: Tensor[] = exits.map(({ hidden: state, probability: p }) => {
      return multiply(lossOf(state), reshape(p, [p.shape[0]!]));
    });
    return parts.length > 0 ? parts.reduce((a, b) => add(a, b)) : lossOf(hidden);
  }

  /**
   * One value a row [N]: (1 − ε) · cross-entropy + ε · mean over all pieces of −log p. With logits z = h · Eᵀ, E the head, that is
   * cross-entropy + ε · (h · E[label] − h · mean E), which spares passes over matrices of [N, V].
   */
  #losses(hidden: Tensor, labels: Tensor, smooth: boolean): Tensor {
    const { smoothing } = this.options;
    const exact = crossEntropy(this.#head.logits(hidden), labels);
    if (!smooth || smoothing === 0) return exact;
    const centre = mean(this.#head.weight.tensor, { axes: [0] }); // [C]
    const above = multiply(hidden, subtract(this.#head.apply(labels), centre)); // [N, C]
    return add(exact, multiply(sum(above, { axes: [-1] }), smoothing));
  }

  /** ids [B, S], true where padded [B, S] → keys and values [B, S, C] of the source, as many pairs as `memories`. */
  encode(ids: Tensor, padding: Tensor): KeyValues[] {
    const [batch, length] = ids.shape as [Dim, Dim];
    const rows = { batch, length };
    const mask = additiveMask({ padding }, batch, length, length);
    const real = not(reshape(padding, [multiplyDims(batch, length)]));
    const embedded = this.#embed(ids, slice(this.#positions, 0, 0, length), inference);
    const context = { rows, mode: inference, mask, real, skips: true };
    const memory = within("encoder", () => this.#sides.encoder.apply(embedded, context));
    return within("decoder", () => this.#sides.decoder.remember(memory, rows));
  }

  /**
   * One more token for each of B sentences' K beams: ids [B·K, 1] after P others, or none. The beams of a sentence are K queries over one
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
    const before = past[0]?.keys.shape[1] ?? 0;
    const added: KeyValues[] = [];
    const store = (i: number) => (pair: KeyValues) => {
      added[i] = pair;
    };
    const embedded = this.#embed(ids, slice(this.#positions, 0, before, addDims(before, 1)), inference);
    const mask = additiveMask({ padding }, batch, beams, padding.shape[1]!);
    const context = {
      rows: { batch: rowCount, length: 1 },
      mode: inference,
      caches: Array.from({ length: this.caches }, (_, i): Cache => ({ past: past[i], store: store(i) })),
      source: memoryOf((i) => memory[i]!, { mask, rows: { batch, length: beams } }),
      scores: (hidden: Tensor) => this.#scores(hidden),
    };
    const { hidden } = within("decoder", () => this.#sides.decoder.deepened(embedded, context));
    const stored = added.filter((pair) => pair !== undefined).length;
    if (stored < this.caches) refuseCaches(this.caches, stored);
    return { logProbabilities: logSoftmax(this.#scores(hidden)), added };
  }
}

/** bool [B·T]: whose number is not 0. */
const realOf = (segments: Tensor) => {
  const [batch, length] = segments.shape as [Dim, Dim];
  return greater(reshape(segments, [multiplyDims(batch, length)]), 0);
};

/** The loss of predicted pieces with what the policies of the sides add to it. */
function withPenalties(pieces: { loss: Tensor; count: Tensor }, sides: readonly Deepened[]) {
  const terms = sides.flatMap(({ penalty, penaltyCount: count }) => (penalty && count ? { loss: penalty, count } : []));
  const penalties = sides.flatMap(({ penalty }) => (penalty ? [penalty] : []));
  return { loss: penalties.reduce((a: Tensor, b) => add(a, b), pieces.loss), terms: [pieces, ...terms] };
}

/** How deep real tokens ran in the mean, of a side where they choose. */
function depthOutputs({ encoder, decoder }: { encoder: Deepened; decoder: Deepened }, inputs: Record<string, Tensor>) {
  const meanOver = ({ probes: { updates } }: Deepened, segments: Tensor) => {
    const real = cast(realOf(segments), "float");
    return updates && divide(sum(multiply(updates, real)), maximum(sum(real), 1));
  };
  const found = {
    encoderDepth: meanOver(encoder, inputs.sourceSegments!),
    decoderDepth: meanOver(decoder, inputs.targetSegments!),
  };
  const outputs = defined(found) as Record<string, Tensor>;
  return Object.keys(outputs).length > 0 ? { outputs } : {};
}

function refuseCaches(needed: number, got: number): never {
  const remedy = "let every block read and store context.cache";
  return rejectShape({ who: "decoder depth / caches", needed: `${needed} pairs stored`, got: `${got}`, remedy });
}

/** sin and cos of position / 10000^(2i / C), in turn. */
function sinusoids(length: number, width: number): Float32Array {
  return Float32Array.from({ length: length * width }, (_, k) => {
    const [position, column] = [Math.floor(k / width), k % width];
    const angle = position / 10000 ** ((2 * Math.floor(column / 2)) / width);
    return column % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
  });
}
