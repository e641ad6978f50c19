/** The PAR Transformer-XL: a language model over segments with memory, whose blocks are searched for or already found. */
import { RandomStream } from "../../base/random.ts";
import { scalarCourses, scalarInputs } from "../../depth/policy.ts";
import { type Evaluation, Searched } from "../../depth/searched.ts";
import type { Engine } from "../../engine/engine.ts";
import {
  add,
  cast,
  type Dim,
  divide,
  equal,
  input,
  maximum,
  multiply,
  multiplyDims,
  not,
  reshape,
  simplify,
  slice,
  stopGradient,
  subtract,
  sum,
  type Tensor,
  topological,
  within,
} from "../../graph/index.ts";
import {
  AdaptiveEmbedding,
  AdaptiveSoftmax,
  type Candidate,
  Embedding,
  inference,
  LayerNorm,
  type LossPart,
  type Mode,
  normal,
  type Parameter,
  PlainSoftmax,
  remembered,
  Sampling,
  type SegmentContext,
  segmentMask,
  segmentPositions,
  Training,
  tokenLosses,
  totalLoss,
  uniform,
  type WordDistribution,
  type WordTables,
} from "../../nn/index.ts";
import type { BatchDecoder, CausalModel, Decoder, ForwardPass, Objective } from "../causal.ts";
import { allProbabilities, chosenPlaces, type Supernet } from "../supernet.ts";
import type { Weights } from "../weights.ts";
import { type CandidateChoice, candidateOf } from "./candidates.ts";
import type { Carried, MemoryReading } from "./decoder.ts";
import {
  aliveOf,
  budgetOf,
  checkMemory,
  checkParOptions,
  checkWhole,
  choicesOf,
  type ParOptions,
  planOf,
} from "./options.ts";

export type { CandidateChoice } from "./candidates.ts";
export type { Carried, MemoryReading } from "./decoder.ts";
export type { ParOptions } from "./options.ts";

/** Sizes and purpose of a program. */
export interface SegmentShape {
  /** A name where any number of rows is to do. */
  batch: Dim;
  /** Tokens of a segment. */
  length: number;
  /** Steps of memory. Default: the model's. */
  memory?: number | undefined;
}

/** A program of training or evaluation: its sizes, and how blocks are mixed. */
export interface ParRun extends SegmentShape {
  batch: number;
  training: boolean;
  /** Draw Gumbel noise though nothing is trained, as the original does. */
  noisy?: boolean | undefined;
  /** How blocks are mixed without noise. Default: mean. */
  evaluation?: Evaluation | undefined;
}

/** What the model makes of a segment. */
export interface Segment {
  /** After the last block (and norm): [B·T, C]. */
  readonly hidden: Tensor;
  /** One a block; none without memory. */
  readonly carried: readonly Carried[];
  /** π and mixture of each block. */
  readonly probes: Readonly<Record<string, Tensor>>;
  readonly inputs: Readonly<Record<string, Tensor>>;
  /** What the expected cost is above its budget, where there is one. */
  readonly penalty: Tensor | undefined;
}

/** The loss of a segment, with the memories that go on to the next one. */
export interface ParObjective extends Objective {
  readonly carried: readonly Carried[];
  readonly probes: Readonly<Record<string, Tensor>>;
  /** Largest values of the named dimensions. */
  readonly sizes: Readonly<Record<string, number>>;
  /** After the last block: [B·T, C]. */
  readonly hidden: Tensor;
  /** Of each token, 0 where it does not count: [B·T]. */
  readonly tokenLosses: Tensor;
}

/** The PAR Transformer-XL: searched or decided blocks over segments with memory. */
export class ParModel implements CausalModel<MemoryReading>, Supernet {
  readonly options: ParOptions;
  readonly policy: Searched;
  readonly words: WordDistribution;
  /** Everything each block could be when the search began. */
  readonly choices: readonly (readonly CandidateChoice[])[];
  /** The places among the choices that are still there. */
  readonly alive: readonly (readonly number[])[];
  readonly #embedding: Embedding | AdaptiveEmbedding;
  readonly #norm: LayerNorm | undefined;

