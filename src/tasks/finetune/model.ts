/** What a fine-tuning works on: the model with its tokenizer, out of a run or new, and the encoded texts of a task. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { startProgress } from "../../base/progress.ts";
import { type AlbertDescription, type DescribedAlbert, describedAlbert } from "../../model/albert/description.ts";
import { initialise } from "../../nn/index.ts";
import { dataFolder } from "../../text/files/corpus.ts";
import { readGlue } from "../../text/files/glue.ts";
import { openTokenizer } from "../../text/files/tokenizer.ts";
import { type EncodedExample, encodeGlue } from "../../text/labelled/glue-batches.ts";
import type { GlueTask } from "../../text/labelled/glue-tasks.ts";
import { specialIds } from "../../text/masked/documents.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Say } from "../job.ts";
import { type AlbertRun, needTokenizer, openAlbertRun, transferred } from "../pretrain/albert-run.ts";
import type { Weights } from "./classifier.ts";
import { withEmbeddingsOf } from "./rescaling.ts";
import { describeGlue, type GlueSettings } from "./settings.ts";

/** Where first weights come from: a run and the step of its checkpoint, or nowhere. */
export interface Origin {
  readonly from?: string | undefined;
  /** Open: the best checkpoint, or the last. */
  readonly fromStep?: number | undefined;
}

export interface GlueModel {
  readonly tokenizer: OpenTokenizer;
  readonly description: AlbertDescription;
  readonly described: DescribedAlbert;
  readonly weights: Weights;
  readonly origin: Origin;
}

export interface Texts {
  readonly training: readonly EncodedExample[];
  readonly dev: readonly EncodedExample[];
}

export interface GlueJob extends GlueModel, Texts {
  readonly task: GlueTask;
  readonly settings: GlueSettings;
  /** Id of padding. */
  readonly pad: number;
}

/** Where GLUE's tasks lie. */
export const glueFolder = ({ glue, data }: Pick<GlueSettings, "glue" | "data">) =>
  glue ?? join(dataFolder(data ?? undefined), "glue");

/** A task's texts for a model; those that are known are not read again. */
export function openGlueJob(
  task: GlueTask,
  settings: GlueSettings,
  model: GlueModel,
  say: Say,
  known?: Texts,
): GlueJob {
  const { tokenizer } = model.tokenizer;
  const length = Math.min(settings.length, model.described.model.options.length);
  const encoded = (split: string, limit?: number) => {
    const examples = readGlue(task, split, glueFolder(settings), { warn: say, ...(limit ? { limit } : {}) });
    const options = { output: process.stderr, total: examples.length, unit: "texts" };
    const progress = startProgress(`reading ${task.name} ${split}`, options);
    const found = encodeGlue(examples, tokenizer, length, (done) => progress.at(done));
    progress.end();
    return found;
  };
  const training = known?.training ?? encoded("train", settings.examples ?? undefined);
  const dev = known?.dev ?? encoded("dev");
  return { task, settings, ...model, training, dev, pad: specialIds(tokenizer).pad };
}

/** A model of the task: with a run's weights below a new head, or all new. */
export function openGlueModel(task: GlueTask, settings: GlueSettings, origin: Origin): Promise<GlueModel> {
  return origin.from === undefined
    ? newModel(task, settings)
    : knownModel(task, settings, origin.from, origin.fromStep);
}

async function newModel(task: GlueTask, settings: GlueSettings): Promise<GlueModel> {
  const run = settings.like === null ? undefined : await openAlbertRun(settings.like);
  const tokenizer = await tokenizerFor(settings, run);
  const description = describeGlue(task, settings, run?.config.model ?? { vocabulary: tokenizer.tokenizer.size });
  const described = describedAlbert(description);
  return { tokenizer, description, described, weights: initialise(described.parameters, settings.seed), origin: {} };
}

async function knownModel(task: GlueTask, settings: GlueSettings, from: string, step?: number): Promise<GlueModel> {
  if (existsSync(from) && !statSync(from).isDirectory()) {
    const remedy = `take it over first: layerwise import ${from} --out models/mine`;
    reject({ who: "--from", needed: "a run folder", got: `the file ${from}`, remedy }, 2);
  }
  const run = await openAlbertRun(from, step);
  const tokenizer = await tokenizerFor(settings, run);
  const description = describeGlue(task, settings, run.config.model);
  const described = describedAlbert(description);
  const { weights: found } = transferred(withoutClassifier(run), described, settings.seed);
  const deviation = settings.embeddingDeviation;
  const weights = deviation === null ? found : withEmbeddingsOf(deviation, described, found);
  return { tokenizer, description, described, weights, origin: { from, fromStep: run.step } };
}

/** Another task's classes mean nothing here. */
function withoutClassifier({ path, state }: AlbertRun): Pick<AlbertRun, "path" | "state"> {
  const weights = new Map([...state.weights].filter(([name]) => !name.startsWith("classifier.")));
  return { path, state: { ...state, weights } };
}

/** The one asked for, or the run's own. */
async function tokenizerFor({ tokenizer, data }: GlueSettings, run?: AlbertRun): Promise<OpenTokenizer> {
  if (tokenizer !== null) return openTokenizer(tokenizer, data === null ? {} : { data });
  if (run) return needTokenizer(run);
  const remedy = "name one with --tokenizer";
  return reject({ who: "--scratch", needed: "a tokenizer with [CLS] and [SEP]", got: "none", remedy }, 2);
}
