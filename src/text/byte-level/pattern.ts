/** Regular expressions of tokenizer.json, which are Oniguruma's, as JavaScript's; what means something else there is refused. */
import { messageOf, rejectFile } from "../../base/errors.ts";

/** What GPT-2 splits text by: contractions, words with the space before them, numbers, signs, and spaces. */
export const GPT2 = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/** Escapes that have another extent in JavaScript. */
const escapes: Readonly<Record<string, string>> = {
  "\\s": String.raw`\p{White_Space}`,
  "\\S": String.raw`\P{White_Space}`,
  "\\d": String.raw`\p{Nd}`,
  "\\D": String.raw`\P{Nd}`,
};

/** What has no counterpart: possessive repeats, atomic groups, other modifiers, and escapes for words, hexadecimal digits and line ends. */
const foreign = /(?<!\\)(?:[+*?]\+|\{\d+(?:,\d*)?\}\+|\(\?>|\(\?[a-z-]*[a-z]\)|\\[wWhHRGAzZX]|\[\[:|&&)/;

/** A global expression, by which `source` (a field of a file) splits text. */
export function patternOf(text: string, source: string): RegExp {
  const strange = foreign.exec(text)?.[0];
  if (strange !== undefined) refuse(source, `${JSON.stringify(strange)} in ${JSON.stringify(text)}`);
  const same = text.replace(/\(\?i:([^()[\]\\]*)\)/g, (_, inner: string) => `(?:${anyCase(inner)})`);
  if (same.includes("(?i:")) refuse(source, `letters of either case around ${JSON.stringify(text)}`);
  const translated = same.replace(/\\[\s\S]/g, (found) => escapes[found] ?? found);
  try {
    return new RegExp(translated, "gu");
  } catch (error) {
    return refuse(source, messageOf(error));
  }
}

/** Letters of either case, with those that fold to them. */
const anyCase = (text: string) =>
  text.replace(/[a-z]/gi, (letter) => {
    const low = letter.toLowerCase();
    return `[${low}${low.toUpperCase()}${low === "s" ? "ſ" : low === "k" ? "\u212a" : ""}]`;
  });

function refuse(source: string, got: string): never {
  return rejectFile({ who: source, needed: "a regular expression that JavaScript has too", got });
}

/** Characters that mean something in an expression. */
export const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, (sign) => `\\${sign}`);
