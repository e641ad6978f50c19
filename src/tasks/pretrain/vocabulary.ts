/** Whether a tokenizer fits an ALBERT that was trained with another, and the ALBERT that is made to fit it. */
import { reject } from "../../base/errors.ts";
import { formatNumber } from "../../base/table.ts";
import { resizedAlbert } from "../../model/albert/resize.ts";
import type { OpenTokenizer, Tokenizer } from "../../text/tokenizer.ts";
import type { Say } from "../job.ts";
import { needTokenizer, type TrainedAlbert } from "./albert-run.ts";

/** The tokenizer that texts are read with from now on. */
export interface Fitting {
  readonly tokenizer: OpenTokenizer;
  /** Give the model the tokenizer's vocabulary. Off: it keeps its own. */
  readonly resize: boolean;
  /** Of rows that are drawn. */
  readonly seed: number;
  /** The model must have as many pieces as the tokenizer. Default: at least as many. */
  readonly exact?: boolean | undefined;
  readonly say?: Say | undefined;
}

/** The model as the tokenizer needs it; one that does not fit is refused, with a way out. */
export function fittedTo(from: TrainedAlbert, { tokenizer, resize, seed, exact = false, say }: Fitting): TrainedAlbert {
  const { vocabulary } = from.description.model;
  const { size } = tokenizer.tokenizer;
  if (resize) return resized(from, tokenizer, seed, say);
  if (exact ? size !== vocabulary : size > vocabulary) refuseVocabulary(from, tokenizer, exact);
  if (from.tokenizer && from.tokenizer.sha256 !== tokenizer.sha256) {
    const others = Array.from(rowsOf(from.tokenizer.tokenizer, tokenizer.tokenizer)).filter((row, i) => row !== i);
    if (others.length > 0) say?.(othersText(from, tokenizer, others.length));
  }
  return from;
}

const nameOf = ({ path = "the model" }: Pick<TrainedAlbert, "path">) => path;

/** Refuses a tokenizer with more pieces than a model or, where they must agree, with another number of them. */
export function refuseVocabulary(
  from: Pick<TrainedAlbert, "description" | "path">,
  { tokenizer, name }: OpenTokenizer,
  exact = false,
): never {
  const { vocabulary } = from.description.model;
  const needed = `${exact ? "the" : "at most the"} ${vocabulary} pieces of ${nameOf(from)}`;
  const remedy = "set --resize-vocabulary, or take the tokenizer that the model was trained with";
  return reject({ who: `tokenizer ${name}`, needed, got: `${tokenizer.size}`, remedy }, 2);
}

function othersText(from: TrainedAlbert, { tokenizer, name }: OpenTokenizer, count: number): string {
  const what = `${formatNumber(count)} of ${formatNumber(tokenizer.size)} pieces of tokenizer ${name}`;
  return `${what} have the embeddings of other pieces in ${nameOf(from)}: set --resize-vocabulary to match them by text`;
}

function resized(from: TrainedAlbert, opened: OpenTokenizer, seed: number, say?: Say): TrainedAlbert {
  const rows = rowsOf(needTokenizer(from).tokenizer, opened.tokenizer);
  const kept = rows.filter((row) => row >= 0).length;
  const all = formatNumber(rows.length);
  say?.(
    `vocabulary: ${formatNumber(kept)} of ${all} pieces keep their embeddings of ${nameOf(from)}, ${formatNumber(rows.length - kept)} get new ones`,
  );
  return { ...resizedAlbert(from, rows, seed), tokenizer: opened };
}

/** Of each piece of `to` its id in `from`, by its text; −1 where there is none. */
export function rowsOf(from: Tokenizer, to: Tokenizer): Int32Array {
  return Int32Array.from({ length: to.size }, (_, id) => {
    const piece = to.pieceOf(id);
    const row = from.idOf(piece);
    return row >= 0 && from.pieceOf(row) === piece ? row : -1;
  });
}
