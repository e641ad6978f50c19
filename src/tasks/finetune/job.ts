/** The job of fine-tuning: one training step over batches of any length, evaluated on the dev set after each epoch. */

import { lazily } from "../../base/lazily.ts";
import { formatNumber } from "../../base/table.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Dim } from "../../graph/index.ts";
import { adapterParts } from "../../model/albert/lora.ts";
import type { Parameter } from "../../nn/index.ts";
import type { TextFiles } from "../../text/files/labelled.ts";
import { trainingBatches } from "../../text/labelled/glue-batches.ts";
import { isGlue } from "../../text/labelled/glue-tasks.ts";
import type { PlainText, TextTask } from "../../text/labelled/text-task.ts";
import { specialIds } from "../../text/masked/documents.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Batches } from "../../train/evaluate.ts";
import type { EvaluationEvent, TrainEvent } from "../../train/events.ts";
import { optimiserGroups } from "../../train/groups.ts";
import type { Weights } from "../../train/stages.ts";
import type { Tell } from "../../train/telling.ts";
import { type TrainOptions, train } from "../../train/train.ts";
import { concludedFrom, type Outcome } from "../concluded.ts";
import { defaultEngine } from "../engine.ts";
import { engineFact, parametersFact } from "../facts.ts";
import type { Fact, Handed, Job, NoteEvent, Start } from "../job.ts";
import { albertContent, type TrainedAlbert } from "../pretrain/albert-run.ts";
import { type AlbertSource, albertFrom } from "../pretrain/origin.ts";
import { trainJob } from "../trained-job.ts";
import { baseBytes } from "./adapter.ts";
import { Classifier, finetuneObjective, guessesOf, taskFigures } from "./classifier.ts";
import { type Examples, examplesHash, type GivenExamples, lengthFor, openExamples } from "./examples.ts";
import { type FinetuneModel, openModel } from "./model.ts";
import { type Prediction, type PredictOptions, predictTexts } from "./predictions.ts";
import { type EpochResult, epochResult, RESULT_FILE, resultText, taskResult } from "./result.ts";
import { type GlueSettings, headOf, rateOf } from "./settings.ts";

/** A fine-tuning, opened with its model and texts. */
export interface FinetuneParts {
  readonly task: TextTask;
  readonly settings: GlueSettings;
  readonly model: FinetuneModel;
  readonly examples: Examples;
  readonly engine: Engine;
  /** Where the texts stand, where they are out of a program's or a person's own files. */
  readonly files?: TextFiles | undefined;
}

/** What a program hands over, and who is told what is done. */
export interface FinetuneGiven extends GivenExamples, Handed {
  /** The ALBERT to begin with. Default: new weights. */
  readonly from?: AlbertSource | undefined;
  /** Of a run, the step of its checkpoint. */
  readonly fromStep?: number | undefined;
  readonly tokenizer?: OpenTokenizer | undefined;
  /** Texts that were encoded before. */
  readonly examples?: Examples | undefined;
  /** Where `train` and `dev` came from: a run keeps it, and is resumed and evaluated with it. */
  readonly files?: TextFiles | undefined;
}

/** What fine-tuning ends with: a model that predicts, and how it did after each epoch. */
export interface FinetuneResult extends TrainedAlbert, Outcome {
  readonly tokenizer: OpenTokenizer;
  readonly task: TextTask;
  /** Of all sessions. */
  readonly epochs: readonly EpochResult[];
  /** Labels, scores and depths of texts, by the best epoch's weights. */
  predict(texts: readonly (string | PlainText)[], options?: PredictOptions): Promise<Prediction[]>;
}

/** What `training.command` says in config.yaml. */
export const FINETUNE_COMMAND = "glue";

/** Opens model, texts and engine. */
export async function openFinetune(
  task: TextTask,
  settings: GlueSettings,
  given: FinetuneGiven = {},
): Promise<FinetuneParts> {
  const { from, fromStep: step, say, files } = given;
  const known = from === undefined ? undefined : await albertFrom(from, { step, say });
  const model = await openModel(headOf(task, settings), settings, known, given.tokenizer);
  const examples = given.examples ?? openExamples(task, settings, model, given);
  return { task, settings, model, examples, files, engine: given.engine ?? (await defaultEngine(settings)) };
}

/** The epochs of earlier sessions, and the best of them, where a run goes on. */
export interface Before {
  readonly evaluations: readonly EvaluationEvent[];
  best(): Promise<Outcome["best"]>;
}

