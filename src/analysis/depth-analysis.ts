/** Depth of tokens: of sentences, by kind of token in masked text, by tags of a treebank, by label and distance in probing files. */
import { type DepthRow, DepthTally, type TokenDepth, type TraceRow } from "../depth/tally.ts";
import type { PieceTokenizer, SpecialIds } from "../text/masked/documents.ts";
import type { PretrainingBatch } from "../text/masked/examples.ts";
import { eachToken, TOKEN_KINDS, type TokenKind } from "../text/masked/token-kinds.ts";
import { type AlignedPieces, alignWords, plainWords } from "../text/probing/alignment.ts";
import type { TreebankSentence } from "../text/probing/conllu.ts";
import type { ProbeSentence } from "../text/probing/probing.ts";
import type { DepthReader, TextIds, TokenDepths } from "./depth-reader.ts";

export type { TokenDepth, TraceRow };

/** One token of an analysis, as JSON gives it. */
export interface TokenRow {
  /** Number of its text, from 0. */
  text: number;
  piece: string;
  depth: number;
  /** Its own kind in masked text. */
  kind?: TokenKind;
  word?: string;
  upos?: string;
  deprel?: string;
}

/** Depth by name, how states turned on the way, and every token. */
export interface Analysis {
  readonly rows: readonly DepthRow[];
  readonly trace: readonly TraceRow[];
  readonly tokens: readonly TokenRow[];
}

/** The same by kind of token, with the similarity trace of each kind. */
export interface KindsAnalysis extends Analysis {
  readonly traces: Readonly<Partial<Record<TokenKind, readonly TraceRow[]>>>;
}

/** Means over the executed iterations only, out of each token's cosines; negative ones count like any other. */
export function traceOf(tokens: Iterable<readonly number[]>): TraceRow[] {
  const sums: { tokens: number; total: number }[] = [];
  for (const own of tokens) {
    for (const [i, cosine] of own.entries()) {
      sums[i] ??= { tokens: 0, total: 0 };
      sums[i].tokens++;
      sums[i].total += cosine;
    }
  }
  return sums.map(({ tokens: count, total }, i) => ({ iteration: i + 1, tokens: count, cosine: total / count }));
}

const traceIn = (read: readonly TokenDepths[]) => traceOf(read.flatMap(({ cosines }) => cosines));

/** Tokens that one may type as they are shown. */
const TYPED = /(\[(?:MASK|CLS|SEP)\])/;

/** The pieces of a text, in which [MASK], [CLS] and [SEP] are the tokens of these names. */
function alignedTokens(text: string, { tokenizer, special }: Framing): AlignedPieces {
  const ids: Readonly<Record<string, number>> = { "[MASK]": special.mask, "[CLS]": special.cls, "[SEP]": special.sep };
  const parts = text.split(TYPED).filter((part) => part.trim() !== "");
  const each = parts.map((part): AlignedPieces => {
    const id = ids[part];
    if (id === undefined) return alignWords(plainWords(part), tokenizer);
    return { ids: Int32Array.of(id), pieces: [part], words: Int32Array.of(0) };
  });
  return {
    ids: Int32Array.from(each.flatMap((part) => [...part.ids])),
    pieces: each.flatMap(({ pieces }) => pieces),
    words: Int32Array.from(each.flatMap(({ words }, i) => Array.from(words, () => i))),
  };
}

/** What the model reads of a text, and how its tokens are shown, [CLS] and [SEP] among them. */
export function framedText(text: string, framing: Framing): { ids: Int32Array; pieces: string[] } {
  const aligned = alignedTokens(text, framing);
  const { ids } = framed(aligned, framing.special, framing.length);
  return { ids, pieces: ["[CLS]", ...aligned.pieces.slice(0, framing.length - 2), "[SEP]"] };
}

/** The tokens of texts with their depths, [CLS] and [SEP] among them; texts are cut to the model's length. */
export async function depthOfTexts(
  reader: DepthReader,
  texts: readonly string[],
  framing: Framing,
  onText?: OnText,
): Promise<TokenDepth[][]> {
  const aligned = texts.map((text) => alignedTokens(text, framing));
  const read = await readAligned(reader, aligned, framing, onText);
  return aligned.map(({ pieces }, text) => {
    const { depths, cosines, halting } = read[text]!;
    const shown = ["[CLS]", ...pieces.slice(0, framing.length - 2), "[SEP]"];
    return shown.map((piece, i) => ({ piece, depth: depths[i]!, cosines: cosines[i]!, halting: halting[i]! }));
  });
}

/** Told how many texts are done. */
export type OnText = (done: number) => void;

/** The table of kinds over masked texts. */
export async function depthByKind(
  reader: DepthReader,
  batches: readonly PretrainingBatch[],
  tokenizer: PieceTokenizer,
  special: SpecialIds,
  onText?: OnText,
): Promise<KindsAnalysis> {
  const texts = batches.flatMap(textsOf);
  const read = await reader.read(texts, onText);
  const tally = new DepthTally(reader.cap);
  const tokens: TokenRow[] = [];
  const turned = new Map<TokenKind, (readonly number[])[]>();
  let first = 0;
  for (const batch of batches) {
    const length = batch.inputIds.length / batch.rows;
    eachToken(batch, special, (place, kinds) => {
      const text = first + Math.floor(place / length);
      const depth = read[text]!.depths[place % length]!;
      for (const kind of kinds) {
        tally.add(kind, depth);
        const own = turned.get(kind) ?? [];
        own.push(read[text]!.cosines[place % length]!);
        turned.set(kind, own);
      }
      tokens.push({ text, piece: tokenizer.pieceOf(batch.inputIds[place]!), kind: kinds.at(-1)!, depth });
    });
    first += batch.rows;
  }
  const traces = Object.fromEntries([...turned].map(([kind, cosines]) => [kind, traceOf(cosines)]));
  return { rows: tally.rows(TOKEN_KINDS), trace: traceIn(read), traces, tokens };
}

