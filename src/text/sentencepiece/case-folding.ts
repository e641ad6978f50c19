/** Simple case folding (one character to one), derived from the language's own case mappings. */

const CHEROKEE = /\p{Script=Cherokee}/u;
/** Dotless i folds to itself; by way of its capital it would become a dotted one. */
const DOTLESS_I = "ı";

/** The folded form of one character. */
export function foldCharacter(character: string): string {
  if (character === DOTLESS_I) return character;
  // Cherokee folds to its capitals, which are the older letters.
  if (CHEROKEE.test(character)) return oneOr(character.toUpperCase(), character);
  const capital = oneOr(character.toUpperCase(), character);
  return oneOr(capital.toLowerCase(), character);
}

/** `mapped` if it is one character, else `original`: longer mappings belong to full case folding. */
function oneOr(mapped: string, original: string): string {
  return mapped.length === String.fromCodePoint(mapped.codePointAt(0)!).length ? mapped : original;
}

/** Each character folded. */
export function foldCase(text: string): string {
  let folded = "";
  for (const character of text) folded += foldCharacter(character);
  return folded;
}
