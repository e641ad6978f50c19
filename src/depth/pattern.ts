/** Block patterns: `(sfff)x6(f)x8` says which kind of block stands at each depth. */
import { reject } from "../base/errors.ts";

export const kinds = { s: "attention", f: "feed-forward", i: "identity" } as const;
export type KindLetter = keyof typeof kinds;
export type BlockKind = (typeof kinds)[KindLetter];

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
  .join("\n")}`;

const isName = (text: string): text is keyof typeof publishedPatterns => text in publishedPatterns;

const isLetter = (text: string): text is KindLetter => text in kinds;

/** `(sfff)x6(f)x8` → the kinds, depth by depth. Letters outside brackets stand for themselves; `baseline/12` is a published pattern at 12 blocks. */
export function parsePattern(text: string): BlockKind[] {
  const [name = "", blocks] = text.trim().split("/");
  if (!isName(name)) return readPattern(text);
  const whole = readPattern(publishedPatterns[name]);
  return blocks === undefined ? whole : scalePattern(whole, Number(blocks));
}

function readPattern(text: string): BlockKind[] {
  const compact = text.replace(/\s+/g, "");
  const found = [...compact.matchAll(/\(([sfi]+)\)(?:x(\d+))?|([sfi])/gy)];
  const read = found.reduce((length, [whole]) => length + whole.length, 0);
  if (read === 0 || read < compact.length || found.some(([, , times]) => times === "0")) refuse(text, compact, read);
  return found.flatMap(([, group, times, single]) => {
    const letters = [...(group ?? single ?? "")].filter(isLetter).map((letter) => kinds[letter]);
    return Array.from({ length: Number(times ?? 1) }, () => letters).flat();
  });
}

function refuse(text: string, compact: string, read: number): never {
  const rest = compact.slice(read);
  reject(
    {
      who: "pattern",
      needed: `letters s (attention), f (feed-forward), i (identity), groups like (sf)x6, or ${Object.keys(publishedPatterns).join(", ")}`,
      got: rest === "" ? JSON.stringify(text) : `${JSON.stringify(text)}, not readable from ${JSON.stringify(rest)}`,
      remedy: "write (sfff)x6(f)x8",
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
  if (!Number.isSafeInteger(blocks) || blocks < 1) {
    reject(
      { who: "pattern", needed: "a whole number of blocks from 1", got: `${blocks}`, remedy: "write baseline/12" },
      2,
    );
  }
  const { group, times } = longestRun(lettersOf(pattern));
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

const letterOf = Object.fromEntries(Object.entries(kinds).map(([letter, kind]) => [kind, letter]));

const lettersOf = (pattern: readonly BlockKind[]) => pattern.map((kind) => letterOf[kind]).join("");

/** Kinds → their letters, runs of a repeated group written once: sfffsfff → (sfff)x2. */
export function printPattern(pattern: readonly BlockKind[]): string {
  let letters = lettersOf(pattern);
  let text = "";
  while (letters !== "") {
    const { group, times } = longestRun(letters);
    text += times > 1 ? `(${group})x${times}` : group;
    letters = letters.slice(group.length * times);
  }
  return text;
}

/** The group at the start whose repeats cover most letters; the shortest such group. */
function longestRun(letters: string): { group: string; times: number } {
  let best = { group: letters[0]!, times: 1 };
  for (let size = 1; size <= letters.length / 2; size++) {
    const group = letters.slice(0, size);
    let times = 1;
    while (letters.startsWith(group, times * size)) times++;
    if (times > 1 && size * times > best.group.length * best.times) best = { group, times };
  }
  return best;
}
