/** How deep the tokens of a language model run: by kind of word, and by how surprising what comes next is. */
import { type DepthRow, DepthTally, type TokenDepth } from "../depth/tally.ts";

/** What a piece of text is, as far as its letters tell. */
export const WORD_KINDS = [
  "function word",
  "name or sentence start",
  "other word",
  "rest of a word",
  "number",
  "punctuation",
] as const;

/** One of them. */
export type WordKind = (typeof WORD_KINDS)[number];

const functionWords = new Set(
  `a an the and or but nor if then than that this these those of to in on at by for from with without as into over under between about
   i you he she it we they me him her us them my your his its our their who whom which what whose is am are was were be been being have
   has had do does did will would shall should can could may might must not no so there here when where how all any some each up out off`
    .split(/\s+/)
    .filter((word) => word !== ""),
);

/** The kind of a piece as tokenizers write it: ▁ or Ġ where a word begins. */
export function wordKind(piece: string): WordKind {
  const begins = /^[▁Ġ\s]/u.test(piece);
  const text = piece.replace(/^[▁Ġ\s]+/u, "");
  if (/\p{N}/u.test(text)) return "number";
  if (!/\p{L}/u.test(text)) return "punctuation";
  if (!begins) return "rest of a word";
  if (functionWords.has(text.toLowerCase())) return "function word";
  return /^\p{Lu}/u.test(text) ? "name or sentence start" : "other word";
}

/** Depths of a language model's tokens by kind of word, and by fourths of how surprising the next token is. */
export interface WordAnalysis {
  readonly kinds: readonly DepthRow[];
  readonly surprises: readonly DepthRow[];
  readonly tokens: readonly (TokenDepth & { readonly text: number; readonly kind: WordKind })[];
}

/** Groups tokens of texts; `cap` is the deepest depth there is. */
export function depthByWord(texts: readonly (readonly TokenDepth[])[], cap: number): WordAnalysis {
  const tokens = texts.flatMap((line, text) => line.map((token) => ({ ...token, text, kind: wordKind(token.piece) })));
  const kinds = new DepthTally(cap);
  for (const { kind, depth } of tokens) kinds.add(kind, depth);
  return { kinds: kinds.rows(WORD_KINDS), surprises: bySurprise(tokens, cap), tokens };
}

/** Tokens in four parts of equal size, from those with the least surprising continuation; names hold the parts' ends in nats. */
function bySurprise(tokens: readonly TokenDepth[], cap: number): DepthRow[] {
  const known = tokens
    .flatMap(({ depth, surprise }) => (surprise === undefined ? [] : [{ depth, surprise }]))
    .sort((a, b) => a.surprise - b.surprise);
  const tally = new DepthTally(cap);
  for (let part = 0; part < 4; part++) {
    const some = known.slice(Math.floor((part * known.length) / 4), Math.floor(((part + 1) * known.length) / 4));
    const name = `${some[0]?.surprise.toFixed(2)} to ${some.at(-1)?.surprise.toFixed(2)} nats`;
    for (const { depth } of some) tally.add(`${part + 1}: ${name}`, depth);
  }
  return tally.rows();
}
