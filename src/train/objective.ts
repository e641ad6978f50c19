/** What can be trained: parameters, and the loss that an objective makes of them. */
import type { RandomStream } from "../base/random.ts";
import type { NoiseInput, Tensor } from "../graph/index.ts";
import type { GroupedParameter } from "./groups.ts";

/** What an objective is built for; `batch` and `length` are those of the data, where it says them. */
export interface ObjectiveSize {
  readonly batch: number;
  readonly length: number;
  readonly training: boolean;
}

/** A loss to minimise, what it depends on, and what else may be looked at. */
export interface TrainingObjective {
  readonly loss: Tensor;
  /** Data inputs by the names under which batches come. */
  readonly inputs: Readonly<Record<string, Tensor>>;
  /** Random inputs: dropout masks, Gumbel noise. */
  readonly noise?: readonly NoiseInput[] | undefined;
  /** State that goes from one batch to the next, such as memories. */
  readonly carried?: readonly { readonly input: Tensor<"input">; readonly output: Tensor }[] | undefined;
  /** Largest values of named dimensions. */
  readonly sizes?: Readonly<Record<string, number>> | undefined;
  /**
   * Parts of the loss that are means over what a batch happens to hold, such as masked words, and how many those are. Processes that
   * share a batch weigh them by it.
   */
  readonly terms?: readonly { readonly loss: Tensor; readonly count: Tensor }[] | undefined;
  /** Values of scalar inputs that follow the step, such as a temperature; `step` counts from 0. */
  readonly courses?: Readonly<Record<string, (step: number, total: number) => number>> | undefined;
  /** Values for metrics, by name, such as logits. */
  readonly outputs?: Readonly<Record<string, Tensor>> | undefined;
}

/** A parameter: a graph node with a name, the distribution of its first value, and a role where it has one. */
export interface TrainableParameter extends GroupedParameter {
  readonly name: string;
  readonly initial: (shape: readonly number[], random: RandomStream) => Float32Array;
}

/** What can be trained: models of layerwise, and anything of this shape. */
export interface Trainable {
  readonly parameters: readonly TrainableParameter[];
  objective(size: ObjectiveSize): TrainingObjective;
}
