/** Fine-tuning with a head of any kind: an ALBERT, a task and its examples in, a model that answers out. */
import { LARGEST } from "../../base/limits.ts";
import { anything, checkOptions, number, required, whole } from "../../base/options.ts";
import { describedAlbert } from "../../model/albert/description.ts";
import { albertObjective } from "../../model/albert/heads.ts";
import { optimiserGroups } from "../../train/groups.ts";
import { train } from "../../train/train.ts";
import { defaultEngine } from "../engine.ts";
import type { Handed } from "../job.ts";
import { needTokenizer, type TrainedAlbert, transferred, withoutPairs } from "../pretrain/albert-run.ts";
import { type AlbertSource, albertFrom } from "../pretrain/origin.ts";
import { answersOf } from "./head-answers.ts";
import { headBatches, type OpenedHead } from "./head-batches.ts";
import type { HeadTask } from "./head-tasks.ts";
import { withoutHead } from "./model.ts";
import { tunedDepth } from "./tuned-depth.ts";

/** How a head is trained. */
export interface HeadTraining<X> extends Handed {
  readonly train: readonly X[];
  /** Judged by after each epoch; the best epoch is kept. */
  readonly dev: readonly X[];
  /** Default: 3. */
  readonly epochs?: number | undefined;
  /** Examples per batch. Default: 16. */
  readonly batch?: number | undefined;
  /** Highest learning rate. Default: 0.0001. */
  readonly rate?: number | undefined;
  /** Longest text in pieces. Default: 128, or the model's. */
  readonly length?: number | undefined;
  /** Default: 1. */
  readonly seed?: number | undefined;
}

/** A model with a trained head. */
export interface TunedHead<X, Y> extends TrainedAlbert {
  readonly task: HeadTask<X, Y>;
  /** Figures of the dev examples after each epoch. */
  readonly epochs: readonly Readonly<Record<string, number>>[];
  /** What the best epoch's weights say about examples. */
  predict(examples: readonly X[]): Promise<Y[]>;
  /** How well they agree with what is known. */
  evaluate(examples: readonly X[]): Promise<Record<string, number>>;
}

/** Trains a head on top of a pre-trained ALBERT, and the ALBERT with it. */
export async function finetuneHead<X, Y>(
  pre: AlbertSource,
  task: HeadTask<X, Y>,
  options: HeadTraining<X>,
): Promise<TunedHead<X, Y>> {
  checkOptions("finetuneHead", options, rules);
  const { epochs: count = 3, batch = 16, rate = 1e-4, seed = 1, say } = options;
  const from = withoutPairs(await albertFrom(pre, { say }));
  const kept = needTokenizer(from);
  const description = { model: withoutWarmup(from.description.model), heads: task.heads };
  const described = describedAlbert(description);
  const length = Math.min(options.length ?? 128, described.model.options.length);
  const engine = options.engine ?? (await defaultEngine());
  const opened = { task, described, tokenizer: kept.tokenizer, engine, length, batch, seed };
  const data = headBatches(opened, options.train, say);
  const epochs: Record<string, number>[] = [];
  const steps = count * data.count;
  const { best, weights: last } = await train(trainableHead(opened), {
    engine,
    data: { train: data },
    steps,
    rate,
    seed,
    schedule: "linear",
    warmup: Math.round(0.1 * steps),
    shuffle: false,
    groups: optimiserGroups(described.parameters, { optimiser: "adamw", weightDecay: 0.01, settings: {} }),
    initial: transferred(withoutHead(from), described, seed).weights,
    evaluateEvery: data.count,
    evaluate: async (weights, tell) => {
      const { loss, answers } = await answersOf(opened, weights, options.dev, { tell });
      const scalars = task.figures(options.dev, answers);
      epochs.push(scalars);
      return { loss, scalars, decisive: task.decisive };
    },
  }).result;
  const weights = best?.weights ?? last;
  const predict = async (examples: readonly X[]) => [...(await answersOf(opened, weights, examples)).answers];
  return {
    ...described,
    description,
    weights,
    tokenizer: kept,
    task,
    epochs,
    predict,
    evaluate: async (examples) => task.figures(examples, await predict(examples)),
  };
}

const rules = {
  train: required(anything),
  dev: required(anything),
  epochs: whole(1),
  batch: whole(1, LARGEST.batch),
  rate: number({ above: 0 }),
  length: whole(5, LARGEST.length),
  seed: whole(),
  engine: anything,
  say: anything,
};

/** The penalty on depth counts from the first update on. */
function withoutWarmup(model: TrainedAlbert["description"]["model"]) {
  const { depth, halting } = model;
  if (typeof depth === "string") return { ...model, depth: tunedDepth(depth) };
  return halting ? { ...model, halting: { ...halting, ponderFrom: 0, ponderWarmup: 0 } } : model;
}

/** What `train` takes of it. */
export const trainableHead = <X, Y>({ task, described, batch, length }: OpenedHead<X, Y>) => ({
  parameters: described.parameters,
  objective: () =>
    albertObjective(described.model, Object.values(described.heads), {
      batch: batch * task.rows,
      length,
      training: true,
    }),
});
