/** Block patterns: `(sfff)x6(f)x8` says which kind of block stands at each depth, `s f:1024` also how large it is. */
import { reject, rejectOption } from "../base/errors.ts";

/** Kinds of blocks by their letters in a pattern. */
export const kinds = { s: "attention", f: "feed-forward", i: "identity" } as const;
/** A letter of ours. */
export type KindLetter = keyof typeof kinds;
/** One of ours, or the letter of a candidate of your own. */
export type BlockKind = (typeof kinds)[KindLetter] | (string & {});

/** Whether a kind may be the letter of a candidate of your own: one letter that is neither ours nor the x of repeats. */
export const isOwnLetter = (kind: string): boolean => /^[a-zA-Z]$/.test(kind) && !"sfix".includes(kind);

/** Candidates whose letters a pattern may hold besides ours. */
export type Lettered = readonly { readonly kind: BlockKind }[];

/** A block of a pattern: its kind and, where the network's own is not meant, its heads (attention) or width (feed-forward). */
export interface PatternBlock {
  readonly kind: BlockKind;
  readonly size?: number | undefined;
}

/** Patterns from the literature, by name. */
export const publishedPatterns = {
  "par-wikitext103-base": "(sfff)x6(f)x8",
  "par-wikitext103-large": "(sfff)x7(f)x8",
  "par-enwik8": "(sff)x5(f)x9",
  "par-text8": "(sff)x5(f)x9",
  baseline: "(sf)x16",
  sandwich: "(s)x6(sf)x10(f)x6",
} as const;

/** The names as a help text shows them, with how to scale them. */
export const patternHelp = `Patterns by name, scaled to a number of blocks with /N (baseline/6 is (sf)x3):
${Object.entries(publishedPatterns)
  .map(([name, pattern]) => `  ${name.padEnd(24)}${pattern}`)
  .join("\n")}
Sizes of a block follow a colon: f:1024 is a feed-forward block of that width, s:8 attention of eight heads.`;

const isName = (text: string): text is keyof typeof publishedPatterns => Object.hasOwn(publishedPatterns, text);

/** The kinds of a pattern, depth by depth; `patternBlocks` has their sizes too. `candidates` may have letters of their own. */
export function parsePattern(text: string, candidates: Lettered = []): BlockKind[] {
  return patternBlocks(text, candidates).map(({ kind }) => kind);
}

/**
 * `(sfff)x6 f:1024` → its blocks. Letters outside brackets stand for themselves; `baseline/12` is a published pattern at 12 blocks.
 * Letters other than ours are those of the given candidates.
 */
export function patternBlocks(text: string, candidates: Lettered = []): PatternBlock[] {
  const [, name = "", blocks] = /^([^/]*)(?:\/(.*))?$/s.exec(text.trim())!;
  if (!isName(name)) return readPattern(text, ownLetters(candidates));
  const whole = readPattern(publishedPatterns[name], "");
  if (blocks === undefined) return whole;
  const scaled = scalePattern(
    whole.map(({ kind }) => kind),
    Number(blocks),
  );
  return scaled.map((kind) => ({ kind }));
}

const ownLetters = (candidates: Lettered) =>
  candidates
    .map(({ kind }) => kind)
    .filter(isOwnLetter)
    .join("");

/** What may stand in a pattern: a group with its repeats, or a block; `own` are letters besides ours. */
function partOf(own: string): RegExp {
  const unit = `[sf${own}](?::[1-9]\\d*)?|i`;
  return new RegExp(`\\(((?:${unit})+)\\)(?:x([1-9]\\d*))?|(${unit})`, "gy");
}

/** No network here is this deep: more is a slip of the hand. */
export const MOST_BLOCKS = 10_000;

function readPattern(text: string, own: string): PatternBlock[] {
  const torn = /\d\s+\d/.exec(text); // without its space it would be another number
  const compact = text.replace(/\s+/g, "");
  const found = [...compact.matchAll(partOf(own))];
  const read = found.reduce((length, [whole]) => length + whole.length, 0);
  if (read === 0 || read < compact.length || torn) refuse(text, torn?.[0] ?? compact.slice(read), own);
  const groups = found.map(([, group, times, single]) => {
    return { blocks: unitsOf(group ?? single ?? ""), times: Number(times ?? 1) };
  });
  checkCount(groups.reduce((total, { blocks, times }) => total + blocks.length * times, 0));
  return groups.flatMap(({ blocks, times }) => Array.from({ length: times }, () => blocks).flat());
}

function checkCount(blocks: number): void {
  if (Number.isSafeInteger(blocks) && blocks >= 1 && blocks <= MOST_BLOCKS) return;
  const needed = `a whole number of blocks from 1 to ${MOST_BLOCKS}`;
  reject({ who: "pattern", needed, got: `${blocks}`, remedy: "write baseline/12" }, 2);
}

