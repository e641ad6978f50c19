/** What every causal model offers: training, generation, export and reports ask for nothing else. */
import { rejectData } from "../base/errors.ts";
import type { Course, DepthPolicy } from "../depth/policy.ts";
import type { Engine } from "../engine/engine.ts";
import type { NoiseInput, Sizes, Tensor } from "../graph/index.ts";
import type { Parameter } from "../nn/index.ts";
import type { Weights } from "./weights.ts";

/** A loss to minimise, what it depends on, and the random inputs it asks for. */
export interface Objective {
  readonly loss: Tensor;
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly noise: readonly NoiseInput[];
  /** Parts of the loss that are means over what a batch happens to hold, and how many those are. */
  readonly terms?: readonly { readonly loss: Tensor; readonly count: Tensor }[];
  /** Values of those inputs that follow the step instead of coming with a batch: the depth policy's scalars. */
  readonly courses?: Readonly<Record<string, Course>>;
  /** What an evaluation may read besides the loss: `depth`, the mean over tokens that choose theirs. */
  readonly outputs?: Readonly<Record<string, Tensor>>;
}

/** One forward pass, to be counted: what it computes, and typical values of its named dimensions. */
export interface ForwardPass {
  readonly outputs: readonly Tensor[];
  readonly sizes: Sizes;
}

/** A text that a model reads: tokens go in, scores of what may follow come out. */
export interface Decoder {
  /** Appends tokens to the text; gives the scores of all pieces [V] after the last, valid until the next call. */
  read(ids: ArrayLike<number>): Promise<Float32Array>;
  /** Blocks that the last token read passed through, where tokens halt by themselves. */
  readonly depth?: number | undefined;
  /** Steps of memory that are filled, of models with memory. */
  readonly remembered?: number | undefined;
  /** Forgets the text. */
  clear(): void;
  /** Gives the programs' memory back; the decoder cannot read afterwards. */
  release(): Promise<void>;
}

/** Several texts that a model reads in step: all of them have as many tokens at any time. */
export interface BatchDecoder {
  /** Forgets all texts; begins so many empty ones. */
  begin(count: number): void;
  /** Appends equally many tokens to each text; gives the scores [V] after the last of each, valid until the next call. */
  read(ids: readonly (readonly number[])[]): Promise<readonly Float32Array[]>;
  /** The same, but gives only the likeliest next token of each text: no scores are handed over. Absent: they are to be compared. */
  readLikeliest?(ids: readonly (readonly number[])[]): Promise<ArrayLike<number>>;
  /** Goes on with some of the texts only, by their places among those there are. */
  keep(places: readonly number[]): void;
  /** What it would read of a text that is longer than it can. */
  fitted(ids: readonly number[]): readonly number[];
  /** Steps of memory that are filled, of models with memory. */
  readonly remembered?: number | undefined;
  /** Gives the programs' memory back; the decoder cannot read afterwards. */
  release(): Promise<void>;
}

/** The only text of a decoder of several. */
export class SingleText implements Decoder {
  readonly #batch: BatchDecoder;

  constructor(batch: BatchDecoder) {
    this.#batch = batch;
    this.clear();
  }

  get remembered(): number | undefined {
    return this.#batch.remembered;
  }

  clear(): void {
    this.#batch.begin(1);
  }

  async read(ids: ArrayLike<number>): Promise<Float32Array> {
    return (await this.#batch.read([Array.from(ids)]))[0]!;
  }

  release(): Promise<void> {
    return this.#batch.release();
  }
}

/** A model of text whose tokens depend on those before them. `Reading` is what its decoder may be told. */
export interface CausalModel<Reading = unknown> {
  readonly parameters: readonly Parameter[];
  readonly policy: DepthPolicy;
  objective(size: { batch: number; length: number; training: boolean }): Objective;
  forward(size: { batch: number; length: number }): ForwardPass;
  /** The same weights with at most so many blocks, to draft what the whole then checks; absent where its decoder takes nothing back. */
  shallower?(depth: number): CausalModel<Reading>;
  /** A decoder with these weights and an empty text. */
  open(engine: Engine, weights: Weights, reading?: Reading): Promise<Decoder>;
  /** The same for several texts at once. Absent: one decoder per text. */
  openBatch?(engine: Engine, weights: Weights, reading?: Reading): Promise<BatchDecoder>;
}

/** Ids as numbers; refuses those that the vocabulary does not have. */
export function checkedIds(ids: ArrayLike<number>, vocabulary: number): number[] {
  const tokens = Array.from(ids);
  const bad = tokens.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabulary);
  if (tokens.length > 0 && bad === undefined) return tokens;
  return rejectData({
    who: "text",
    needed: `ids from 0 to ${vocabulary - 1}`,
    got: bad === undefined ? "none" : `${bad}`,
  });
}