/** The texts of a batch without their padding. */
function textsOf({ rows, inputIds, inputMask, segmentIds }: PretrainingBatch): TextIds[] {
  const length = inputIds.length / rows;
  return Array.from({ length: rows }, (_, row) => {
    const from = row * length;
    const to = from + inputMask.subarray(from, from + length).reduce((sum, one) => sum + one, 0);
    return { ids: inputIds.slice(from, to), types: segmentIds.slice(from, to) };
  });
}

/** [CLS] pieces [SEP], cut to the model's length; `masked` pieces show [MASK]. */
function framed(
  { ids, words }: AlignedPieces,
  { cls, sep, mask }: SpecialIds,
  most: number,
  masked: readonly number[] = [],
) {
  const shown = Array.from(ids, (id, i) => (masked.includes(words[i]!) ? mask : id)).slice(0, most - 2);
  return { ids: Int32Array.from([cls, ...shown, sep]) };
}

/** Reads aligned words; `masked` names the words of a text that show [MASK]. */
function readAligned(
  reader: DepthReader,
  aligned: readonly AlignedPieces[],
  { special, length }: Framing,
  onText?: OnText,
  masked?: (text: number) => readonly number[] | undefined,
): Promise<TokenDepths[]> {
  const texts = aligned.map((each, text) => framed(each, special, length, masked?.(text)));
  return reader.read(texts, onText);
}

/** How words become what the model reads. */
export interface Framing {
  readonly tokenizer: PieceTokenizer;
  readonly special: SpecialIds;
  /** Longest text of the model. */
  readonly length: number;
}

/** Depth by the tags of a treebank. */
export interface TagAnalysis extends Omit<Analysis, "rows"> {
  readonly upos: readonly DepthRow[];
  readonly deprel: readonly DepthRow[];
}

/** Mean depth by part of speech and by relation: every piece of a word has the word's tags. */
export async function depthByTag(
  reader: DepthReader,
  sentences: readonly TreebankSentence[],
  framing: Framing,
  onText?: OnText,
): Promise<TagAnalysis> {
  const aligned = sentences.map(({ words }) => alignWords(words, framing.tokenizer));
  const read = await readAligned(reader, aligned, framing, onText);
  const [upos, deprel] = [new DepthTally(reader.cap), new DepthTally(reader.cap)];
  const tokens: TokenRow[] = [];
  for (const [text, { pieces, words }] of aligned.entries()) {
    for (const [i, piece] of pieces.slice(0, framing.length - 2).entries()) {
      const word = sentences[text]!.words[words[i]!]!;
      const depth = read[text]!.depths[i + 1]!;
      upos.add(word.upos, depth);
      deprel.add(word.deprel, depth);
      tokens.push({ text, piece, word: word.form, upos: word.upos, deprel: word.deprel, depth });
    }
  }
  return { upos: deepestFirst(upos), deprel: deepestFirst(deprel), trace: traceIn(read), tokens };
}

const deepestFirst = (tally: DepthTally) => tally.rows().sort((a, b) => b.mean - a.mean);

/** Depth in probing sentences. */
export interface ProbeAnalysis {
  /** Of all pieces of the sentences, by label. */
  readonly labels: readonly DepthRow[];
  /** Of the masked words' pieces, by label; none where nothing is masked. */
  readonly masked: readonly DepthRow[];
  /** Of the masked words' pieces, by the distance between subject and verb, rising. */
  readonly distances: readonly (DepthRow & { readonly distance: number })[];
  /** The same by how many nouns of the other number stand between, rising. */
  readonly intervening: readonly DepthRow[];
}

/** Depth in probing sentences; the words they name are masked. */
export async function depthByProbe(
  reader: DepthReader,
  sentences: readonly ProbeSentence[],
  framing: Framing,
  onText?: OnText,
): Promise<ProbeAnalysis> {
  const spaced = (form: string) => ({ form, spaceAfter: true });
  const aligned = sentences.map(({ words }) => alignWords(words.map(spaced), framing.tokenizer));
  const read = await readAligned(reader, aligned, framing, onText, (text) => sentences[text]!.masked);
  const tally = () => new DepthTally(reader.cap);
  const [labels, masked, distances, intervening] = [tally(), tally(), tally(), tally()];
  for (const [text, { words }] of aligned.entries()) {
    const sentence = sentences[text]!;
    for (const [i, word] of [...words.slice(0, framing.length - 2)].entries()) {
      const depth = read[text]!.depths[i + 1]!;
      labels.add(sentence.label, depth);
      if (!sentence.masked?.includes(word)) continue;
      masked.add(sentence.label, depth);
      if (sentence.distance !== undefined) distances.add(String(sentence.distance), depth);
      if (sentence.intervening !== undefined) intervening.add(String(sentence.intervening), depth);
    }
  }
  const rising = distances.rows().map((row) => ({ ...row, distance: Number(row.name) }));
  return {
    labels: deepestFirst(labels),
    masked: deepestFirst(masked),
    distances: rising.sort((a, b) => a.distance - b.distance),
    intervening: intervening.rows().sort((a, b) => Number(a.name) - Number(b.name)),
  };
}
