/** Documents for masked-LM data: text normalised as ALBERT does, one sentence per line, a blank line between documents. */
import { rejectData } from "../../base/errors.ts";
import { streamOf, type TokenStream } from "../batches.ts";
import { type Corpus, type CorpusText, type Split, textCorpus, textsOf } from "../corpus.ts";
import { countTokens } from "../cutoffs.ts";
import type { Tokenizer } from "../tokenizer.ts";

/** What this data asks of a tokenizer. */
export type PieceTokenizer = Pick<Tokenizer, "size" | "encode" | "encodePieces" | "pieceOf" | "idOf">;

/** A document: the ids of each sentence, none empty. */
export type Document = readonly Int32Array[];

/** Documents by number; those of an array are. */
export interface Documents {
  readonly length: number;
  at(index: number): Document | undefined;
}

/** Documents one after another in a stream, in memory or in a file: document i is ids [ends[i − 1], ends[i]). */
export interface StoredDocuments extends Documents {
  readonly ids: TokenStream;
  readonly ends: Float64Array;
  /** How often each piece of a vocabulary of so many occurs. */
  counts(pieces: number): Float64Array;
}

/** Documents that are read where they lie; those of an array are put one after another. */
export function inOneStream(documents: readonly Document[] | StoredDocuments): StoredDocuments {
  if ("ends" in documents) return documents;
  const ends = new Float64Array(documents.length);
  for (const [i, sentences] of documents.entries()) {
    ends[i] = sentences.reduce((sum, { length }) => sum + length, ends[i - 1] ?? 0);
  }
  const ids = new Int32Array(ends.at(-1) ?? 0);
  let at = 0;
  for (const sentence of documents.flat()) {
    ids.set(sentence, at);
    at += sentence.length;
  }
  const counts = (pieces: number) => countTokens(ids, pieces);
  return { length: documents.length, at: (index) => documents[index], ids: streamOf(ids), ends, counts };
}

/** Ids of the pieces that frame and mask. */
export interface SpecialIds {
  pad: number;
  cls: number;
  sep: number;
  mask: number;
}

const SPACE_MARK = "▁";
/** ALBERT's own list: apostrophe, equals and angle brackets are missing, and so count as foreign characters. */
const PUNCTUATION = new Set([...'!"#$%&()*+,-./:;?@[\\]^_`{|}~€£']);

/** Collapses white space, decomposes (NFKD), drops combining marks, lower-cases. */
export function normaliseForAlbert(text: string, { lowerCase = true }: { lowerCase?: boolean } = {}): string {
  const decomposed = text.trim().split(/\s+/u).join(" ").normalize("NFKD");
  const bare = decomposed.replace(/\p{M}/gu, (mark) => (combines(mark) ? "" : mark));
  return lowerCase ? bare.toLowerCase() : bare;
}

const combining = new Map<string, boolean>();

/** Whether a mark has a combining class other than 0: exactly then normalisation moves it past a mark of another class. */
export function combines(mark: string): boolean {
  let known = combining.get(mark);
  if (known === undefined) {
    const moves = (pair: string) => pair.normalize("NFD") !== pair;
    known = moves(`${mark}\u0334`) || moves(`\u0315${mark}`); // classes 1 and 232
    combining.set(mark, known);
  }
  return known;
}

/** Tokenises sentences; a piece that ends in digit and comma is cut again, so that the comma is its own piece. */
export function sentenceEncoder(tokenizer: PieceTokenizer): (sentence: string) => Int32Array {
  const resplit = new Map<number, number[]>();
  for (let id = 0; id < tokenizer.size; id++) {
    const piece = tokenizer.pieceOf(id);
    if (/\p{Nd},$/u.test(piece)) resplit.set(id, cutComma(piece, tokenizer));
  }
  return (sentence) => {
    const ids = tokenizer.encode(sentence);
    if (!ids.some((id) => resplit.has(id))) return ids;
    return Int32Array.from([...ids].flatMap((id) => resplit.get(id) ?? [id]));
  };
}

function cutComma(piece: string, tokenizer: PieceTokenizer): number[] {
  const pieces = tokenizer.encodePieces(piece.slice(0, -1).replaceAll(SPACE_MARK, ""));
  if (!piece.startsWith(SPACE_MARK) && pieces[0]?.startsWith(SPACE_MARK)) {
    const rest = pieces[0].slice(1);
    pieces.splice(0, 1, ...(rest === "" ? [] : [rest]));
  }
  return [...pieces, ","].map((text) => tokenizer.idOf(text));
}

const NO_IDS = new Int32Array(0);

