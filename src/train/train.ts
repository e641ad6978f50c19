/** Training in one call: anything with parameters and an objective, over any named batches. */
import { reject } from "../base/errors.ts";
import { lazily } from "../base/lazily.ts";
import type { Engine, Feed } from "../engine/engine.ts";
import type { Division } from "./division.ts";
import { type Batches, counted, figures, type TextSize, tokensIn } from "./evaluate.ts";
import type { Evaluator } from "./evaluator.ts";
import type { EndReason, EvaluationEvent, Measured, TrainEvent, TrainState } from "./events.ts";
import { firstValues } from "./first-values.ts";
import { type GroupOptions, optimiserGroups } from "./groups.ts";
import { type Lengths, type LoopOptions, lengthOf } from "./loop.ts";
import type { Group } from "./memory.ts";
import type { Trainable, TrainingObjective } from "./objective.ts";
import { compileStep } from "./open-step.ts";
import { type ScheduleName, schedule } from "./schedule.ts";
import { type Session, type Stoppable, startSession, watched } from "./session.ts";
import { type Stage, type Trained, trainStages, type Weights } from "./stages.ts";
import type { Batch, GradientTaking, Step } from "./step-options.ts";
import type { Tell } from "./telling.ts";

/** A figure of a batch out of the objective's outputs; its mean over the batches is reported. */
export type Metric = (outputs: Readonly<Record<string, Feed>>, batch: Batch) => number;

/** Keeps what happens, such as a run folder. */
export interface Recorder {
  record(event: TrainEvent): void | Promise<void>;
}

/** How to train; one of `steps`, `epochs` and `minutes` says how long. */
export interface TrainOptions extends Lengths, GradientTaking, Stoppable {
  readonly engine: Engine;
  readonly data: { readonly train: Batches; readonly valid?: Batches | undefined };
  /** How much text stands behind the valid batches, for figures per word and per byte. */
  readonly validText?: TextSize | undefined;
  readonly seed?: number | undefined;
  /** Highest learning rate. */
  readonly rate?: number | undefined;
  readonly schedule?: ScheduleName | undefined;
  /** Updates over which the rate rises, or how many of all they are. Default: 50. */
  readonly warmup?: number | ((totalSteps: number) => number) | undefined;
  /** Fraction of the highest rate that is left at the end. */
  readonly floor?: number | undefined;
  /** Optimiser groups, or how to make them from roles. Default: AdamW, with decay for matrices only. */
  readonly groups?: readonly Group[] | GroupOptions | undefined;
  readonly clipNorm?: number | null | undefined;
  readonly clipValue?: number | null | undefined;
  /**
   * Equal parts of each batch that run one after another, so that a large batch fits into memory: the update is that of the whole, up to
   * rounding, each row with a memory of its own. Default: 1.
   */
  readonly parts?: number | undefined;
  /** Take each epoch's batches in a random order. Default: yes, unless the model has memory. */
  readonly shuffle?: boolean | undefined;
  /** Updates between evaluations. Default: an epoch, at most 500. There is one at the end, too. */
  readonly evaluateEvery?: number | undefined;
  /** Updates between checkpoints; there is one at each new best and at the end, too. Default: none between. */
  readonly checkpointEvery?: number | undefined;
  /** Figures of the valid batches by name. */
  readonly metrics?: Readonly<Record<string, Metric>> | undefined;
  /** The metric that decides which evaluation is best, the higher the better. Default: the loss decides. */
  readonly decisive?: string | undefined;
  /** Evaluates instead of the mean loss and the metrics of the valid batches; `tell` is told how far it is. */
  readonly evaluate?: ((weights: Weights, tell?: Tell) => Promise<Measured>) | undefined;
  /** Stop after so many evaluations without a new best. */
  readonly patience?: number | undefined;
  /** Scalar inputs that follow the step, such as a temperature: made once the number of updates is known. */
  readonly scalars?: LoopOptions["scalars"] | undefined;
  /** First weights by parameter, instead of drawn ones. */
  readonly initial?: Weights | undefined;
  /** Weights that rest, such as those below adapters: the model's own parameters do not hold them. */
  readonly frozen?: Weights | undefined;
  /** Go on from the state of a checkpoint. */
  readonly resume?: TrainState | undefined;
  /** Where events and checkpoints are kept. */
  readonly into?: Recorder | undefined;
}

