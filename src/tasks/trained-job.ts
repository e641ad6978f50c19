/** Jobs of models that `train` trains as they are; those of language models and translation bring a tokenizer. */

import type { Engine } from "../engine/engine.ts";
import type { ModelReport } from "../model/report.ts";
import type { Parameter } from "../nn/index.ts";
import { TOKENIZER_FILE } from "../runs/folder.ts";
import type { OpenTokenizer } from "../text/tokenizer.ts";
import type { Batches, TextSize } from "../train/evaluate.ts";
import { checkMemory, type Group } from "../train/memory.ts";
import type { Trainable } from "../train/objective.ts";
import { relayed } from "../train/session.ts";
import type { Weights } from "../train/stages.ts";
import { openStage, type TrainOptions, type TrainResult, train } from "../train/train.ts";
import { concludedFrom } from "./concluded.ts";
import { batchesFact, engineFact, million } from "./facts.ts";
import { histogramsEvery } from "./histograms.ts";
import type { Fact, Job } from "./job.ts";
import type { LanguageConfig } from "./language/settings.ts";
import type { TranslateConfig } from "./translate/settings.ts";

/** A model that a job can train. */
export type TrainableModel = Trainable & { readonly parameters: readonly Parameter[] };

/** Settings of `layerwise train`; `task` tells them apart. */
export type TrainConfig = LanguageConfig | TranslateConfig;

/** What a job of `train` has besides the model and the options of its training. */
type Kept = Pick<Job, "config" | "text" | "files" | "keep" | "describe" | "attach">;

/** A job that carries `train` out. */
export function trainJob<M extends Trainable>(model: M, options: TrainOptions, kept: Kept): Job<TrainResult<M>> {
  const { engine, steps, epochs, minutes, accumulate = 1, data } = options;
  const passes = epochs === undefined ? null : Math.max(1, Math.floor((epochs * data.train.count) / accumulate));
  const totalSteps = steps ?? passes;
  if (Array.isArray(options.groups)) checkMemory(options.groups, accumulate > 1);
  return {
    ...kept,
    engine,
    length: { totalSteps, minutes: minutes ?? null },
    events: ({ resume, signal }) => relayed(train(model, { ...options, resume, signal })),
    concluded: async (state, run) => ({ model, ...(await concludedFrom(run, model.parameters, state)) }),
    rehearse: async () => [
      {
        name: "training",
        stage: await openStage(model, options),
        accumulate,
        updates: (stepMs) => totalSteps ?? Math.floor(((minutes ?? 1) * 60_000) / stepMs),
      },
    ],
  };
}

export interface TrainedParts<M extends TrainableModel> {
  readonly settings: TrainConfig;
  /** The text of config.yaml. */
  readonly config: string;
  /** A hash of what it learns from. */
  readonly text: string;
  readonly engine: Engine;
  readonly model: M;
  readonly tokenizer: OpenTokenizer;
  readonly data: { readonly train: Batches; readonly valid: Batches };
  readonly validText: TextSize;
  readonly groups: readonly Group[];
  readonly scalars?: TrainOptions["scalars"];
  /** Figures of evaluations besides the loss. */
  readonly metrics?: TrainOptions["metrics"];
  /** First weights, where they are not drawn. */
  readonly initial?: Weights | undefined;
  readonly report: () => ModelReport;
  readonly facts: readonly Fact[];
}

/** What such a job ends with: a model and its weights, ready to be used. */
export interface TrainedModel<M extends TrainableModel> extends TrainResult<M> {
  readonly tokenizer: OpenTokenizer;
}

/** A job that trains the model by `train`, and keeps its tokenizer. */
export function trainedJob<M extends TrainableModel>(parts: TrainedParts<M>): Job<TrainedModel<M>> {
  const { settings, config, text, model, tokenizer } = parts;
  const files = { [TOKENIZER_FILE]: tokenizer.bytes };
  let facts: readonly Fact[] | undefined; // counted from graphs, which takes a while
  const kept = { config, text, files, keep: settings.keep, describe: () => (facts ??= describe(parts)) };
  const job = trainJob(model, trainOptions(parts), { ...kept, ...histogramsEvery(settings.histogramEvery) });
  return {
    ...job,
    events: async function* (start) {
      return { ...(yield* job.events(start)), tokenizer };
    },
    concluded: async (state, run) => ({ ...(await job.concluded(state, run)), tokenizer }),
  };
}

/** Most updates over which the rate rises, unless told otherwise. */
const usualWarmup = { language: 50, translate: 200 } as const;

function trainOptions<M extends TrainableModel>(parts: TrainedParts<M>): TrainOptions {
  const { settings, engine, data, validText, groups, scalars, metrics, initial } = parts;
  const { steps, epochs, minutes, evaluateEvery, patience, ...how } = settings;
  const length = steps !== null ? { steps } : epochs !== null ? { epochs } : { minutes: minutes ?? 1 };
  return {
    ...length,
    engine,
    data,
    validText,
    groups,
    scalars,
    metrics,
    initial,
    seed: how.seed,
    rate: how.rate,
    schedule: how.schedule,
    warmup: how.warmup ?? ((total) => Math.min(usualWarmup[how.task], Math.floor(total / 10))),
    floor: how.floor,
    clipNorm: how.clipNorm,
    clipValue: how.clipValue,
    accumulate: how.accumulate,
    recompute: how.recompute,
    checkpointEvery: how.checkpointEvery,
    evaluateEvery: evaluateEvery ?? undefined,
    patience: patience ?? undefined,
  };
}

function describe<M extends TrainableModel>({ report, facts, engine, data }: TrainedParts<M>): Fact[] {
  const { parameters, executedDepth, uniqueBlocks, flopsPerToken, trainingFlopsPerToken } = report();
  return [
    ...facts,
    { what: "distinct parameters", value: million(parameters) },
    { what: "executed depth", value: `${executedDepth} (${uniqueBlocks} own weights)` },
    { what: "FLOPs per token", value: `${million(flopsPerToken)}, ${million(trainingFlopsPerToken)} in training` },
    batchesFact(data.train),
    engineFact(engine),
  ];
}