  constructor(options: ParOptions) {
    checkParOptions(options);
    this.options = options;
    const { width, vocabulary, compat } = options;
    this.#embedding = embeddingOf(options);
    this.choices = choicesOf(options);
    this.alive = aliveOf(options, this.choices);
    this.policy = new Searched("blocks", blocksOf(options, this.choices, this.alive), {
      straightThrough: options.straightThrough,
      temperature: options.temperature,
      initialTemperature: options.initialTemperature,
      finalTemperature: options.finalTemperature,
      compat,
      budget: budgetOf(options, this.choices, this.alive),
    });
    // Sums of residuals need a norm at their end; the original's candidates end in norms of their own.
    this.#norm = compat === "original" ? undefined : new LayerNorm("norm", { width });
    this.words = options.cutoffs?.length
      ? new AdaptiveSoftmax("softmax", {
          width,
          vocabulary,
          cutoffs: options.cutoffs,
          factor: options.projectionFactor,
          sizes: options.projectionSizes,
          tables: options.tied ? tablesOf(this.#embedding, options.cutoffs) : undefined,
        })
      : new PlainSoftmax("softmax", { width, vocabulary, table: options.tied ? allOf(this.#embedding) : undefined });
  }

  get parameters(): Parameter[] {
    const layers = [this.#embedding, this.policy, ...(this.#norm ? [this.#norm] : []), this.words];
    return layers.flatMap((layer) => [...layer.parameters]);
  }

  /** π of everything each block could be; 0 for what was cut. */
  probabilities(values: ReadonlyMap<Tensor<"parameter">, ArrayLike<number>>): number[][] {
    return allProbabilities(this, values);
  }

  /** The most probable candidate of each block, by its place among its choices. */
  chosen(values: ReadonlyMap<Tensor<"parameter">, ArrayLike<number>>): number[] {
    return chosenPlaces(this, values);
  }

  /** The same model with fewer candidates. */
  narrowed(alive: readonly (readonly number[])[]): ParModel {
    return new ParModel({ ...this.options, alive });
  }

  /** ids [B, T] → hidden rows, and what each block remembers. */
  segment(
    ids: Tensor,
    shape: SegmentShape,
    mode: Mode = inference,
    evaluation?: Evaluation,
    newCache?: SegmentContext["newCache"],
  ): Segment {
    const { batch, length } = shape;
    const { width } = this.options;
    const { missing, ...told } = this.contextOf(shape, mode);
    const memories = this.memoryInputs(batch, shape.memory);
    const carried: Carried[] = [];
    const context = {
      ...told,
      memories,
      evaluation,
      newCache,
      remember: (depth: number, x: Tensor) => {
        const before = memories[depth];
        if (before) carried.push({ input: before, output: remembered(before, reshape(x, [batch, length, width])) });
      },
    };
    const { hidden, probes, penalty } = this.policy.apply(this.embedded(ids, mode), context);
    const inputs = { ...(missing ? { missing } : {}), ...(mode instanceof Training ? scalarInputs(this.policy) : {}) };
    return { hidden: this.normed(hidden), carried, probes, inputs, penalty };
  }

  /** What the blocks of a segment are told besides their memories. */
  contextOf(shape: SegmentShape, mode: Mode): SegmentContext & { readonly missing: Tensor<"input"> | undefined } {
    const { batch, length, memory = this.options.memory } = shape;
    const { width, clampLength, sameLength, compat } = this.options;
    checkMemory(memory);
    checkWhole("length", length);
    if (typeof batch === "number") checkWhole("batch", batch);
    const missing = memory > 0 ? input("missing", [], "int") : undefined;
    const where = { width, length, memory, missing, clampLength, sameLength, compat };
    const positions = segmentPositions(where);
    return { rows: { batch, length }, mode, mask: segmentMask(where), positions, missing };
  }

  /** ids [B, T] → the rows that enter the first block: [B·T, C]. */
  embedded(ids: Tensor, mode: Mode): Tensor {
    const [batch, length] = ids.shape as [Dim, Dim];
    const rows = within("embedding", () => this.#embed(reshape(ids, [multiplyDims(batch, length)])));
    return mode.dropout(rows, this.options.dropout ?? 0);
  }

  /** What leaves the last block, as the softmax takes it. */
  normed(hidden: Tensor): Tensor {
    return this.#norm ? this.#norm.apply(hidden) : hidden;
  }

  /** Parameters that no block has: of the embedding, and of what follows the blocks. */
  get outer(): { readonly embedding: readonly Parameter[]; readonly head: readonly Parameter[] } {
    return {
      embedding: this.#embedding.parameters,
      head: [...(this.#norm?.parameters ?? []), ...this.words.parameters],
    };
  }

  /** What each depth remembers, [B, M, C]: depths that share weights have memories of their own. */
  memoryInputs(batch: Dim, memory = this.options.memory): Tensor<"input">[] {
    if (memory === 0) return [];
    return this.policy.blocks.map((_, i) => input(`memory.${i}`, [batch, memory, this.options.width]));
  }

  #embed(ids: Tensor): Tensor {
    return multiply(this.#embedding.apply(ids), Math.sqrt(this.options.width));
  }

  /** Loss of `targets` after `ids`, both [batch, length], given the memory of the segments before. */
  objective(run: ParRun): ParObjective {
    const { batch, length, training, noisy, evaluation } = run;
    const ids = input("ids", [batch, length], "int");
    const targets = input("targets", [batch, length], "int");
    const mode = training ? new Training() : noisy ? new Sampling() : inference;
    const segment = this.segment(ids, run, mode, evaluation);
    const flat = reshape(targets, [batch * length]);
    const { loss, tokenLosses, count, rows, sizes } = this.lossOf(segment.hidden, flat);
    return {
      ...segment,
      loss: training && segment.penalty ? silently(loss, segment.penalty) : loss,
      tokenLosses,
      ...(count ? { terms: [{ loss, count }] } : {}),
      inputs: { ids, targets, ...rows, ...segment.inputs },
      noise: mode instanceof Training ? mode.noise : [],
      courses: mode instanceof Training ? scalarCourses(this.policy) : {},
      sizes,
    };
  }

  /** The loss of targets [B·T] after normed rows [B·T, C], and the inputs that say which rows belong to which cluster. */
  lossOf(
    hidden: Tensor,
    targets: Tensor,
  ): Pick<ParObjective, "loss" | "tokenLosses" | "sizes"> & {
    count?: Tensor;
    rows: Readonly<Record<string, Tensor<"input">>>;
  } {
    const count = Number(targets.shape[0]);
    const rows = Object.fromEntries(this.words.rowInputs.map((tensor) => [tensor.attributes.name, tensor]));
    const sizes = Object.fromEntries(this.words.rowInputs.map(({ shape }) => [String(shape[0]), count]));
    return { ...this.#loss(this.words.losses(hidden, targets), targets, count), rows, sizes };
  }

  /** The mean over counted tokens; the original's adaptive softmax leaves label 0 out but divides by all of them. */
  #loss(
    parts: readonly LossPart[],
    targets: Tensor,
    rows: number,
  ): { loss: Tensor; tokenLosses: Tensor; count?: Tensor } {
    const { compat, cutoffs, padding } = this.options;
    const skipped = compat === "original" ? (cutoffs?.length ? 0 : undefined) : padding;
    if (skipped === undefined) return { loss: multiply(totalLoss(parts), 1 / rows), tokenLosses: tokenLosses(parts) };
    const counts = cast(not(equal(targets, skipped)), "float");
    const total = totalLoss(parts, counts);
    const words = multiply(tokenLosses(parts), counts);
    if (compat === "original") return { loss: multiply(total, 1 / rows), tokenLosses: words };
    const count = sum(counts);
    return { loss: divide(total, maximum(count, 1)), tokenLosses: words, count };
  }

  /** What a batch must bring besides ids and targets: which rows belong to which cluster. */
  rowsOf(targets: ArrayLike<number>): Record<string, Int32Array> {
    const { compat, padding } = this.options;
    return this.words.rowsOf(targets, compat === "original" ? 0 : padding);
  }

  /** The loss of a segment and, where blocks attend, their new memories; as many rows in each cluster as words usually fall there. */
  forward({ batch, length, memory }: SegmentShape & { batch: number }): ForwardPass {
    const { loss, hidden, carried } = this.objective({ batch, length, memory, training: false });
    const rows = this.rowsOf(usualWords(batch * length, this.options.vocabulary));
    const sizes = this.words.rowInputs.map(({ shape, attributes }) => {
      return [String(shape[0]), rows[attributes.name]!.length] as const;
    });
    const memories = usedMemories({ hidden, carried }).map(({ output }) => output);
    return { outputs: simplify([loss, ...memories]), sizes: new Map(sizes) };
  }

  /** Reads texts token by token, out of the memory. */
  async open(engine: Engine, weights: Weights, reading?: MemoryReading): Promise<Decoder> {
    const { ParDecoder } = await import("./decoder.ts");
    return ParDecoder.create(engine, this, weights, reading);
  }

  async openBatch(engine: Engine, weights: Weights, reading?: MemoryReading): Promise<BatchDecoder> {
    const { ParBatch } = await import("./decoder.ts");
    return ParBatch.create(engine, this, weights, reading);
  }

  /** Steps of memory that are still empty after `segments` segments of `length`. */
  missingAfter(segments: number, length: number, memory = this.options.memory): number {
    return Math.max(0, memory - segments * length);
  }
}

/** Those of the memories that a block looks at. */
export function usedMemories({ hidden, carried }: Pick<Segment, "hidden" | "carried">): Carried[] {
  const used = new Set<Tensor>(topological([hidden]));
  return carried.filter(({ input }) => used.has(input));
}

/** Ids as skewed as words are: the chance of being below n grows with log n. */
export function usualWords(count: number, vocabulary: number): Int32Array {
  const random = new RandomStream(1, "words");
  return Int32Array.from({ length: count }, () => Math.floor((vocabulary + 1) ** random.uniform()) - 1);
}

/** A loss with the gradient of a penalty but not its value, so that losses stay what the words cost. */
function silently(loss: Tensor, penalty: Tensor): Tensor {
  return add(loss, subtract(penalty, stopGradient(penalty)));
}

function embeddingOf(options: ParOptions): Embedding | AdaptiveEmbedding {
  const { width, vocabulary, cutoffs, projectionFactor, projectionSizes, adaptiveInput, compat } = options;
  if (adaptiveInput && cutoffs) {
    const shape = { width, vocabulary, cutoffs, factor: projectionFactor, sizes: projectionSizes };
    return new AdaptiveEmbedding("embedding", shape);
  }
  const weight = compat === "original" ? uniform(0.05) : normal(0.02);
  return new Embedding("embedding", { count: vocabulary, width, weight });
}

const allOf = (embedding: Embedding | AdaptiveEmbedding) =>
  embedding instanceof Embedding ? embedding.weight.tensor : embedding.tables.head;

/** The vectors that an embedding can share with an adaptive softmax: those of the right size. */
function tablesOf(embedding: Embedding | AdaptiveEmbedding, [words]: readonly number[]): WordTables {
  if (embedding instanceof AdaptiveEmbedding) return embedding.tables;
  return { head: slice(embedding.weight.tensor, 0, 0, words!) };
}

function blocksOf(options: ParOptions, all: ParModel["choices"], alive: ParModel["alive"]): Candidate[][] {
  const { width, hidden = 4 * width, heads, dropout = 0, attentionDropout, compat, activation = "relu" } = options;
  const shared = { width, hidden, heads, dropout, attentionDropout, compat, activation };
  const plan = planOf(options, all);
  const made = all.map((choices, i) => {
    if (plan.indexOf(plan[i]!) < i) return [];
    return alive[i]!.map((k) => {
      const twin = choices.slice(0, k).filter(({ kind }) => kind === choices[k]!.kind).length;
      return candidateOf(`blocks.${plan[i]}`, choices[k]!, twin, shared);
    });
  });
  return plan.map((own) => made[plan.indexOf(own)]!);
}

/** A PAR Transformer-XL with the given options. */
export function parModel(options: ParOptions): ParModel {
  return new ParModel(options);
}
