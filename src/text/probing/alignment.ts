/** Words and pieces: encodes a sentence as a whole, and says which word each piece belongs to. */
import { normaliseForAlbert, type PieceTokenizer } from "../masked/documents.ts";

/** A word, and whether a space follows. */
export interface SpacedWord {
  readonly form: string;
  readonly spaceAfter: boolean;
}

/** Pieces of a sentence with the word that each belongs to. */
export interface AlignedPieces {
  readonly ids: Int32Array;
  /** As they read, with ▁ where a space stood. */
  readonly pieces: readonly string[];
  /** Index of each piece's word. */
  readonly words: Int32Array;
}

const letters = (piece: string) => [...piece.replaceAll("▁", "")];

/**
 * A piece belongs to the word that has most of its letters, the first of equals. Where normalisation acts across words, so that the
 * letters differ, each word is encoded by itself.
 */
export function alignWords(words: readonly SpacedWord[], tokenizer: PieceTokenizer): AlignedPieces {
  const text = words.map(({ form, spaceAfter }) => form + (spaceAfter ? " " : "")).join("");
  const sentence = normaliseForAlbert(text);
  const pieces = tokenizer.encodePieces(sentence);
  const alone = words.map(({ form }) => tokenizer.encodePieces(normaliseForAlbert(form)));
  const owners = alone.flatMap((own, word) => letters(own.join("")).map(() => word));
  if (letters(pieces.join("")).join("") !== letters(alone.flat().join("")).join("")) return apart(words, tokenizer);
  let at = 0;
  const found = pieces.map((piece) => {
    const from = at;
    at += letters(piece).length;
    return mostOf(owners.slice(from, at)) ?? owners[from] ?? owners.length - 1;
  });
  return { ids: tokenizer.encode(sentence), pieces, words: Int32Array.from(found) };
}

function apart(words: readonly SpacedWord[], tokenizer: PieceTokenizer): AlignedPieces {
  const each = words.map(({ form }) => normaliseForAlbert(form));
  const ids = each.map((form) => tokenizer.encode(form));
  return {
    ids: Int32Array.from(ids.flatMap((own) => [...own])),
    pieces: each.flatMap((form) => tokenizer.encodePieces(form)),
    words: Int32Array.from(ids.flatMap((own, word) => Array.from(own, () => word))),
  };
}

function mostOf(owners: readonly number[]): number | undefined {
  const counts = new Map<number, number>();
  for (const owner of owners) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return [...counts].find(([, count]) => count === most)?.[0];
}

/** The words of a plain text: what stands between spaces. */
export function plainWords(text: string): SpacedWord[] {
  return [...text.matchAll(/(\S+)(\s*)/gu)].map(([, form, space]) => ({ form: form!, spaceAfter: space !== "" }));
}
