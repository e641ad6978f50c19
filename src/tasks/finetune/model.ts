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
import type { Handed } from "../job.ts";
import { needTokenizer, openAlbertRun, type TrainedAlbert, transferred, withoutPairs } from "../pretrain/albert-run.ts";
import { placeOf } from "../pretrain/origin.ts";
import { fittedTo, refuseVocabulary } from "../pretrain/vocabulary.ts";
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

/** A tokenizer that is there already, and who is told what is done. */
type Given = Pick<Handed, "say"> & { readonly tokenizer?: OpenTokenizer | undefined };

/** The model below a new head: with the weights of `from`, or all new. */
export function openModel(
  heads: HeadOptions,
  settings: GlueSettings,
  from: TrainedAlbert | undefined,
  given: Given = {},
): Promise<FinetuneModel> {
  const { resizeVocabulary, tokenizer, like } = settings;
  if (resizeVocabulary && ((!tokenizer && !given.tokenizer) || (!from && like === null))) {
    const needed = "a run and another --tokenizer for it";
    reject({ who: "--resize-vocabulary", needed, got: from ? "no --tokenizer" : "no run", remedy: "leave it out" }, 2);
  }
  return from ? knownModel(heads, settings, from, given) : newModel(heads, settings, given);
}

async function newModel(heads: HeadOptions, settings: GlueSettings, given: Given): Promise<FinetuneModel> {
  const like = settings.like === null ? undefined : await openAlbertRun(settings.like);
  const tokenizer = given.tokenizer ?? (await tokenizerFor(settings, like));
  const { size: vocabulary } = tokenizer.tokenizer;
  const own = settings.resizeVocabulary ? { vocabulary } : {};
  if (like && !settings.resizeVocabulary && vocabulary > like.description.model.vocabulary) {
    refuseVocabulary(like, tokenizer);
  }
  const shape = like && (readsPairs(heads, settings) ? like : withoutPairs(like)).description.model;
  const description = describeTuned(heads, settings, shape ? { ...shape, ...own } : { vocabulary });
  const described = describedAlbert(description);
  const weights = initialise(described.parameters, settings.seed);
  return { tokenizer, description, described, weights, origin: { from: null, fromStep: null } };
}

async function knownModel(
  heads: HeadOptions,
  settings: GlueSettings,
  from: TrainedAlbert,
  given: Given,
): Promise<FinetuneModel> {
  const { seed, resizeVocabulary: resize, embeddingDeviation: deviation } = settings;
  const tokenizer = given.tokenizer ?? (await tokenizerFor(settings, from));
  const own = readsPairs(heads, settings) ? from : withoutPairs(from);
  const fitted = fittedTo(own, { tokenizer, resize, seed, say: given.say });
  const description = describeTuned(heads, settings, fitted.description.model);
  const described = describedAlbert(description);
  const { weights: found } = transferred(withoutHead(fitted), described, seed);
  const weights = deviation === null ? found : withEmbeddingsOf(deviation, described, found);
  const { path, step } = placeOf(from);
  return { tokenizer, description, described, weights, origin: { from: path, fromStep: step } };
}

/** A table of pairs that no head reads would be trained for nothing; below adapters it rests, and belongs to what they were made for. */
const readsPairs = ({ classification }: HeadOptions, { lora }: GlueSettings) =>
  lora !== null || classification?.pooling === "pairs";

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