/** The job that trains it. */
export function finetuneJob(parts: FinetuneParts, before?: Before): Job<FinetuneResult> {
  const { task, settings, model, files } = parts;
  const { description, described, tokenizer, origin } = model;
  const options = trainOptions(parts);
  const { name, ...textTask } = task;
  const own = isGlue(task) ? {} : { textTask, ...(files ? { files } : {}) };
  const training = { command: FINETUNE_COMMAND, glueTask: name, ...own, ...origin, ...settings };
  const { count } = options.data.train;
  return {
    ...trainJob(trainableOf(parts), options, {
      ...albertContent({ description, training, tokenizer, base: baseOf(parts) }),
      text: examplesHash(parts.examples),
      keep: settings.keep,
      describe: () => describe(parts),
    }),
    events: (start) => events(parts, options, start, before),
    concluded: async (state, run) => {
      const evaluations = (await run.events()).filter((event) => event.type === "evaluation");
      const outcome = await concludedFrom(run, trainedOf(described), state);
      return resultOf(parts, outcome, epochsOf(evaluations, count));
    },
    kept: ({ reason, epochs }): Record<string, string> =>
      reason === "stopped" ? {} : { [RESULT_FILE]: resultText(taskResult(task, epochs)) },
  };
}

/** The epochs of evaluations. */
export const epochsOf = (evaluations: readonly EvaluationEvent[], perEpoch: number) =>
  evaluations.map((event) => epochResult(event, perEpoch));

function resultOf(parts: FinetuneParts, outcome: Outcome, epochs: readonly EpochResult[]): FinetuneResult {
  const { task, settings, model, engine } = parts;
  const { described, description, tokenizer } = model;
  const weights = withFrozen(parts, outcome.best?.weights ?? outcome.weights);
  const tuned = { engine, description, described, weights, tokenizer, length: lengthFor(settings, model) };
  return {
    ...described,
    description,
    tokenizer,
    task,
    epochs,
    ...outcome,
    weights: withFrozen(parts, outcome.weights),
    best: outcome.best && { ...outcome.best, weights },
    predict: (texts, how) => predictTexts(tuned, task, texts, how),
  };
}

async function* events(
  parts: FinetuneParts,
  options: Options,
  { resume, signal }: Start,
  before: Before | undefined,
): AsyncGenerator<TrainEvent | NoteEvent, FinetuneResult, void> {
  const classifier = lazily(() => Classifier.create(parts.engine, parts.model.described));
  const evaluations = [...(before?.evaluations ?? [])];
  const said: Float64Array[] = [];
  try {
    const evaluate = async (weights: Weights, tell?: Tell) => {
      const { guesses, ...measured } = await judge(await classifier(), parts, weights, tell);
      said.push(guesses);
      return measured;
    };
    const session = train(trainableOf(parts), { ...options, evaluate, resume, signal });
    for await (const event of session) {
      if (event.type === "evaluation") evaluations.push(event);
      yield event;
    }
    const { model: _, ...outcome } = await session.result;
    const best = outcome.best ?? (await before?.best());
    if (outcome.reason !== "stopped") yield* oneLabelNote(parts, said);
    return resultOf(parts, { ...outcome, best }, epochsOf(evaluations, options.data.train.count));
  } finally {
    await classifier.release();
  }
}

/** Loss, metrics and depth of the dev set. The task's first metric decides. */
async function judge(
  classifier: Classifier,
  { task, model, examples: { dev } }: FinetuneParts,
  weights: Weights,
  tell?: Tell,
) {
  const onBatch = (done: number) => tell?.(done, dev.length);
  const scored = await classifier.score(withFrozen({ model }, weights), dev, { pad: padOf(model), onBatch });
  const { loss, figures: scalars } = taskFigures(task, scored, dev);
  const guesses = guessesOf(scored, task);
  return { loss, perplexity: Math.exp(loss), tokens: dev.length, scalars, decisive: task.metrics[0]!, guesses };
}

/** Says so where a model gave every text one label all along: it learnt how frequent labels are, and no more. */
function* oneLabelNote(
  { task, examples: { dev } }: FinetuneParts,
  said: readonly Float64Array[],
): Generator<NoteEvent> {
  const one = (guesses: Float64Array) => guesses.every((guess) => guess === guesses[0]);
  if (!task.labels || task.several || dev.length < 2 || said.length === 0 || !said.every(one)) return;
  const what = `after every epoch all ${dev.length} texts to judge by got the same label`;
  yield { type: "note", text: `${task.name}: ${what}: try --pooling mean, a lower --rate, more epochs or examples` };
}

