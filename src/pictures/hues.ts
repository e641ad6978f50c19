/** Which hue stands for which candidate: three for the kinds of the papers, more for candidates of your own. */

/** Attention, feed-forward, identity, then candidates of your own; they differ in brightness too, for those who see few colours. */
export const KIND_HUES = ["#3b76c4", "#e08a1e", "#9aa5ae", "#7a4fb5", "#2a9d6f", "#c23b5a"] as const;

const KINDS = ["attention", "feed-forward", "identity"];

/** `feed-forward 1024` is feed-forward; what is none of the three is of a kind of its own, up to its size. */
const kindOf = (name: string) => KINDS.find((kind) => name === kind || name.startsWith(`${kind} `)) ?? name;

/** The hue of each name: sizes of one kind share it. */
export function huesOf(names: readonly string[]): ReadonlyMap<string, string> {
  const own = [...new Set(names.map(kindOf).filter((kind) => !KINDS.includes(kind)))];
  const order = [...KINDS, ...own];
  const hue = (name: string) => KIND_HUES[order.indexOf(kindOf(name)) % KIND_HUES.length]!;
  return new Map(names.map((name) => [name, hue(name)]));
}
