/** The job of a model that `train` trains as it is: language models and translation, and whatever is like them. */
import { formatNumber } from "../base/table.ts";
import type { Engine } from "../engine/engine.ts";
import type { ModelReport } from "../model/report.ts";
import type { Parameter } from "../nn/index.ts";
import { TOKENIZER_FILE } from "../runs/folder.ts";
import type { OpenTokenizer } from "../text/tokenizer.ts";
import { type Batches, type TextSize, tokensIn } from "../train/evaluate.ts";
import type { Group } from "../train/memory.ts";
import type { ScheduleName } from "../train/schedule.ts";
import type { Weights } from "../train/stages.ts";
import { openStage, type Trainable, type TrainOptions, type TrainResult, train } from "../train/train.ts";
import { concludedFrom } from "./concluded.ts";
import type { Fact, Job, Rehearsal } from "./job.ts";

type Model = Trainable & { readonly parameters: readonly Parameter[] };

/** The settings that say how to train, whatever is trained. */
export interface TrainingSettings {
  readonly seed: number;
  readonly rate: number;
  readonly schedule: ScheduleName;
  readonly warmup: number;
  readonly floor: number;
  readonly clipNorm: number | null;
  readonly clipValue: number | null;
  readonly accumulate: number;
  readonly steps: number | null;
  readonly epochs: number | null;
  readonly minutes: number | null;
  readonly evaluateEvery: number | null;
  readonly checkpointEvery: number;
  readonly patience: number | null;
  readonly keep: number;
}

export interface TrainedParts<M extends Model> {
  readonly settings: TrainingSettings;
  /** The text of config.yaml. */
  readonly config: string;
  readonly engine: Engine;
  readonly model: M;
  readonly tokenizer: OpenTokenizer;
  readonly data: { readonly train: Batches; readonly valid: Batches };
  readonly validText: TextSize;
  readonly groups: readonly Group[];
  readonly scalars?: TrainOptions["scalars"];
  /** First weights, where they are not drawn. */
  readonly initial?: Weights | undefined;
  readonly report: () => ModelReport;
  readonly facts: readonly Fact[];
}

/** What such a job ends with: a model and its weights, ready to be used. */
export interface TrainedModel<M extends Model> extends TrainResult<M> {
  readonly tokenizer: OpenTokenizer;
}

/** A job that trains the model by `train`. */
export function trainedJob<M extends Model>(parts: TrainedParts<M>): Job<TrainedModel<M>> {
  const { settings, config, engine, model, tokenizer, data } = parts;
  const options = trainOptions(parts);
  return {
    config,
    engine,
    files: { [TOKENIZER_FILE]: tokenizer.bytes },
    keep: settings.keep,
    length: { totalSteps: totalSteps(settings, data.train), minutes: settings.minutes },
    describe: () => describe(parts),
    events: async function* ({ resume, signal }) {
      const session = train(model, { ...options, resume, signal });
      for await (const event of session) yield event;
      return { ...(await session.result), tokenizer };
    },
    concluded: async (state, run) => ({ model, tokenizer, ...(await concludedFrom(run, model.parameters, state)) }),
    rehearse: async () => [await rehearsal(parts, options)],
  };
}

function trainOptions<M extends Model>(parts: TrainedParts<M>): TrainOptions {
  const { settings, engine, data, validText, groups, scalars, initial } = parts;
  const { steps, epochs, minutes, evaluateEvery, patience, ...how } = settings;
  const length = steps !== null ? { steps } : epochs !== null ? { epochs } : { minutes: minutes ?? 1 };
  return {
    ...length,
    engine,
    data,
    validText,
    groups,
    scalars,
    initial,
    seed: how.seed,
    rate: how.rate,
    schedule: how.schedule,
    warmup: how.warmup,
    floor: how.floor,
    clipNorm: how.clipNorm,
    clipValue: how.clipValue,
    accumulate: how.accumulate,
    checkpointEvery: how.checkpointEvery,
    evaluateEvery: evaluateEvery ?? undefined,
    patience: patience ?? undefined,
  };
}

function totalSteps({ steps, epochs, accumulate }: TrainingSettings, { count }: Batches): number | null {
  if (steps !== null) return steps;
  return epochs === null ? null : Math.max(1, Math.floor((epochs * count) / accumulate));
}

async function rehearsal<M extends Model>(parts: TrainedParts<M>, options: TrainOptions): Promise<Rehearsal> {
  const { settings, model, data } = parts;
  return {
    name: "training",
    stage: await openStage(model, options),
    accumulate: settings.accumulate,
    updates: (stepMs) => totalSteps(settings, data.train) ?? Math.floor(((settings.minutes ?? 1) * 60_000) / stepMs),
  };
}

const million = (n: number) => `${formatNumber(n / 1e6, 2)} M`;

function describe<M extends Model>({ report, facts, engine, data }: TrainedParts<M>): Fact[] {
  const { parameters, executedDepth, uniqueBlocks, flopsPerToken, trainingFlopsPerToken } = report();
  return [
    ...facts,
    { what: "distinct parameters", value: million(parameters) },
    { what: "executed depth", value: `${executedDepth} (${uniqueBlocks} own weights)` },
    { what: "FLOPs per token", value: `${million(flopsPerToken)}, ${million(trainingFlopsPerToken)} in training` },
    {
      what: "batches per epoch",
      value: `${formatNumber(data.train.count)} of ${formatNumber(tokensIn(data.train))} tokens`,
    },
    { what: "threads", value: `${engine.threads} on ${engine.device}` },
  ];
}
