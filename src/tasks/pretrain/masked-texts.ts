/** Masked texts to look at an ALBERT with: of a corpus, or of the one it was trained on; always the same ones. */
import type { Corpus, Split } from "../../text/corpus.ts";
import { openDocuments } from "../../text/files/documents.ts";
import { drawnBatches, type MaskedBatches } from "../../text/masked/batches.ts";
import { PRETRAINING_DEFAULTS } from "../../text/masked/examples.ts";
import { corpusNamed } from "../text-data.ts";
import { type AlbertRun, needTokenizer } from "./albert-run.ts";

/** Sizes of a batch, and masked places per text. */
export interface MaskedSizes {
  readonly rows: number;
  readonly length: number;
  readonly predictions: number;
}

/** Batches of masked texts, and what they are drawn from. */
export interface MaskedTexts {
  readonly corpus: Corpus;
  readonly batches: MaskedBatches;
}

/** Which text a run is looked at with. */
export interface TextChoice {
  /** A corpus, by name or opened. Default: the run's own, or the embedded books. */
  readonly corpus?: string | Corpus | undefined;
  /** Folder of datasets. Default: as in training. */
  readonly data?: string | undefined;
  /** Default: valid. */
  readonly split?: Split | undefined;
}

/** Draws the texts. */
export async function maskedTexts(
  run: AlbertRun,
  { corpus: asked, data, split = "valid" }: TextChoice,
  { rows, length, predictions: maxPredictions }: MaskedSizes,
): Promise<MaskedTexts> {
  const opened = needTokenizer(run);
  const corpus = typeof asked === "object" ? asked : await corpusOf(run, asked, data);
  const lineDocuments = run.config.training?.lineDocuments === true;
  const options = { ...PRETRAINING_DEFAULTS, rows, length, maxPredictions };
  const documents = await openDocuments(corpus, split, opened, { lineDocuments });
  return { corpus, batches: drawnBatches(documents, opened.tokenizer, options) };
}

function corpusOf(run: AlbertRun, asked: string | undefined, data: string | undefined): Promise<Corpus> {
  const place = data ?? trainedWith(run, "data");
  return corpusNamed(asked ?? trainedWith(run, "corpus"), place === undefined ? {} : { data: place });
}

/** A setting of the training, where it is a text. */
function trainedWith({ config }: AlbertRun, key: string): string | undefined {
  const value = config.training?.[key];
  return typeof value === "string" ? value : undefined;
}