const padOf = ({ tokenizer }: FinetuneModel) => specialIds(tokenizer.tokenizer).pad;

/** What is trained: all, or with adapters only those and the head. */
export const trainedOf = (described: FinetuneModel["described"]): readonly Parameter[] =>
  described.model.options.lora ? adapterParts(described).trained : described.parameters;

/** The model's weights with what rests. */
function withFrozen({ model }: Pick<FinetuneParts, "model">, weights: Weights): Weights {
  return new Map([...frozenOf(model), ...weights]);
}

/** What rests below adapters. */
export function frozenOf({ described, weights }: Pick<FinetuneModel, "described" | "weights">): Weights {
  if (!described.model.options.lora) return new Map();
  return new Map(adapterParts(described).frozen.map(({ tensor }) => [tensor, weights.get(tensor)!]));
}

/** The file of what rests, where something does. */
export const baseOf = ({ model }: Pick<FinetuneParts, "model">): Uint8Array | undefined =>
  model.described.model.options.lora ? baseBytes(model.described, model.weights) : undefined;

const trainableOf = ({ model: { described } }: FinetuneParts) => ({
  parameters: trainedOf(described),
  objective: ({ batch }: { batch: number }) => finetuneObjective(described, batch),
});

type Options = TrainOptions & { readonly steps: number };

/** The rate rises over a fraction of the updates, then falls along a line to 0. */
function trainOptions(parts: FinetuneParts): Options {
  return tuningOptions(parts, batchesOf(parts));
}

/** The same for any head over its batches. */
export function tuningOptions(
  { settings, model, engine }: Pick<FinetuneParts, "settings" | "model" | "engine">,
  batches: Batches,
): Options {
  const { optimiser, weightDecay } = settings;
  const steps = settings.steps ?? settings.epochs * batches.count;
  return {
    engine,
    data: { train: batches },
    steps,
    groups: optimiserGroups(trainedOf(model.described), {
      optimiser,
      weightDecay,
      settings: { adamw: { epsilon: 1e-6 } },
    }),
    initial: new Map(trainedOf(model.described).map(({ tensor }) => [tensor, model.weights.get(tensor)!])),
    frozen: frozenOf(model),
    seed: settings.seed,
    rate: rateOf(settings, model.origin.from === null),
    schedule: "linear",
    warmup: Math.min(steps, settings.warmupSteps ?? Math.round(settings.warmup * steps)),
    clipNorm: settings.clipNorm,
    shuffle: false,
    evaluateEvery: batches.count,
    checkpointEvery: settings.checkpointEvery,
  };
}

const batchesOf = ({ examples, settings, task, model }: FinetuneParts): Batches =>
  trainingBatches(examples.train, {
    rows: settings.batch,
    seed: settings.seed,
    pad: padOf(model),
    length: model.described.model.options.length,
    regression: !task.labels,
    several: task.several && task.labels?.length,
  });

/** How much adapters train. */
export function adapterFacts({ described }: FinetuneModel): Fact[] {
  const { lora } = described.model.options;
  if (!lora) return [];
  const count = trainedOf(described).reduce((sum, { tensor }) => sum + tensor.shape.reduce<number>(times, 1), 0);
  return [{ what: "trained", value: `adapters of rank ${lora.rank} and the head: ${formatNumber(count)} parameters` }];
}

const times = (product: number, dim: Dim) => product * Number(dim);

function describe({ task, settings, model, examples, engine }: FinetuneParts): Fact[] {
  const { options } = model.described.model;
  const { batch, epochs, steps, optimiser } = settings;
  const { from } = model.origin;
  return [
    { what: "task", value: task.name },
    {
      what: "texts",
      value: `${formatNumber(examples.train.length)} to learn from, ${formatNumber(examples.dev.length)} to judge by`,
    },
    { what: "weights", value: from ?? "new" },
    parametersFact(model.described.parameters),
    ...adapterFacts(model),
    { what: "depth", value: options.halting ? `at most ${options.depth}` : `${options.depth}, fixed` },
    { what: "updates of", value: `${batch} texts, ${steps === null ? `${epochs} epochs` : `${steps} in all`}` },
    { what: "optimiser", value: `${optimiser}, rate ${rateOf(settings, from === null)}` },
    engineFact(engine),
  ];
}
