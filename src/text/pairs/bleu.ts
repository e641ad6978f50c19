/** BLEU of a corpus as SacreBLEU scores it: 13a tokenisation, four orders, exponential smoothing, cased. */
import { rejectData } from "../../base/errors.ts";

/** A score with the figures it is made of. */
export interface Bleu {
  /** 0 to 100. */
  readonly score: number;
  /** Per order, in percent. */
  readonly precisions: readonly number[];
  readonly brevityPenalty: number;
  readonly systemLength: number;
  readonly referenceLength: number;
}

/** How sentences are compared. */
export interface BleuOptions {
  lowercase?: boolean;
}

const ORDERS = 4;

const entities: readonly (readonly [string, string])[] = [
  ["&quot;", '"'],
  ["&amp;", "&"],
  ["&lt;", "<"],
  ["&gt;", ">"],
];

/** What Python splits at, and so SacreBLEU; \s is not quite the same. */
const SPACES = /\p{White_Space}+/u;

/** The 13a tokens of a line: punctuation apart, but for points and commas within numbers and hyphens within words. */
export function tokenise13a(line: string): string[] {
  let text = line.replaceAll("<skipped>", "").replaceAll("-\n", "").replaceAll("\n", " ");
  for (const [entity, letter] of entities) text = text.replaceAll(entity, letter);
  return ` ${text} `
    .replace(/([{-~[-` -&(-+:-@/])/g, " $1 ")
    .replace(/([^0-9])([.,])/g, "$1 $2 ")
    .replace(/([.,])([^0-9])/g, " $1 $2")
    .replace(/([0-9])(-)/g, "$1 $2 ")
    .split(SPACES)
    .filter((token) => token !== "");
}

type Counts = ReadonlyMap<string, number>;

/** How often each sequence of `order` tokens occurs. */
function ngrams(tokens: readonly string[], order: number): Counts {
  const counts = new Map<string, number>();
  for (let i = 0; i + order <= tokens.length; i++) {
    const key = tokens.slice(i, i + order).join(" ");
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Occurrences in `counts`, each counted as often as the reference that has most of it. */
function clipped(counts: Counts, references: readonly Counts[]): number {
  let total = 0;
  for (const [key, count] of counts) {
    total += Math.min(count, Math.max(...references.map((reference) => reference.get(key) ?? 0)));
  }
  return total;
}

/** The length nearest to the system's; of two as near, the shorter. */
function nearestLength(length: number, references: readonly (readonly string[])[]): number {
  const lengths = references.map((reference) => reference.length).sort((a, b) => a - b);
  return lengths.reduce((best, each) => (Math.abs(each - length) < Math.abs(best - length) ? each : best));
}

/** BLEU of translations against one or more lists of references, line by line. */
export function bleu(
  translations: readonly string[],
  references: readonly (readonly string[])[],
  { lowercase = false }: BleuOptions = {},
): Bleu {
  checkLengths(translations, references);
  const tokens = (line: string) => tokenise13a(lowercase ? line.toLowerCase() : line);
  const correct = Array<number>(ORDERS).fill(0);
  const total = Array<number>(ORDERS).fill(0);
  let [systemLength, referenceLength] = [0, 0];
  translations.forEach((line, i) => {
    const system = tokens(line);
    const wanted = references.map((list) => tokens(list[i]!));
    systemLength += system.length;
    referenceLength += nearestLength(system.length, wanted);
    for (let n = 0; n < ORDERS; n++) {
      const counts = ngrams(system, n + 1);
      total[n]! += Math.max(0, system.length - n);
      correct[n]! += clipped(
        counts,
        wanted.map((each) => ngrams(each, n + 1)),
      );
    }
  });
  return scored(correct, total, systemLength, referenceLength);
}

function checkLengths(translations: readonly string[], references: readonly (readonly string[])[]): void {
  const wrong = references.find((list) => list.length !== translations.length);
  if (references.length > 0 && !wrong && translations.length > 0) return;
  const got = `${translations.length} translations, ${references.map((list) => list.length).join(", ") || "no"} references`;
  rejectData({ who: "BLEU", needed: "as many references as translations, at least one", got });
}

/** An order without a match counts as half a match, the next such order as a quarter, and so on. */
function scored(correct: number[], total: number[], systemLength: number, referenceLength: number): Bleu {
  const short = systemLength < referenceLength;
  const brevityPenalty = short ? (systemLength > 0 ? Math.exp(1 - referenceLength / systemLength) : 0) : 1;
  const precisions = Array<number>(ORDERS).fill(0);
  if (correct.some((count) => count > 0)) {
    let smoothing = 1;
    for (let n = 0; n < ORDERS && total[n]! > 0; n++) {
      if (correct[n] === 0) smoothing *= 2;
      precisions[n] = (100 * (correct[n] || 1 / smoothing)) / total[n]!;
    }
  }
  const logs = precisions.map((precision) => Math.log(precision)).reduce((a, b) => a + b, 0);
  return { score: brevityPenalty * Math.exp(logs / ORDERS), precisions, brevityPenalty, systemLength, referenceLength };
}