/** What training comes to; everything in it is a copy. */
export interface TrainResult<M extends Trainable = Trainable> {
  readonly model: M;
  /** The last weights. */
  readonly weights: Weights;
  /** The best evaluation of this session and its weights. */
  readonly best: { readonly step: number; readonly loss: number; readonly weights: Weights } | undefined;
  readonly evaluation: EvaluationEvent | undefined;
  readonly reason: EndReason;
  readonly steps: number;
  readonly elapsedMs: number;
}

const defaults = { seed: 1, rate: 1e-3, schedule: "cosine", warmup: 50, clipNorm: 1, accumulate: 1 } as const;
const never = Number.MAX_SAFE_INTEGER;
/** Weight decay of matrices where no groups are given. */
const DECAY = 0.05;

/** Trains a model. Iterate the session to see its events, or await its result. */
export function train<M extends Trainable>(model: M, options: TrainOptions): Session<TrainEvent, TrainResult<M>> {
  lengthOf(options);
  return startSession((signal) => training(model, { ...options, signal }), options.signal);
}

/** The events of training, without a session around them. */
export async function* training<M extends Trainable>(
  model: M,
  options: TrainOptions,
): AsyncGenerator<TrainEvent, TrainResult<M>, void> {
  const events = trainStages({
    open: async () => ({ stage: await openStage(model, options) }),
    ...loopOptions(options),
  });
  const trained = yield* watched(events, (event) => options.into?.record(event));
  return { model, ...outcomeOf(trained) };
}

/** What stages ended with, in the form of a result. */
export function outcomeOf({ end, weights, best, evaluation }: Trained): Omit<TrainResult, "model"> {
  const { reason, step: steps, elapsedMs } = end;
  const kept = best && { step: best.evaluation.step, loss: best.evaluation.loss, weights: best.weights };
  return { weights, best: kept, evaluation, reason, steps, elapsedMs };
}

/** How the loop runs, whatever it trains. */
export function loopOptions(options: TrainOptions) {
  const { seed, rate, floor, warmup, accumulate, schedule: name } = filled(options);
  const { train: batches } = options.data;
  const perEpoch = Math.ceil(batches.count / accumulate);
  return {
    seed,
    length: lengthOf(options),
    schedule: (total: number) => schedule(name, { rate, total, warmup: warmupOf(warmup, total), floor }),
    shuffle: options.shuffle ?? true,
    accumulate,
    evaluateEvery: options.evaluateEvery ?? Math.max(1, Math.min(500, perEpoch)),
    checkpointEvery: options.checkpointEvery ?? never,
    patience: options.patience,
    signal: options.signal,
    resume: options.resume,
  };
}

const warmupOf = (warmup: NonNullable<TrainOptions["warmup"]>, total: number) =>
  Math.min(total, typeof warmup === "number" ? warmup : warmup(total));

/** The options with defaults for what is not given. */
function filled(options: TrainOptions) {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...(Object.fromEntries(given) as typeof options) } as TrainOptions & {
    readonly [K in keyof typeof defaults]: NonNullable<TrainOptions[K]>;
  };
}

const sizeOf = ({ rows = 1, length = 1 }: Batches) => ({ batch: rows, length });

async function openStep(
  model: Trainable,
  options: TrainOptions,
  { objective, loss = objective.loss, share, parts }: Division,
): Promise<Step> {
  const { engine, seed, accumulate, clipNorm, clipValue } = filled(options);
  const { inputs, noise = [], carried, sizes } = objective;
  return compileStep({
    engine,
    loss,
    inputs,
    noise,
    groups: groupsOf(model, options),
    initial: options.initial ?? firstValues(model.parameters, seed),
    frozen: options.frozen,
    seed,
    accumulate,
    recompute: options.recompute,
    carried,
    sizes,
    share,
    parts,
    clipNorm: options.clipNorm === null ? undefined : clipNorm,
    clipValue: clipValue ?? undefined,
  });
}

