/** From texts in files to the ids of their lines, stretch by stretch: on all cores where there is much of it. */
import { statSync } from "node:fs";
import { type LineStretch, lineStretches } from "../../files/lines.ts";
import type { CorpusText } from "../corpus.ts";
import { SentencePieceTokenizer } from "../sentencepiece/tokenizer.ts";
import { type EncodedLines, type Encoder, tokenize } from "../tokens.ts";

/** Less text than this is tokenised before a thread has started. */
const PARALLEL_BYTES = 1 << 23;
const STRETCH_CHARACTERS = 1 << 20;

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

/** Whether all the texts are plain lines of files, and many. */
function isLarge(texts: readonly CorpusText[]): boolean {
  if (!texts.every(({ path, span }) => path !== undefined && span !== undefined)) return false;
  return texts.reduce((sum, { path }) => sum + statSync(path!).size, 0) >= PARALLEL_BYTES;
}

async function poolFor(tokenizer: Encoder, model: Uint8Array) {
  if (!(tokenizer instanceof SentencePieceTokenizer)) return undefined;
  const { startEncoding } = await import("./encoding-pool.ts"); // seldom needed
  return startEncoding({ model, name: "tokenizer", release: tokenizer.release });
}

function* storedLines(texts: readonly CorpusText[]): Generator<LineStretch & { path: string }> {
  for (const { path, span } of texts) {
    for (const stretch of lineStretches(path!, span)) yield { ...stretch, path: path! };
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