function unitsOf(text: string): PatternBlock[] {
  return [...text.matchAll(/([a-zA-Z])(?::(\d+))?/g)].map(([, letter, size]) => ({
    kind: kinds[letter as KindLetter] ?? letter!,
    ...(size === undefined ? {} : { size: Number(size) }),
  }));
}

function refuse(text: string, rest: string, own: string): never {
  const letters = ["s (attention)", "f (feed-forward)", "i (identity)", ...own].join(", ");
  const remedy = isOwnLetter(rest[0] ?? "")
    ? "write (sfff)x6(f)x8, or give the candidates whose letters it has"
    : "write (sfff)x6(f)x8";
  reject(
    {
      who: "pattern",
      needed: `letters ${letters}, sizes like f:1024, groups like (sf)x6, or ${Object.keys(publishedPatterns).join(", ")}`,
      got: rest === "" ? JSON.stringify(text) : `${JSON.stringify(text)}, not readable from ${JSON.stringify(rest)}`,
      remedy,
    },
    2,
  );
}

/**
 * A pattern of feed-forward and attention at another depth. One group repeated is repeated as far as it goes; otherwise as large a
 * part of it attends, spread over it in the same way: attention block k of the new one stands where rank k · (attention blocks
 * before / after) stands in the old one, between blocks where that falls between them.
 */
export function scalePattern(pattern: readonly BlockKind[], blocks: number): BlockKind[] {
  checkCount(blocks);
  const { group, times } = longestRun(pattern);
  if (group.length * times === pattern.length) {
    return Array.from({ length: blocks }, (_, i) => pattern[i % group.length]!);
  }
  const places = pattern.flatMap((kind, i) => (kind === "attention" ? [i] : []));
  const scale = blocks / pattern.length;
  const count = Math.min(blocks, Math.max(Math.min(1, places.length), Math.ceil(places.length * scale - 0.5)));
  const taken: number[] = [];
  for (let k = 0; k < count; k++) {
    const at = Math.floor(placeOf((k * places.length) / count, places) * scale + 1e-9);
    taken.push(Math.max(at, (taken.at(-1) ?? -1) + 1));
  }
  return Array.from({ length: blocks }, (_, i) => (taken.includes(i) ? "attention" : "feed-forward"));
}

/** Where a rank stands among places, straight lines between them and beyond the last. */
function placeOf(rank: number, places: readonly number[]): number {
  const before = Math.min(Math.floor(rank), Math.max(0, places.length - 2));
  const [from, to] = [places[before]!, places[before + 1] ?? places[before]! + 1];
  return from + (rank - before) * (to - from);
}

const letters: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(kinds).map(([letter, kind]) => [kind, letter]),
);

function letterOf(kind: BlockKind): string {
  if (Object.hasOwn(letters, kind)) return letters[kind]!;
  if (isOwnLetter(kind)) return kind;
  const needed = `${Object.keys(letters).join(", ")}, or the letter of a candidate of your own`;
  return rejectOption({ who: "pattern", needed, got: JSON.stringify(kind) });
}

function unitOf(block: BlockKind | PatternBlock): string {
  const { kind, size } = typeof block === "string" ? { kind: block } : block;
  return size === undefined ? letterOf(kind) : `${letterOf(kind)}:${size}`;
}

/** Letters stand together, sizes apart: `(sff)x2i`, `(s f:1024)x2 i`. */
function spaced(parts: readonly string[]): string {
  return parts.some((text) => text.includes(":")) ? parts.join(" ") : parts.join("");
}

/** Blocks → their letters and sizes, runs of a repeated group written once: sfffsfff → (sfff)x2. */
export function printPattern(pattern: readonly (BlockKind | PatternBlock)[]): string {
  const units = pattern.map(unitOf);
  const parts: string[] = [];
  while (units.length > 0) {
    const { group, times } = longestRun(units);
    parts.push(times > 1 ? `(${spaced(group)})x${times}` : group[0]!);
    units.splice(0, group.length * times);
  }
  return spaced(parts);
}

/** The group at the start whose repeats cover most units; the shortest such group. */
function longestRun<T extends string>(units: readonly T[]): { group: readonly T[]; times: number } {
  let best = { group: units.slice(0, 1), times: 1 };
  for (let size = 1; size <= units.length / 2; size++) {
    let end = size;
    while (end < units.length && units[end] === units[end - size]) end++;
    const times = Math.floor(end / size);
    if (times > 1 && size * times > best.group.length * best.times) best = { group: units.slice(0, size), times };
  }
  return best;
}
