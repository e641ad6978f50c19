/** The named normalisations, as rewriting rules built from the Unicode data of the running program. */
import { foldCase, foldCharacter } from "./case-folding.ts";

/** From a sequence of characters to what replaces it. */
export type Rules = Map<string, string>;

/** Names as SentencePiece gives them; `_cf` folds case, `nmt_` also cleans control characters and odd spaces. */
/** The normalisations there are. */
export const NORMALISATIONS = ["identity", "nfkc", "nfkc_cf", "nmt_nfkc", "nmt_nfkc_cf"] as const;
/** Names of normalisations. */
export type Normalisation = (typeof NORMALISATIONS)[number];

/** Where characters with a decomposition or with case lie; the rest of Unicode is unassigned or never changes. */
const RANGES: readonly (readonly [number, number])[] = [
  [0x01, 0xd7ff],
  [0xf900, 0xfdcf],
  [0xfdf0, 0xfffd],
  [0x10000, 0x1fffd],
  [0x2f800, 0x2fa1f],
];

const builders: Readonly<Record<Normalisation, () => Rules>> = {
  identity: () => new Map(),
  nfkc: () => withoutRedundant(nfkcRules()),
  nfkc_cf: () => withoutRedundant(folded(nfkcRules())),
  nmt_nfkc: () => withoutRedundant(cleaned(nfkcRules())),
  nmt_nfkc_cf: () => withoutRedundant(folded(cleaned(nfkcRules()))),
};

/** The rules of a named normalisation. */
export function normalisationRules(name: Normalisation): Rules {
  return builders[name]();
}

function* characters(): Generator<string> {
  for (const [low, high] of RANGES) {
    for (let code = low; code <= high; code++) yield String.fromCodePoint(code);
  }
}

/** Single characters to their NFKC form, and sequences that compose to the composed form. */
function nfkcRules(): Rules {
  const rules: Rules = new Map();
  const sequences = new Set<string>();
  const variants = new Map<string, string[]>();
  for (const character of characters()) {
    const composed = character.normalize("NFKC");
    if (composed !== character) rules.set(character, composed);
    const decomposed = character.normalize("NFKD");
    if (decomposed === character) continue;
    if ([...decomposed].length > 1) sequences.add(decomposed);
    else variants.set(decomposed, [...(variants.get(decomposed) ?? [decomposed]), character]);
  }
  for (const sequence of sequences) {
    const composed = sequence.normalize("NFC");
    if (composed === sequence) continue;
    for (const spelling of spellings(sequence, variants)) if (spelling !== composed) rules.set(spelling, composed);
  }
  return rules;
}

/** All sequences that decompose to `sequence` one character for one. */
function spellings(sequence: string, variants: ReadonlyMap<string, string[]>): string[] {
  let partial = [""];
  for (const character of sequence) {
    const choices = variants.get(character) ?? [character];
    partial = partial.flatMap((head) => choices.map((choice) => head + choice));
  }
  return partial;
}

function folded(rules: Rules): Rules {
  for (const [key, target] of rules) rules.set(key, foldCase(target));
  for (const character of characters()) {
    if (rules.has(character)) continue;
    const target = foldCharacter(character);
    if (target !== character) rules.set(character, target);
  }
  return rules;
}

/** Control characters go, other kinds of space become one, and the full-width tilde keeps its width. */
function cleaned(rules: Rules): Rules {
  for (const code of CONTROLS) rules.set(String.fromCodePoint(code), "");
  for (const code of SPACES) rules.set(String.fromCodePoint(code), " ");
  rules.delete("\uff5e");
  return rules;
}

const CONTROLS = [1, 2, 3, 4, 5, 6, 7, 8, 0x0b, 0x7f, 0x8f, 0x9f].concat(
  Array.from({ length: 18 }, (_, i) => 0x0e + i),
);
const SPACES = [9, 0x0a, 0x0c, 0x0d, 0x1680, 0x200b, 0x200c, 0x200e, 0x200f, 0x2028, 0x2029, 0x2581, 0xfeff, 0xfffd];

/** Drops sequences that shorter rules already rewrite to the same. */
function withoutRedundant(rules: Rules): Rules {
  const byLength: [string, string][][] = [];
  for (const rule of rules) {
    const length = [...rule[0]].length;
    byLength[length] = byLength[length] ?? [];
    byLength[length].push(rule);
  }
  const kept: Rules = new Map(byLength[1]);
  for (let length = 2; length < byLength.length; length++) {
    const added = (byLength[length] ?? []).filter(([key, target]) => rewrite(kept, [...key], length - 1) !== target);
    for (const [key, target] of added) kept.set(key, target);
  }
  return kept;
}

/** Applies the rules from left to right, the longest first. */
function rewrite(rules: Rules, text: readonly string[], longest: number): string {
  let result = "";
  for (let at = 0; at < text.length; ) {
    let length = Math.min(longest, text.length - at);
    let target: string | undefined;
    for (; length > 0 && target === undefined; length--) target = rules.get(text.slice(at, at + length).join(""));
    result += target ?? text[at]!;
    at += target === undefined ? 1 : length + 1;
  }
  return result;
}
