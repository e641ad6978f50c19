/** Kinds of blocks: their letters, their colours, and patterns as letters. */

const COLOURS: Readonly<Record<string, number>> = { attention: 0, "feed-forward": 1, identity: 7 };

/** The colour of a kind of block; kinds of the user's own take the others. */
export const colourOf = (kind: string): number =>
  COLOURS[kind] ?? 2 + ([...kind].reduce((sum, c) => sum + c.charCodeAt(0), 0) % 5);

/** What a letter of a pattern stands for. */
export const kindOfLetter = (letter: string): string => KINDS[letter] ?? letter;
const KINDS: Readonly<Record<string, string>> = { s: "attention", f: "feed-forward", i: "identity" };
/** The letter of a kind of block. */
export const letterOf = (kind: string): string =>
  Object.entries(KINDS).find(([, name]) => name === kind)?.[0] ?? kind.slice(0, 1);

/** `sf(s)x2` → its letters. */
export function letters(pattern: string): string[] {
  const written = pattern.replace(/\(([^()]*)\)x(\d+)/g, (_, group: string, times: string) =>
    group.repeat(Number(times)),
  );
  return written === pattern ? [...pattern.replace(/[()]/g, "")] : letters(written);
}
