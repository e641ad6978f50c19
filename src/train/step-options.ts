/** What training steps have in common, wherever they run: what they are told, what they give, what a checkpoint keeps. */
import { rejectData } from "../base/errors.ts";
import { check, type Rule, whole } from "../base/options.ts";
import type { StreamState } from "../base/random.ts";
import type { Engine, Feed, World } from "../engine/engine.ts";
import { type NoiseInput, type Tensor, type Weights, weightsOf } from "../graph/index.ts";
import type { StateTensor } from "./events.ts";
import type { FirstValues } from "./first-values.ts";
import { checkGroup, type Group } from "./memory.ts";
import type { GradientOptions } from "./step-graph.ts";
import type { Share } from "./world.ts";

/** How the gradient of an update is taken. */
export interface GradientTaking {
  /** Micro-batches whose gradients are averaged for one update. Default: 1. */
  readonly accumulate?: number | undefined;
  /** Compute activations again for the gradient instead of keeping them: less memory, more time, the same updates. Default: false. */
  readonly recompute?: boolean | undefined;
}

/** What a training step computes and updates. */
export interface StepOptions extends GradientTaking {
  readonly engine: Engine;
  readonly loss: Tensor;
  /** Data inputs of the loss, by the names under which batches come. */
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly noise: readonly NoiseInput[];
  /** Largest values of the named dimensions among inputs and row gradients: what room to keep. */
  readonly sizes?: Readonly<Record<string, number>> | undefined;
  /** State that goes from one run to the next, such as memories: zeros at first, then what the output gave. */
  readonly carried?: readonly { readonly input: Tensor<"input">; readonly output: Tensor }[] | undefined;
  /** Other values to look at after a run. */
  readonly probes?: Readonly<Record<string, Tensor>> | undefined;
  /** Every parameter stands in one group. */
  readonly groups: readonly Group[];
  /** First values of all parameters; where they are made when they are asked for, they never stand in memory all at once. */
  readonly initial: FirstValues;
  /** Weights of the loss that rest: they have no gradient, and no checkpoint keeps them. */
  readonly frozen?: Weights | undefined;
  readonly seed: number;
  /** Gradients longer than this, all together, are scaled down to it. */
  readonly clipNorm?: number | undefined;
  /** Each number of a gradient is brought into ± this; of a look-up table, each occurrence of a row before they are added. */
  readonly clipValue?: number | undefined;
  /** What this process has of a batch that others train on with it. Default: all. */
  readonly share?: Share | undefined;
  /** Parts of each batch that run one after another; the loss is built for one of them. Default: none, a batch runs as a whole. */
  readonly parts?: Parts | undefined;
}

/** Equal parts of a batch whose gradients, together, are those of the whole: the same noise, each row with its own carried state. */
export interface Parts {
  readonly count: number;
  /** The axis over which an input, noise or carried state is divided, by its name; what has none is the same in all parts. */
  readonly axes: ReadonlyMap<string, number>;
}

/** What a checkpoint keeps of a step. */
export interface StepState {
  readonly weights: ReadonlyMap<string, StateTensor>;
  readonly moments: ReadonlyMap<string, StateTensor>;
  readonly noise: StreamState;
  readonly updates: number;
  readonly groupUpdates: readonly number[];
}

/** Numbers of a batch by the names of inputs. */
export type Batch = Readonly<Record<string, ArrayLike<number>>>;

/** What an update gives. */
export interface StepResult {
  readonly loss: number;
  /** Length of the gradient before clipping. */
  readonly gradientNorm: number;
}

