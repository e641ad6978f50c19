/** Sentences with a tag per word, in CoNLL's columns, and how well guessed tags agree with them. */
import { reject } from "../../base/errors.ts";

/** A sentence with a tag per word. */
export interface TaggedSentence {
  readonly words: readonly string[];
  /** None where they are only asked for. */
  readonly tags: readonly string[];
}

/** How columns are read. */
export interface ConllReading {
  /** Names the lines in errors. */
  readonly source: string;
  /** Places of the columns from 1; −1 is the last. Default: the first word, the last tag. */
  readonly wordColumn?: number | undefined;
  readonly tagColumn?: number | undefined;
  /** The tags there may be. Default: any. */
  readonly tags?: readonly string[] | undefined;
}

/** Reads a word per line, columns apart by white space, a blank line between sentences; -DOCSTART- lines are left out. */
export function parseConll(lines: Iterable<string>, reading: ConllReading): TaggedSentence[] {
  const { source, wordColumn = 1, tagColumn = -1, tags } = reading;
  const sentences: { words: string[]; tags: string[] }[] = [];
  let [number, width, open] = [0, 0, false];
  for (const line of lines) {
    number++;
    const cells = line.trim().split(/\s+/u);
    const ends = cells[0] === "" || cells[0] === "-DOCSTART-";
    if (!ends) {
      width ||= cells.length;
      const who = `${source}: line ${number}`;
      if (width < 2) reject({ code: "bad-data", who, needed: "a word and a tag", got: `${width} column` });
      if (cells.length !== width) {
        reject({ code: "bad-data", who, needed: `${width} columns`, got: `${cells.length}` });
      }
      if (!open) sentences.push({ words: [], tags: [] });
      sentences.at(-1)!.words.push(cellOf(cells, wordColumn, who));
      sentences.at(-1)!.tags.push(known(cellOf(cells, tagColumn, who), tags, who));
    }
    open = !ends;
  }
  if (sentences.length === 0) reject({ code: "bad-data", who: source, needed: "at least one sentence", got: "none" });
  return sentences;
}

function known(tag: string, tags: readonly string[] | undefined, who: string): string {
  if (!tags || tags.includes(tag)) return tag;
  return reject({ code: "bad-data", who, needed: `a tag of ${tags.join(", ")}`, got: tag });
}

function cellOf(cells: readonly string[], column: number, who: string): string {
  const found = cells.at(column > 0 ? column - 1 : column);
  return found ?? reject({ code: "bad-data", who, needed: `a column ${column}`, got: `${cells.length} columns` });
}

/** All tags: O first, then by the alphabet. */
export function tagsIn(sentences: readonly TaggedSentence[]): string[] {
  const found = [...new Set(sentences.flatMap(({ tags }) => tags))].sort();
  return found.includes("O") ? ["O", ...found.filter((tag) => tag !== "O")] : found;
}

/** Spans of a sentence's tags in the form B-X, I-X, O: `kind from to`. I after another kind begins a span, as conlleval has it. */
export function spansOf(tags: readonly string[]): string[] {
  const spans: { kind: string; from: number; to: number }[] = [];
  for (const [i, tag] of tags.entries()) {
    const [, place, kind] = /^([BI])-(.+)$/.exec(tag) ?? [];
    if (kind === undefined) continue;
    const last = spans.at(-1);
    if (place === "I" && last?.to === i - 1 && last.kind === kind) last.to = i;
    else spans.push({ kind, from: i, to: i });
  }
  return spans.map(({ kind, from, to }) => `${kind} ${from} ${to}`);
}

/** Accuracy over words and, where tags mark spans, F1 of whole spans. */
export function tagFigures(
  truth: readonly (readonly string[])[],
  guesses: readonly (readonly string[])[],
): Record<string, number> {
  const words = truth.flatMap((tags, i) => tags.map((tag, k) => Number(tag === guesses[i]![k])));
  const accuracy = words.reduce((a, b) => a + b, 0) / words.length;
  if (!truth.some((tags) => tags.some((tag) => /^[BI]-/.test(tag)))) return { accuracy };
  let [both, all] = [0, 0];
  for (const [i, tags] of truth.entries()) {
    const [real, said] = [new Set(spansOf(tags)), spansOf(guesses[i]!)];
    both += said.filter((span) => real.has(span)).length;
    all += real.size + said.length;
  }
  return { f1: all === 0 ? 0 : (2 * both) / all, accuracy };
}
