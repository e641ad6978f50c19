/** From texts in files to the ids of their lines, stretch by stretch: on all cores where there is much of it. */
import { statSync } from "node:fs";
import { lineStretches } from "../../files/lines.ts";
import type { CorpusText } from "../corpus.ts";
import { documentLines, sentenceEncoder, sentencesOf } from "../masked/documents.ts";
import { SentencePieceTokenizer } from "../sentencepiece/tokenizer.ts";
import type { Tokenizer } from "../tokenizer.ts";
import { type EncodedLines, type Encoder, joinIds, tokenize } from "../tokens.ts";
import type { DocumentReading, EncodingOrder } from "./encoding-pool.ts";

/** Less text than this is tokenised before a thread has started. */
const PARALLEL_BYTES = 1 << 23;
const STRETCH_CHARACTERS = 1 << 20;
const STRETCH_LINES = 1 << 14;

/** Lines of texts, tokenised in their order; `onLine` is told how many are done. */
export async function* encodedText(
  texts: readonly CorpusText[],
  { tokenizer, bytes }: { readonly tokenizer: Encoder; readonly bytes?: Uint8Array },
  onLine?: (lines: number) => void,
): AsyncGenerator<EncodedLines> {
  const pool = bytes && isLarge(texts) ? await poolFor(tokenizer, bytes) : undefined;
  let lines = 0;
  for await (const encoded of pool ? pool.encode(storedLines(texts)) : encodedHere(texts, tokenizer)) {
    lines += encoded.lineEnds.length;
    onLine?.(lines);
    yield encoded;
  }
}

/** Sentences of the documents of texts: a line without ids parts two documents. */
export async function* encodedDocuments(
  texts: readonly CorpusText[],
  { tokenizer, bytes }: { readonly tokenizer: Tokenizer; readonly bytes: Uint8Array },
  reading: DocumentReading,
): AsyncGenerator<EncodedLines> {
  const apart = isLarge(texts) && texts.every(({ articles }) => !articles); // an article is told by the lines around its heading
  const pool = apart ? await poolFor(tokenizer, bytes, reading) : undefined;
  if (pool) yield* pool.encode(storedLines(texts, true));
  else yield* joinedSentences(sentencesIn(texts, tokenizer, reading), tokenizer.size);
}

/** The ids of all sentences, with none where documents part, also between texts. */
export function* sentencesIn(
  texts: readonly CorpusText[],
  tokenizer: Tokenizer,
  { lineDocuments }: DocumentReading,
): Generator<ArrayLike<number>> {
  const encode = sentenceEncoder(tokenizer);
  for (const text of texts) {
    yield* sentencesOf(documentLines(text, lineDocuments), encode);
    yield [];
  }
}

function* joinedSentences(sentences: Iterable<ArrayLike<number>>, pieces: number): Generator<EncodedLines> {
  let held: ArrayLike<number>[] = [];
  for (const ids of sentences) {
    held.push(ids);
    if (held.length < STRETCH_LINES) continue;
    yield joinIds(held, pieces);
    held = [];
  }
  yield joinIds(held, pieces);
}

/** Whether all the texts are plain lines of files, and many. */
function isLarge(texts: readonly CorpusText[]): boolean {
  return texts.every(({ span }) => span !== undefined) && bytesOfTexts(texts) >= PARALLEL_BYTES;
}

/** Bytes of the files that texts lie in. */
export const bytesOfTexts = (texts: readonly CorpusText[]): number =>
  texts.reduce((sum, { path }) => sum + statSync(path!).size, 0);

async function poolFor(tokenizer: Encoder, model: Uint8Array, documents?: DocumentReading) {
  if (!(tokenizer instanceof SentencePieceTokenizer)) return undefined;
  const { startEncoding } = await import("./encoding-pool.ts"); // seldom needed
  return startEncoding({ model, name: "tokenizer", release: tokenizer.release, documents });
}

function* storedLines(texts: readonly CorpusText[], ends = false): Generator<EncodingOrder> {
  for (const { path, span } of texts) {
    for (const stretch of lineStretches(path!, span)) yield { ...stretch, path: path! };
    if (ends) yield { bytes: new Uint8Array(0), first: 0, path: path!, ends };
  }
}

function* encodedHere(texts: readonly CorpusText[], tokenizer: Encoder): Generator<EncodedLines> {
  let [held, characters]: [string[], number] = [[], 0];
  for (const text of texts) {
    for (const line of text.lines()) {
      held.push(line);
      characters += line.length + 1;
      if (characters < STRETCH_CHARACTERS) continue;
      yield tokenize(held, tokenizer);
      [held, characters] = [[], 0];
    }
  }
  if (held.length > 0) yield tokenize(held, tokenizer);
}