/** A compiled step and evaluation of a model. */
export async function openStage(model: Trainable, options: TrainOptions): Promise<Stage> {
  const { engine, evaluate, data } = options;
  const division = await dividedObjective(model, options);
  const { objective, batches = data.train } = division;
  const step = await openStep(model, options, division);
  const evaluator = lazily(async () => {
    const { Evaluator: Opened } = await import("./evaluator.ts"); // a page fetches it when it first evaluates
    return Opened.create(engine, evaluated(model, data.valid!));
  });
  const measure =
    evaluate ?? (data.valid && (async (weights, tell) => validate(await evaluator(), weights, options, tell)));
  return {
    step,
    batches,
    scalars: options.scalars ?? coursesOf(objective),
    evaluate: measure && ((tell) => measure(step.weights, tell)),
    release: async () => void (await Promise.all([step.release(), evaluator.release()])),
  };
}

/** What one run of the step trains: the whole objective or, where a batch is divided, that of its rows. */
async function dividedObjective(
  model: Trainable,
  { data, parts = 1, engine: { world } }: TrainOptions,
): Promise<Division> {
  const size = { ...sizeOf(data.train), training: true };
  if (parts === 1 && !world) return { objective: model.objective(size) };
  const { inParts, overProcesses } = await import("./division.ts");
  return parts > 1 ? inParts(model, size, parts, world) : overProcesses(model, size, data.train, world!);
}

/** What is evaluated: the loss without noise. */
const evaluated = (model: Trainable, batches: Batches) => ({
  ...model.objective({ ...sizeOf(batches), training: false }),
  noise: [],
});

/** What the objective itself says about its scalar inputs. */
function coursesOf({ courses }: TrainingObjective): LoopOptions["scalars"] | undefined {
  const all = Object.entries(courses ?? {});
  if (all.length === 0) return undefined;
  return (total) => (step) => Object.fromEntries(all.map(([name, at]) => [name, at(step, total)]));
}

/** Mean loss and metrics of the valid batches. */
async function validate(evaluator: Evaluator, weights: Weights, options: TrainOptions, tell?: Tell): Promise<Measured> {
  const { validText, metrics = {}, decisive } = options;
  const batches = options.data.valid!;
  const sums = new Map(Object.keys(metrics).map((name) => [name, 0]));
  let total = 0;
  for await (const { loss, outputs, batch } of evaluator.run(weights, counted(batches, tell))) {
    total += loss;
    for (const [name, metric] of Object.entries(metrics)) sums.set(name, sums.get(name)! + metric(outputs, batch));
  }
  const scalars = Object.fromEntries([...sums].map(([name, sum]) => [name, sum / batches.count]));
  return {
    ...textFigures(total / batches.count, batches, validText),
    ...(sums.size > 0 ? { scalars } : {}),
    ...(decisive === undefined ? {} : { decisive: known(decisive, scalars) }),
  };
}

function known(decisive: string, scalars: Readonly<Record<string, number>>): string {
  if (Object.hasOwn(scalars, decisive)) return decisive;
  return reject({ who: "train / decisive", needed: `one of the metrics (${Object.keys(scalars)})`, got: decisive }, 2);
}

/** Perplexity where batches count tokens of text; figures per word and byte where the size of that text is known. */
function textFigures(loss: number, batches: Batches, text: TextSize | undefined): Measured {
  const tokens = batches.count * tokensIn(batches);
  if (text) return figures(loss, tokens, text);
  return batches.tokens === undefined ? { loss } : { loss, perplexity: Math.exp(loss), tokens };
}

const isList = (groups: TrainOptions["groups"]): groups is readonly Group[] => Array.isArray(groups);

function groupsOf({ parameters }: Trainable, { groups, engine }: TrainOptions): readonly Group[] {
  if (isList(groups)) return groups;
  return optimiserGroups(parameters, { engine, ...(groups ?? { optimiser: "adamw", weightDecay: DECAY }) });
}
