/** The model that is fine-tuned: a known ALBERT below a new head, or all new. */
import { reject } from "../../base/errors.ts";
import {
  type AlbertDescription,
  type DescribedAlbert,
  describedAlbert,
  type HeadOptions,
} from "../../model/albert/description.ts";
import { initialise } from "../../nn/index.ts";
import { openTokenizer } from "../../text/files/tokenizer.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Weights } from "../../train/stages.ts";
import { needTokenizer, openAlbertRun, type TrainedAlbert, transferred } from "../pretrain/albert-run.ts";
import { placeOf } from "../pretrain/origin.ts";
import { withEmbeddingsOf } from "./rescaling.ts";
import { describeTuned, type GlueSettings } from "./settings.ts";

/** Where first weights came from, as config.yaml keeps it: a run and the step of its checkpoint, or nowhere. */
export interface Origin {
  readonly from: string | null;
  readonly fromStep: number | null;
}

/** A model before its first update. */
export interface FinetuneModel {
  readonly tokenizer: OpenTokenizer;
  readonly description: AlbertDescription;
  readonly described: DescribedAlbert;
  /** First weights. */
  readonly weights: Weights;
  readonly origin: Origin;
}

/** The model below a new head: with the weights of `from`, or all new. */
export function openModel(
  heads: HeadOptions,
  settings: GlueSettings,
  from: TrainedAlbert | undefined,
  tokenizer?: OpenTokenizer,
): Promise<FinetuneModel> {
  return from ? knownModel(heads, settings, from, tokenizer) : newModel(heads, settings, tokenizer);
}

async function newModel(heads: HeadOptions, settings: GlueSettings, given?: OpenTokenizer): Promise<FinetuneModel> {
  const like = settings.like === null ? undefined : await openAlbertRun(settings.like);
  const tokenizer = given ?? (await tokenizerFor(settings, like));
  const known = like?.description.model ?? { vocabulary: tokenizer.tokenizer.size };
  const description = describeTuned(heads, settings, known);
  const described = describedAlbert(description);
  const weights = initialise(described.parameters, settings.seed);
  return { tokenizer, description, described, weights, origin: { from: null, fromStep: null } };
}

async function knownModel(
  heads: HeadOptions,
  settings: GlueSettings,
  from: TrainedAlbert,
  given?: OpenTokenizer,
): Promise<FinetuneModel> {
  const tokenizer = given ?? (await tokenizerFor(settings, from));
  const description = describeTuned(heads, settings, from.description.model);
  const described = describedAlbert(description);
  const { weights: found } = transferred(withoutHead(from), described, settings.seed);
  const deviation = settings.embeddingDeviation;
  const weights = deviation === null ? found : withEmbeddingsOf(deviation, described, found);
  const { path, step } = placeOf(from);
  return { tokenizer, description, described, weights, origin: { from: path, fromStep: step } };
}

const HEADS = /^(classifier|qa_outputs)\./;

/** Another task's head means nothing here. */
export function withoutHead({ parameters, weights, path }: TrainedAlbert) {
  return { weights, path, parameters: parameters.filter(({ name }) => !HEADS.test(name)) };
}

/** The one asked for, or the model's own. */
async function tokenizerFor({ tokenizer, data }: GlueSettings, from?: TrainedAlbert): Promise<OpenTokenizer> {
  if (tokenizer !== null) return openTokenizer(tokenizer, data === null ? {} : { data });
  if (from) return needTokenizer(from);
  const remedy = "name one as tokenizer";
  return reject({ who: "a new model", needed: "a tokenizer with [CLS] and [SEP]", got: "none", remedy }, 2);
}
