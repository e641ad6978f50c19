/** A causal language model around any depth policy: learned positions before it, a norm and a head tied to the embedding after it. */
import type { DeepContext } from "../../depth/fixed.ts";
import { type Course, type Deepened, type DepthPolicy, scalarCourses, scalarInputs } from "../../depth/policy.ts";
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
} from "../../graph/index.ts";
import type { Cache } from "../../nn/attention.ts";
import { causalMask, Embedding, inference, LayerNorm, type Mode, type Parameter, Training } from "../../nn/index.ts";

export interface CausalOptions {
  /** Number of pieces. */
  vocabulary: number;
  width: number;
  /** Longest text the learned positions reach. */
  length: number;
  /** Of the embedded text. */
  dropout: number;
}

/** A loss to minimise, what it depends on, and the random inputs it asks for. */
export interface Objective {
  readonly loss: Tensor;
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly noise: readonly NoiseInput[];
  /** Those of the inputs that follow the step instead of coming with a batch: the depth policy's scalars. */
  readonly scalars?: Readonly<Record<string, Course>>;
}

export class CausalModel {
  readonly policy: DepthPolicy;
  readonly #sizes: CausalOptions;
  readonly #embedding: Embedding;
  readonly #positions: Embedding;
  readonly #norm: LayerNorm;

  constructor(sizes: CausalOptions, policy: DepthPolicy) {
    const { vocabulary, width, length } = sizes;
    this.policy = policy;
    this.#sizes = sizes;
    this.#embedding = new Embedding("embedding", { count: vocabulary, width });
    this.#positions = new Embedding("positions", { count: length, width });
    this.#norm = new LayerNorm("norm", { width });
  }

  get parameters(): Parameter[] {
    const layers = [this.#embedding, this.#positions, this.policy, this.#norm];
    return layers.flatMap((layer) => [...layer.parameters]);
  }

  /** ids [B, T] → hidden rows [B·T, C], after the last norm; `caches`, where given, stand one a depth. */
  hidden(ids: Tensor, mode: Mode = inference, caches?: readonly Cache[]): Tensor {
    return this.#norm.apply(this.deepened(ids, mode, caches).hidden);
  }

  /** ids [B, T] → what the depths make of them, before the last norm. */
  deepened(ids: Tensor, mode: Mode = inference, caches?: readonly Cache[]): Deepened {
    const [batch, length] = ids.shape as [Dim, Dim];
    const past = caches?.[0]?.past?.keys.shape[1] ?? 0;
    const positions = slice(this.#positions.weight.tensor, 0, past, addDims(past, length));
    const embedded = within("embedding", () => add(this.#embedding.apply(ids), positions));
    // A single last token may look at everything.
    const mask = caches && length === 1 ? undefined : causalMask(length, past);
    const context: DeepContext = { rows: { batch, length }, mode, mask, caches };
    return this.policy.apply(mode.dropout(flattenRows(embedded), this.#sizes.dropout), context);
  }

  /** Hidden rows [N, C] → scores of all pieces [N, V]. */
  protected scores(hidden: Tensor): Tensor {
    return this.#embedding.logits(hidden);
  }

  /** ids [B, T] → [B, T, V] */
  logits(ids: Tensor, mode: Mode = inference): Tensor {
    return reshape(this.scores(this.hidden(ids, mode)), [...ids.shape, this.#sizes.vocabulary]);
  }

  /** Mean cross-entropy of `targets` after `ids`, both [batch, length]; with dropout, penalty and the policy's scalars for training. */
  objective({ batch, length, training }: { batch: number; length: number; training: boolean }): Objective {
    const ids = input("ids", [batch, length], "int");
    const targets = input("targets", [batch, length], "int");
    const mode = training ? new Training() : inference;
    const { hidden, penalty } = this.deepened(ids, mode);
    const logits = this.scores(this.#norm.apply(hidden));
    const entropy = mean(crossEntropy(logits, reshape(targets, [batch * length])));
    const loss = training && penalty ? add(entropy, penalty) : entropy;
    const inputs = { ids, targets, ...(training ? scalarInputs(this.policy) : {}) };
    const scalars = training ? scalarCourses(this.policy) : {};
    return { loss, inputs, noise: mode instanceof Training ? mode.noise : [], scalars };
  }
}
