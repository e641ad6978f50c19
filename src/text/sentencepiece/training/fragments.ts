/** From word counts to what is trained on: the alphabet, and stretches of covered characters as symbol numbers. */

/** Stretches of text with how often each occurs. */
export interface Fragments {
  /** Characters, most frequent first; symbol s is characters[s - 1], and 0 ends a fragment. */
  characters: string[];
  /** How often each symbol occurs; index 0 unused. */
  characterCounts: Float64Array;
  /** All fragments, a 0 after each. */
  symbols: Int32Array;
  /** Fragment f is symbols[starts[f]] … symbols[starts[f + 1] - 2]. */
  starts: Int32Array;
  counts: Float64Array;
}

/** Stands for a symbol that training must not look into; it occurs in no normalised text. */
const BOUNDARY = "\0";

/** Cuts the words at uncovered characters and at the given symbols, which are not to become parts of pieces. */
export function fragmentsOf(
  words: ReadonlyMap<string, number>,
  symbols: readonly string[],
  coverage: number,
): Fragments {
  const texts = withoutSymbols(words, symbols);
  const { characters, characterCounts } = alphabetOf(texts, coverage);
  const numbers = new Map(characters.map((character, i) => [character, i + 1]));
  const counts = new Map<string, number>();
  for (const [text, count] of texts) {
    for (const part of coveredParts(text, numbers)) counts.set(part, (counts.get(part) ?? 0) + count);
  }
  return { characters, characterCounts, ...flattened(counts, numbers) };
}

function withoutSymbols(words: ReadonlyMap<string, number>, symbols: readonly string[]): Map<string, number> {
  if (symbols.length === 0) return new Map(words);
  const longestFirst = [...symbols].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(longestFirst.map((symbol) => escaped(symbol)).join("|"), "gu");
  const texts = new Map<string, number>();
  for (const [word, count] of words) {
    const text = word.replace(pattern, BOUNDARY);
    texts.set(text, (texts.get(text) ?? 0) + count);
  }
  return texts;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&");
}

/** The most frequent characters that together make up `coverage` of the text. */
function alphabetOf(texts: ReadonlyMap<string, number>, coverage: number) {
  const occurrences = new Map<string, number>();
  let total = 0;
  for (const [text, count] of texts) {
    for (const character of text) {
      occurrences.set(character, (occurrences.get(character) ?? 0) + count);
      total += count;
    }
  }
  const sorted = [...occurrences].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const characters: string[] = [];
  const characterCounts = [0];
  let covered = 0;
  for (const [character, count] of sorted) {
    if (Math.fround(covered / total) >= Math.fround(coverage)) break;
    covered += count;
    if (character === BOUNDARY) continue;
    characters.push(character);
    characterCounts.push(count);
  }
  return { characters, characterCounts: Float64Array.from(characterCounts) };
}

function coveredParts(text: string, numbers: ReadonlyMap<string, number>): string[] {
  const parts: string[] = [];
  let part = "";
  for (const character of text) {
    if (numbers.has(character)) part += character;
    else {
      if (part !== "") parts.push(part);
      part = "";
    }
  }
  if (part !== "") parts.push(part);
  return parts;
}

function flattened(counts: ReadonlyMap<string, number>, numbers: ReadonlyMap<string, number>) {
  const starts = new Int32Array(counts.size + 1);
  const frequencies = new Float64Array(counts.size);
  let fragment = 0;
  let size = 0;
  for (const [text, count] of counts) {
    for (const _ of text) size++;
    frequencies[fragment++] = count;
    starts[fragment] = ++size;
  }
  const symbols = new Int32Array(size);
  let at = 0;
  for (const text of counts.keys()) {
    for (const character of text) symbols[at++] = numbers.get(character)!;
    at++;
  }
  return { symbols, starts, counts: frequencies };
}
