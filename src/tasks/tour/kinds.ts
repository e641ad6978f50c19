/** Kinds of tokens that anybody can tell apart, and how deep each ran. */
import type { TokenDepth } from "../../analysis/depth-analysis.ts";
import { DepthTally } from "../../depth/tally.ts";
import type { AdaptResult } from "./results.ts";

/** So many of the most frequent words are common. */
const COMMON = 100;

/** The most frequent words of a text. */
export function commonWords(lines: Iterable<string>): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const line of lines) {
    for (const [word] of line.toLowerCase().matchAll(/\p{L}+/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const order = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return new Set(order.slice(0, COMMON).map(([word]) => word));
}

const kinds = ["pieces inside words", "common words", "other words", "punctuation"] as const;

/** The kind of a piece; `▁` stands where a word begins. */
export function kindOf(piece: string, common: ReadonlySet<string>): (typeof kinds)[number] {
  if (!/\p{L}/u.test(piece)) return "punctuation";
  if (!piece.startsWith("▁")) return "pieces inside words";
  return common.has(piece.slice(1).toLowerCase()) ? "common words" : "other words";
}

/** Depths by kind, and how many tokens stopped at each depth. */
export function depthsByKind(
  lines: readonly (readonly TokenDepth[])[],
  common: ReadonlySet<string>,
  cap: number,
): Pick<AdaptResult, "kinds" | "counts" | "meanDepth"> {
  const tally = new DepthTally(cap);
  const counts = Array.from({ length: cap }, () => 0);
  for (const { piece, depth } of lines.flat()) {
    tally.add(kindOf(piece, common), depth);
    counts[depth - 1]!++;
  }
  const tokens = counts.reduce((a, b) => a + b, 0);
  const total = counts.reduce((sum, count, i) => sum + count * (i + 1), 0);
  return { kinds: tally.rows(kinds), counts, meanDepth: total / tokens };
}

/** The sentence whose tokens differ most in depth, by standard deviation: the one that shows most of what there is. */
export function mostVaried<T extends { readonly depth: number }>(sentences: readonly (readonly T[])[]): readonly T[] {
  return sentences.reduce((a, b) => (variance(b) > variance(a) ? b : a));
}

function variance(tokens: readonly { readonly depth: number }[]): number {
  const mean = tokens.reduce((sum, { depth }) => sum + depth, 0) / tokens.length;
  return tokens.reduce((sum, { depth }) => sum + (depth - mean) ** 2, 0) / tokens.length;
}
