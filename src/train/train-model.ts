/** Training in one call, for programs: anything with parameters and an objective, over batches of pieces. */
import { RandomStream } from "../base/random.ts";
import type { Engine } from "../engine/engine.ts";
import type { NoiseInput, Tensor } from "../graph/index.ts";
import { type Batches, Evaluator, figures, type TextSize } from "./evaluate.ts";
import type { TrainEvent, TrainState } from "./events.ts";
import { type Length, type LoopOptions, train } from "./loop.ts";
import type { Group, ParameterTensor } from "./memory.ts";
import { adamw, type Optimiser } from "./optimiser.ts";
import { type ScheduleName, schedule } from "./schedule.ts";
import { TrainingStep } from "./step.ts";

/** What can be trained; models of src/model fit, and so does anything of this shape. */
export interface Trainable {
  readonly parameters: readonly {
    readonly name: string;
    readonly tensor: ParameterTensor;
    readonly initial: (shape: readonly number[], random: RandomStream) => Float32Array;
  }[];
  objective(size: { batch: number; length: number; training: boolean }): {
    readonly loss: Tensor;
    readonly inputs: Readonly<Record<string, Tensor>>;
    readonly noise: readonly NoiseInput[];
  };
}

/** Batches of pieces by index, as `openBatches` gives them. */
export interface PieceBatches {
  readonly count: number;
  readonly rows: number;
  readonly length: number;
  at(index: number): { readonly inputs: Int32Array; readonly targets: Int32Array };
}

export type TrainModelOptions = Length & {
  readonly engine: Engine;
  readonly batches: PieceBatches;
  /** Evaluated every `evaluateEvery` updates and at the end. */
  readonly valid?: PieceBatches;
  /** How much text stands behind `valid`, for figures per word and per byte. Default: one word and one byte a piece. */
  readonly validText?: TextSize;
  readonly seed?: number;
  /** Highest learning rate. */
  readonly rate?: number;
  readonly schedule?: ScheduleName;
  readonly warmup?: number;
  /** For matrices, and for the rest (biases, norms). Default: AdamW, with decay for matrices only. */
  readonly optimiser?: (matrix: boolean) => Optimiser;
  readonly clipNorm?: number;
  readonly accumulate?: number;
  readonly evaluateEvery?: number;
  readonly checkpointEvery?: number;
  readonly patience?: number;
  readonly signal?: AbortSignal;
  /** Scalar inputs that follow the step, such as a temperature: made once the number of updates is known. */
  readonly scalars?: LoopOptions["scalars"];
  /** First weights by parameter, instead of drawn ones. */
  readonly initial?: ReadonlyMap<ParameterTensor, Float32Array>;
  /** Go on from the state of a checkpoint event. */
  readonly resume?: TrainState;
};

const defaults = { seed: 1, rate: 1e-3, schedule: "cosine", warmup: 50, clipNorm: 1, accumulate: 1 } as const;
const never = Number.MAX_SAFE_INTEGER;

const fed = (source: PieceBatches): Batches => ({
  count: source.count,
  tokens: source.rows * source.length,
  at: (index) => {
    const { inputs, targets } = source.at(index);
    return { ids: inputs, targets };
  },
});

function groupsOf({ parameters }: Trainable, optimiser: (matrix: boolean) => Optimiser): Group[] {
  return [true, false].map((matrix) => ({
    parameters: parameters.map(({ tensor }) => tensor).filter(({ shape }) => shape.length > 1 === matrix),
    optimiser: optimiser(matrix),
  }));
}

function firstWeights({ parameters }: Trainable, seed: number): Map<ParameterTensor, Float32Array> {
  return new Map(
    parameters.map(({ name, tensor, initial }) => {
      return [tensor, initial(tensor.attributes.shape, new RandomStream(seed, `initial ${name}`))];
    }),
  );
}

/** Trains a model and yields what happens; programs are released when it ends, also by `return` or an error. */
export async function* trainModel(
  model: Trainable,
  options: TrainModelOptions,
): AsyncGenerator<TrainEvent, void, void> {
  const { engine, batches, valid, seed, rate, warmup, accumulate, ...set } = { ...defaults, ...options };
  const size = { batch: batches.rows, length: batches.length };
  const optimiser = options.optimiser ?? ((matrix) => adamw({ weightDecay: matrix ? 0.05 : 0 }));
  const step = await TrainingStep.create({
    engine,
    ...model.objective({ ...size, training: true }),
    groups: groupsOf(model, optimiser),
    initial: options.initial ?? firstWeights(model, seed),
    seed,
    accumulate,
    clipNorm: set.clipNorm,
  });
  const evaluator = valid && (await Evaluator.create(engine, model.objective({ ...size, training: false }).loss));
  const evaluate = async () => {
    const split = fed(valid!);
    const tokens = split.count * split.tokens;
    const text = options.validText ?? { tokens, words: tokens, bytes: tokens };
    return figures(await evaluator!.meanLoss(step.weights, split), tokens, text);
  };
  try {
    yield* train({
      step,
      batches: fed(batches),
      seed,
      length: options,
      schedule: (total) => schedule(set.schedule, { rate, total, warmup: Math.min(warmup, total) }),
      shuffle: true,
      accumulate,
      evaluateEvery: set.evaluateEvery ?? never,
      checkpointEvery: set.checkpointEvery ?? never,
      ...(evaluator ? { evaluate } : {}),
      ...(set.patience === undefined ? {} : { patience: set.patience }),
      ...(set.signal ? { signal: set.signal } : {}),
      ...(set.scalars ? { scalars: set.scalars } : {}),
      ...(set.resume ? { resume: set.resume } : {}),
    });
  } finally {
    await Promise.all([step.release(), evaluator?.release()]);
  }
}
