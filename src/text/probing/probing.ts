/** Probing texts: SentEval's sentences with a label, and sentences of subject–verb agreement with the distance between the two. */
import { rejectFile } from "../../base/errors.ts";
import { linesOfText, type TextLines } from "../corpus.ts";

/** A sentence with its label. */
export interface ProbeSentence {
  readonly line: number;
  readonly split: string;
  readonly label: string;
  readonly words: readonly string[];
  /** Index of the word to mask, where there is one. */
  readonly masked?: number;
  /** Words between subject and verb, and nouns of the other number among them. */
  readonly distance?: number;
  readonly intervening?: number;
}

/** `split ⇥ label ⇥ text`, and in the versions with a mask `⇥ index` of a word, from 0. */
export function parseProbe(text: TextLines, source = "probe"): ProbeSentence[] {
  return [...numbered(text)].map(([line, text]) => {
    const who = `${source}:${line}`;
    const [split, label, sentence, index, ...more] = text.split("\t");
    if (sentence === undefined || more.length > 0) {
      rejectFile({
        who,
        needed: "split, label, text and perhaps a word's index, apart by tabs",
        got: text.slice(0, 60),
      });
    }
    const words = sentence.split(/\s+/).filter(Boolean);
    const masked = index === undefined ? {} : { masked: wordIndex(index, words, who) };
    return { line, split: split!, label: label!, words, ...masked };
  });
}

const AGREEMENT = ["split", "orig_sentence", "n_intervening", "distance", "verb_pos", "verb_index"] as const;

/** A table with a heading (tabs or commas) and at least these columns; the verb's index counts words from 1. */
export function parseAgreement(text: TextLines, source = "agreement"): ProbeSentence[] {
  const [heading, ...rows] = numbered(text);
  const separator = heading?.[1].includes("\t") ? "\t" : ",";
  const names = heading ? cells(heading[1], separator) : [];
  const missing = AGREEMENT.find((name) => !names.includes(name));
  if (missing)
    rejectFile({ who: `${source}:1`, needed: `a heading with ${AGREEMENT.join(", ")}`, got: names.join(", ") });
  return rows.map(([line, text]) => {
    const who = `${source}:${line}`;
    const row = cells(text, separator);
    if (row.length !== names.length) {
      rejectFile({ who, needed: `${names.length} columns`, got: `${row.length}` });
    }
    const of = (name: (typeof AGREEMENT)[number]) => row[names.indexOf(name)]!;
    const words = of("orig_sentence").split(/\s+/).filter(Boolean);
    return {
      line,
      split: of("split"),
      label: of("verb_pos"),
      words,
      masked: wordIndex(String(Number(of("verb_index")) - 1), words, who),
      distance: count(of("distance"), "distance", who),
      intervening: count(of("n_intervening"), "n_intervening", who),
    };
  });
}

function* numbered(text: TextLines): Generator<[number: number, line: string]> {
  let number = 0;
  for (const line of typeof text === "string" ? linesOfText(text) : text) {
    number++;
    if (line.trim() !== "") yield [number, line];
  }
}

/** Cells of a line; quotes may enclose separators, and double quotes within them stand for one. */
function cells(line: string, separator: string): string[] {
  if (separator === "\t") return line.split("\t");
  const found = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return [...found].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? "");
}

function wordIndex(text: string, words: readonly string[], who: string): number {
  const index = Number(text);
  if (Number.isInteger(index) && index >= 0 && index < words.length) return index;
  return rejectFile({ who, needed: `a word's place in a sentence of ${words.length}`, got: text });
}

function count(text: string, name: string, who: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= 0) return value;
  return rejectFile({ who, needed: `a whole number as ${name}`, got: text });
}
