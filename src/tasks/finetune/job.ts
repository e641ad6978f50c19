/** The job of fine-tuning: one training step over batches of any length, evaluated on the dev set after each epoch. */

import { lazily } from "../../base/lazily.ts";
import type { CompleteAlbertOptions } from "../../model/albert/albert.ts";
import type { TextFiles } from "../../text/files/labelled.ts";
import { trainingBatches } from "../../text/labelled/glue-batches.ts";
import { isGlue } from "../../text/labelled/glue-tasks.ts";
import type { PlainText, TextTask } from "../../text/labelled/text-task.ts";
import { specialIds } from "../../text/masked/documents.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Batches } from "../../train/evaluate.ts";
import type { Weights } from "../../train/stages.ts";
import type { Tell } from "../../train/telling.ts";
import { defaultEngine } from "../engine.ts";
import type { Fact, Handed, Job, NoteEvent } from "../job.ts";
import { type AlbertSource, albertFrom } from "../pretrain/origin.ts";
import { Classifier, finetuneObjective, guessesOf, taskFigures } from "./classifier.ts";
import { type Examples, examplesHash, type GivenExamples, lengthFor, openExamples } from "./examples.ts";
import { cappedBatches, exitDepths } from "./exit-depths.ts";
import { fittedHead } from "./fitted-head.ts";
import { type FinetuneModel, openModel } from "./model.ts";
import { type Prediction, type PredictOptions, predictTexts } from "./predictions.ts";
import { type GlueSettings, headOf } from "./settings.ts";
import {
  type Before,
  type Judging,
  type TunedParts,
  type TunedResult,
  type Tuning,
  tunedFacts,
  tunedJob,
} from "./tuned-job.ts";

/** A fine-tuning, opened with its model and texts. */
export interface FinetuneParts extends TunedParts {
  readonly task: TextTask;
  readonly examples: Examples;
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
export interface FinetuneResult extends TunedResult {
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
  const model = await openModel(headOf(task, settings), settings, known, given);
  const examples = given.examples ?? openExamples(task, settings, model, given);
  return { task, settings, model, examples, files, engine: given.engine ?? (await defaultEngine(settings)) };
}

/** The job that trains it. */
export function finetuneJob(parts: FinetuneParts, before?: Before): Job<FinetuneResult> {
  const { task, settings, model, files, engine } = parts;
  const { described, description, tokenizer } = model;
  const { name, ...textTask } = task;
  const own = isGlue(task) ? {} : { textTask, ...(files ? { files } : {}) };
  const depths = exitDepths(description.model, settings);
  const tuning: Tuning<Pick<FinetuneResult, "predict">> = {
    objective: ({ batch }) => finetuneObjective(described, batch, depths !== undefined),
    batches: depths ? cappedBatches(batchesOf(parts), { depths, ...settings }) : batchesOf(parts),
    task,
    training: { command: FINETUNE_COMMAND, glueTask: name, ...own },
    text: examplesHash(parts.examples),
    describe: () => describe(parts),
    ...(settings.headStart === "fitted" ? { begin: () => fittedHead(parts, padOf(model)) } : {}),
    judging: () => judging(parts),
    uses: (weights) => {
      const tuned = { engine, description, described, weights, tokenizer, length: lengthFor(settings, model) };
      return { predict: (texts, how) => predictTexts(tuned, task, texts, how) };
    },
  };
  return tunedJob(parts, tuning, before);
}

/** The dev set after each epoch, by a program that is compiled when it is first asked. */
function judging(parts: FinetuneParts): Judging {
  const classifier = lazily(() =>
    Classifier.create(parts.engine, parts.model.described, { length: parts.settings.length }),
  );
  const said: Float64Array[] = [];
  return {
    judge: async (weights, tell) => {
      const { guesses, ...measured } = await judge(await classifier(), parts, weights, tell);
      said.push(guesses);
      return measured;
    },
    notes: () => oneLabelNote(parts, said),
    release: () => classifier.release(),
  };
}

/** Loss, metrics and depth of the dev set. The task's first metric decides. */
async function judge(
  classifier: Classifier,
  { task, model, examples: { dev } }: FinetuneParts,
  weights: Weights,
  tell?: Tell,
) {
  const onBatch = (done: number) => tell?.(done, dev.length);
  const scored = await classifier.score(weights, dev, { pad: padOf(model), onBatch });
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

const batchesOf = ({ examples, settings, task, model }: FinetuneParts): Batches =>
  trainingBatches(examples.train, {
    rows: settings.batch,
    seed: settings.seed,
    pad: padOf(model),
    length: model.described.model.options.length,
    regression: !task.labels,
    several: task.several && task.labels?.length,
  });

function depthText({ depth, halting }: CompleteAlbertOptions): string {
  if (typeof depth === "string") return depth;
  return halting ? `at most ${depth}` : `${depth}, fixed`;
}

const exitFacts = (depths: readonly number[] | undefined): Fact[] =>
  depths ? [{ what: "stops at", value: `${depths.join(", ")}, drawn for each text` }] : [];

function describe(parts: FinetuneParts): Fact[] {
  const { options } = parts.model.described.model;
  const { batch, epochs, steps } = parts.settings;
  return tunedFacts(parts, { task: parts.task.name, what: "texts", ...parts.examples }, [
    { what: "depth", value: depthText(options) },
    ...exitFacts(exitDepths(parts.model.description.model, parts.settings)),
    { what: "updates of", value: `${batch} texts, ${steps === null ? `${epochs} epochs` : `${steps} in all`}` },
  ]);
}