/** The ids of lines that have some; none at all where a blank line parts documents. */
export function* sentencesOf(
  lines: Iterable<string>,
  encode: (sentence: string) => Int32Array,
  options: { lowerCase?: boolean } = {},
): Generator<Int32Array> {
  for (const line of lines) {
    const sentence = normaliseForAlbert(line, options);
    const ids = sentence === "" ? NO_IDS : encode(sentence);
    if (sentence === "" || ids.length > 0) yield ids;
  }
}

/** Reads documents from lines. */
export function readDocuments(
  lines: Iterable<string>,
  tokenizer: PieceTokenizer,
  options: { lowerCase?: boolean } = {},
): Document[] {
  const documents: Int32Array[][] = [[]];
  for (const ids of sentencesOf(lines, sentenceEncoder(tokenizer), options)) {
    if (ids.length > 0) documents.at(-1)!.push(ids);
    else if (documents.at(-1)!.length > 0) documents.push([]);
  }
  return documents.filter((document) => document.length > 0);
}

/** Documents in memory as a corpus, a string each with a sentence per line. Without `valid`, the last lines validate. */
export function documentCorpus(documents: readonly string[], valid?: readonly string[]): Corpus {
  const lined = (texts: readonly string[]) => texts.map((text) => text.trim().replace(/\s*\n\s*/g, "\n")).join("\n\n");
  return textCorpus({ train: lined(documents), ...(valid ? { valid: lined(valid) } : {}) }, "documents");
}

/** The documents of a split: by blank lines, or each line one; WikiText's articles are told by their headings. */
export function documentsOf(
  corpus: Corpus,
  split: Split,
  { tokenizer }: { readonly tokenizer: PieceTokenizer },
  { lineDocuments = false }: { readonly lineDocuments?: boolean } = {},
): Document[] {
  return textsOf(corpus, split).flatMap((text) => readDocuments(documentLines(text, lineDocuments), tokenizer));
}

/** The lines of a text with a blank one between documents. */
export function documentLines(text: Pick<CorpusText, "articles" | "lines">, lineDocuments: boolean): Iterable<string> {
  if (text.articles) return articleLines(text.lines());
  return lineDocuments ? parted(text.lines()) : text.lines();
}

/** A blank line after every line. */
export function* parted(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield* [line, ""];
}

/**
 * WikiText's lines as documents: an article begins at a heading of the first level (` = Title = ` between blank lines; tables have such
 * lines too), and sentences end at ` . `. Its other blank lines only set paragraphs apart.
 */
export function* articleLines(lines: Iterable<string>): Generator<string> {
  let [before, line] = ["", ""];
  for (const after of withEnd(lines)) {
    if (/^ = [^=]+ = $/.test(line) && before.trim() === "" && after.trim() === "") yield "";
    for (const sentence of line.split(/(?<= [.?!](?: ['"”’)])?) (?=\S)/)) {
      if (sentence.trim() !== "") yield sentence.trim();
    }
    [before, line] = [line, after];
  }
}

/** One empty line more, so that every line has a next. */
function* withEnd(lines: Iterable<string>): Generator<string> {
  yield* lines;
  yield "";
}

/** Whether a piece begins a word: marked by a space or `<`, punctuation, or holding a character that is neither a–z nor punctuation. */
export function isStartPiece(piece: string): boolean {
  if (piece.startsWith(SPACE_MARK) || piece.startsWith("<") || PUNCTUATION.has(piece)) return true;
  return [...piece].some((character) => !/^[a-z]$/i.test(character) && !PUNCTUATION.has(character));
}

/** `isStartPiece` of every id, as a table. */
export function startPieces(tokenizer: PieceTokenizer): Uint8Array {
  return Uint8Array.from({ length: tokenizer.size }, (_, id) => (isStartPiece(tokenizer.pieceOf(id)) ? 1 : 0));
}

/** Finds the special pieces by their names. */
export function specialIds(tokenizer: PieceTokenizer): SpecialIds {
  const idOf = (...names: string[]) => {
    const found = names.find((name) => tokenizer.pieceOf(tokenizer.idOf(name)) === name);
    if (found !== undefined) return tokenizer.idOf(found);
    return rejectData({
      who: "masked-LM data",
      needed: `a tokenizer with the piece ${names.join(" or ")}`,
      got: `one of ${tokenizer.size} pieces without it`,
      remedy: "train one with the control symbols [CLS], [SEP] and [MASK]",
    });
  };
  return { pad: idOf("<pad>", "[PAD]"), cls: idOf("[CLS]"), sep: idOf("[SEP]"), mask: idOf("[MASK]") };
}
