/** Block patterns: `(sfff)x6(f)x8` says which kind of block stands at each depth. */
import { reject } from "../base/errors.ts";

export const kinds = { s: "attention", f: "feed-forward", i: "identity" } as const;
export type KindLetter = keyof typeof kinds;
export type BlockKind = (typeof kinds)[KindLetter];

const isLetter = (text: string): text is KindLetter => text in kinds;

/** `(sfff)x6(f)x8` → the kinds, depth by depth. Letters outside brackets stand for themselves. */
export function parsePattern(text: string): BlockKind[] {
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
      needed: "letters s (attention), f (feed-forward), i (identity), and groups like (sf)x6",
      got: rest === "" ? JSON.stringify(text) : `${JSON.stringify(text)}, not readable from ${JSON.stringify(rest)}`,
      remedy: "write (sfff)x6(f)x8",
    },
    2,
  );
}

const letterOf = Object.fromEntries(Object.entries(kinds).map(([letter, kind]) => [kind, letter]));

/** Kinds → their letters, runs of a repeated group written once: sfffsfff → (sfff)x2. */
export function printPattern(pattern: readonly BlockKind[]): string {
  let letters = pattern.map((kind) => letterOf[kind]).join("");
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
