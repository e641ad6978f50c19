/** Documents of a split for masked text: of a large text, in a file of the cache that is read document by document. */
import { type Corpus, liesInFiles, partOf, type Split, textsOf } from "../corpus.ts";
import { type Document, documentsOf, type StoredDocuments } from "../masked/documents.ts";
import type { OpenTokenizer } from "../tokenizer.ts";
import { defaultCacheFolder } from "./cache.ts";
import { bytesOfTexts, encodedDocuments, sentencesIn } from "./encoding.ts";
import type { TokenFile } from "./token-file.ts";
import { keptTokens, type TokenOptions } from "./tokens.ts";

/** Documents of less text than this are in memory before a file is written. */
const STORED_FROM_BYTES = 1 << 24;

/** How documents are told apart, and where they are kept. */
export interface DocumentOptions extends Pick<TokenOptions, "cache" | "warn"> {
  /** Each line is one. Default: blank lines part them. */
  readonly lineDocuments?: boolean | undefined;
  /** Bytes of text from which on they stay in a file. Default: 16 MB. */
  readonly storedFrom?: number | undefined;
}

/** The documents of a split that is text: in memory, or of a large text in a file. Both give the same batches. */
export async function openDocuments(
  corpus: Corpus,
  split: Split,
  opened: OpenTokenizer,
  options: DocumentOptions = {},
): Promise<readonly Document[] | StoredDocuments> {
  const { lineDocuments = false, storedFrom = STORED_FROM_BYTES } = options;
  const { cache = defaultCacheFolder(), warn = () => {} } = options;
  const texts = textsOf(corpus, split);
  const part = partOf(corpus, split);
  if (!liesInFiles(part) || bytesOfTexts(texts) < storedFrom) {
    return documentsOf(corpus, split, opened, { lineDocuments });
  }
  const { size } = opened.tokenizer;
  const forms = texts.map(({ articles }) => (articles ? "articles" : lineDocuments ? "lines" : "paragraphs"));
  const file = await keptTokens(
    part,
    ["documents 1", opened.sha256, ...forms],
    { cache, warn, pieces: size },
    {
      encoded: () => encodedDocuments(texts, opened, { lineDocuments }),
      ids: () => sentencesIn(texts, opened.tokenizer, { lineDocuments }),
    },
  );
  return documentsIn(file);
}

/** The documents of a file: sentences are its lines, and an empty one parts documents. */
function documentsIn(file: TokenFile): StoredDocuments {
  const [firstLines, ends]: [number[], number[]] = [[], []];
  let before = 0; // tokens of the documents that are complete
  for (let line = 0, from = 0; line < file.lines; line++) {
    const end = file.lineEnd(line);
    if (end > from && from === before) firstLines.push(line);
    if (end === from && end > before) {
      ends.push(end);
      before = end;
    }
    from = end;
  }
  const document = (index: number): Document => {
    const last = ends[index]!;
    const sentences: Int32Array[] = [];
    let from = index > 0 ? ends[index - 1]! : 0;
    for (let line = firstLines[index]!; from < last; line++) {
      const end = file.lineEnd(line);
      const ids = new Int32Array(end - from);
      file.ids.copy(from, ids.length, ids, 0);
      sentences.push(ids);
      from = end;
    }
    return sentences;
  };
  return {
    length: ends.length,
    at: (index) => (index < ends.length ? document(index) : undefined),
    ids: file.ids,
    ends: Float64Array.from(ends),
    counts: (pieces) => file.counts(pieces),
  };
}