/** A compiled step as the loop sees it: its numbers may live in this process or on a device. */
export interface Step {
  /** One update from as many batches as are accumulated; the loss is their mean. */
  run(batches: Batch | readonly Batch[], rate: number): Promise<StepResult>;
  /** The present weights, by parameter: views, as of the last `fetch` or `gather`. */
  readonly weights: Weights;
  /** Values of the probes in the last run. */
  readonly probes: Readonly<Record<string, Feed>>;
  /** All that exact resumption needs, as of the last `gather`. The tensors are views. */
  readonly state: StepState;
  /** Bytes that it keeps for weights, gradients, moments, masks, batches. */
  readonly memoryBytes: number;
  /** The processes that train together, where there are several. */
  readonly world: World | undefined;
  /** Whether all processes have the same weights. */
  readonly isEven: boolean;
  /** Makes `weights` those after the last update. */
  fetch(): Promise<void>;
  /** Makes `state` that after the last update, of the whole batch. Every process calls it. */
  gather(): Promise<void>;
  /** Goes on from a state of a step with the same parameters and optimisers. */
  restore(state: StepState): void;
  /** Those of some values that are inputs of the loss, such as scalars that are also shown. */
  inputsAmong<T>(values: Readonly<Record<string, T>>): Record<string, T>;
  release(): Promise<void>;
}

export const carriedName = (tensor: Tensor<"input">) => `carried ${tensor.attributes.name}`;
const probeName = (name: string) => `probe ${name}`;

/** What leaves the program besides loss and gradients. */
export function extrasOf({
  carried = [],
  probes = {},
}: Pick<StepOptions, "carried" | "probes">): Record<string, Tensor> {
  const state = carried.map(({ input, output }) => [carriedName(input), output] as const);
  const seen = Object.entries(probes).map(([name, tensor]) => [probeName(name), tensor] as const);
  return Object.fromEntries([...state, ...seen]);
}

/** What a run of the program gave for the probes. */
export const probesIn = <T>(
  results: Readonly<Record<string, T>>,
  { probes = {} }: Pick<StepOptions, "probes">,
): Record<string, T> => Object.fromEntries(Object.keys(probes).map((name) => [name, results[probeName(name)]!]));

/** How a step takes its gradients. */
export async function gradientOptions({ recompute, sizes = {} }: StepOptions): Promise<GradientOptions> {
  if (!recompute) return {};
  const { recomputingGradients } = await import("../graph/recompute.ts");
  const known = new Map(Object.entries(sizes));
  return { take: (loss, wanted, seed) => recomputingGradients(loss, wanted, { sizes: known, seed }) };
}

/** Refuses options that contradict each other. */
export function checkStep({ groups, initial, accumulate, clipNorm, clipValue, seed }: StepOptions): void {
  groups.forEach(checkGroup);
  const all = groups.flatMap((group) => group.parameters);
  if (new Set(all).size !== all.length || all.length < initial.size) {
    const got = `${all.length} in groups, ${initial.size} with a first value`;
    rejectData({ who: "training step", needed: "every parameter in one group", got });
  }
  if (initial instanceof Map) weightsOf(all, initial); // says which has no first value
  check("training step / seed", seed, whole());
  check("training step / accumulate", accumulate ?? 1, whole(1));
  for (const [name, limit] of Object.entries({ clipNorm, clipValue })) {
    check(`training step / ${name}`, limit ?? Number.POSITIVE_INFINITY, aboveZero);
  }
}

/** Infinity clips nothing. */
const aboveZero: Rule = { needed: "a number above 0", fits: (value) => typeof value === "number" && value > 0 };

/** Copies the tensors of a checkpoint; refuses those of another model. */
export function copyState(what: string, to: StepState["weights"], from: StepState["weights"]): void {
  const names = [...new Set([...to.keys(), ...from.keys()])];
  const wrong = names.find((name) => to.get(name)?.data.length !== from.get(name)?.data.length);
  if (wrong !== undefined) {
    const shape = (tensor: StateTensor | undefined) => (tensor ? `[${tensor.shape}]` : "nothing");
    rejectData({
      who: `checkpoint / ${what} / ${wrong}`,
      needed: shape(to.get(wrong)),
      got: shape(from.get(wrong)),
      remedy: "resume with the config the checkpoint was made with",
    });
  }
  for (const [name, { data }] of from) to.get(name)!.data.set(data);
}
