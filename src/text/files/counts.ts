/** Counts of words: out of a file, or of the pieces of a corpus. */
import { readFile } from "node:fs/promises";
import { messageOf, rejectFile } from "../../base/errors.ts";
import { parseCounts } from "../cutoffs.ts";
import { openCorpus } from "./corpus.ts";
import { openTokenizer } from "./tokenizer.ts";
import { openTokens } from "./tokens.ts";

/** Counts or probabilities out of a file, one per line. */
export async function readCounts(file: string): Promise<Float64Array> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    return rejectFile({ who: file, needed: "a file of counts", got: messageOf(error) }, 2);
  });
  return parseCounts(text, file);
}

/** How often each piece of a tokenizer occurs in the training text of a corpus; both by name or path. */
export async function countPieces(
  corpus: string,
  tokenizer: string,
  where: { data?: string | undefined } = {},
): Promise<Float64Array> {
  const encoder = await openTokenizer(tokenizer, where);
  return (await openTokens(await openCorpus(corpus, where), "train", encoder)).counts(encoder.tokenizer.size);
}
