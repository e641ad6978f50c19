/** Probing texts: SentEval's sentences with a label, and sentences of subject–verb agreement with the distance between the two. */
import { rejectFile } from "../../base/errors.ts";
import { linesOfText, type TextLines } from "../corpus.ts";

/** A sentence with its label. */
export interface ProbeSentence {
  readonly line: number;
  readonly split: string;
  readonly label: string;
  readonly words: readonly string[];
  /** Indices of the words to mask, where there are some. */
  readonly masked?: readonly number[];
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
    const masked = index === undefined ? {} : { masked: [wordIndex(index, words, who)] };
    return { line, split: split!, label: label!, words, ...masked };
  });
}

const AGREEMENT = ["split", "orig_sentence", "n_intervening", "distance"] as const;

/** Which columns say what is masked and what is to be told: the verb and its form or, in control sets, up to four words and their tags. */
interface Target {
  readonly label: string;
  readonly places: readonly string[];
  /** Of the first word. */
  readonly from: 0 | 1;
}

const verb: Target = { label: "verb_pos", places: ["verb_index"], from: 1 };
const CONTROL = /^POS_TARGET(_ALL|(_IDX)?(_[2-9])?)$/;

/** Columns of a control set; one of its kind that is not understood is refused. */
function targetOf(names: readonly string[], who: string): Target {
  const control = names.filter((name) => name.startsWith("POS_TARGET"));
  if (control.length === 0) return verb;
  const stranger = control.find((name) => !CONTROL.test(name));
  const needed = "POS_TARGET_IDX, POS_TARGET_IDX_2 …, POS_TARGET, POS_TARGET_2 … or POS_TARGET_ALL";
  if (stranger !== undefined) rejectFile({ who, needed, got: stranger });
  const label = control.includes("POS_TARGET_ALL") ? "POS_TARGET_ALL" : "POS_TARGET";
  const places = control.filter((name) => name.startsWith("POS_TARGET_IDX"));
  return { label, places: places.length > 0 ? places : ["POS_TARGET_IDX"], from: 0 };
}

/**
 * A table with a heading (tabs or commas). The verb is masked, whose index counts words from 1; in control sets, which have columns
 * POS_TARGET_IDX, POS_TARGET_IDX_2 …, other words are, which count from 0. Further columns are left alone.
 */
export function parseAgreement(text: TextLines, source = "agreement"): ProbeSentence[] {
  const [heading, ...rows] = numbered(text);
  const separator = heading?.[1].includes("\t") ? "\t" : ",";
  const names = heading ? cells(heading[1], separator) : [];
  const target = targetOf(names, `${source}:1`);
  const needed = [...AGREEMENT, target.label, ...target.places];
  if (!needed.every((name) => names.includes(name)))
    rejectFile({ who: `${source}:1`, needed: `a heading with ${needed.join(", ")}`, got: names.join(", ") });
  return rows.map(([line, text]) => {
    const who = `${source}:${line}`;
    const row = cells(text, separator);
    if (row.length !== names.length) {
      rejectFile({ who, needed: `${names.length} columns`, got: `${row.length}` });
    }
    return { line, ...sentenceIn((name) => row[names.indexOf(name)]!, target, who) };
  });
}

function sentenceIn(of: (name: string) => string, { label, places, from }: Target, who: string) {
  const words = of("orig_sentence").split(/\s+/).filter(Boolean);
  return {
    split: of("split"),
    label: of(label),
    words,
    masked: places.map((name) => wordIndex(String(Number(of(name)) - from), words, who)),
    distance: count(of("distance"), "distance", who),
    intervening: count(of("n_intervening"), "n_intervening", who),
  };
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
