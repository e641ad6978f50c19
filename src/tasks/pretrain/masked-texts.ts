/** Masked texts to look at an ALBERT's run with: of a corpus by name, or of the one it was trained on; always the same ones. */
import type { Corpus, Split } from "../../text/corpus.ts";
import { openCorpus } from "../../text/files/corpus.ts";
import { drawnBatches, type MaskedBatches } from "../../text/masked/batches.ts";
import { documentsOf } from "../../text/masked/documents.ts";
import { PRETRAINING_DEFAULTS } from "../../text/masked/examples.ts";
import { type AlbertRun, needTokenizer } from "./albert-run.ts";

export interface MaskedTexts {
  readonly corpus: Corpus;
  readonly batches: MaskedBatches;
}

export interface TextChoice {
  /** By name or path; open: the run's own, or the embedded books. */
  readonly corpus?: string | undefined;
  /** Folder of datasets; open: as in training. */
  readonly data?: string | undefined;
  readonly split: Split;
  /** Sizes of a batch, and masked places a text. */
  readonly rows: number;
  readonly length: number;
  readonly predictions: number;
}

export async function maskedTexts(
  run: AlbertRun,
  { corpus: asked, split, ...choice }: TextChoice,
): Promise<MaskedTexts> {
  const opened = needTokenizer(run);
  const data = choice.data ?? trainedWith(run, "data");
  const corpus = await openCorpus(asked ?? trainedWith(run, "corpus"), data === undefined ? {} : { data });
  const { rows, length, predictions: maxPredictions } = choice;
  const options = { ...PRETRAINING_DEFAULTS, rows, length, maxPredictions };
  return { corpus, batches: drawnBatches(documentsOf(corpus, split, opened), opened.tokenizer, options) };
}

/** A setting of the training, where it is a text. */
function trainedWith({ config }: AlbertRun, key: string): string | undefined {
  const value = config.training?.[key];
  return typeof value === "string" ? value : undefined;
}
