/** Files of labelled texts: tables by the ending of their names. */
import { existsSync, readFileSync } from "node:fs";
import { reject, rejectData } from "../../base/errors.ts";
import { readLines } from "../../files/lines.ts";
import { readText } from "../../files/text.ts";
import { type ChoiceQuestion, type ChoiceReading, parseChoices } from "../labelled/choices.ts";
import {
  labelledRows,
  plainRows,
  type TableTask,
  type TextColumns,
  type TextRow,
  taskOfRows,
} from "../labelled/labelled-rows.ts";
import { type LabelledTable, parseTable, type TableForm } from "../labelled/labelled-table.ts";
import { parseSquad, type Question, type SquadReading } from "../labelled/questions.ts";
import { type ConllReading, parseConll, type TaggedSentence } from "../labelled/tagged.ts";
import { exampleOf, type LabelledText, type PlainText, type TextTask } from "../labelled/text-task.ts";

/** Where labelled texts stand, as a run keeps it. */
export interface TextFiles extends TextColumns {
  readonly train: string;
  readonly dev: string;
  readonly task: TableTask;
  /** Off: files have no first line with names; columns go by their place. Default: on. */
  readonly header?: boolean | undefined;
}

/** Texts to learn from and to judge by, with the task they are for: what `finetune` takes. */
export interface TextData {
  readonly task: TextTask;
  readonly train: readonly LabelledText[];
  readonly dev: readonly LabelledText[];
  readonly files: TextFiles;
}

const forms: Readonly<Record<string, TableForm>> = {
  tsv: "tsv",
  csv: "csv",
  jsonl: "jsonl",
  ndjson: "jsonl",
};

/** How a file is written, by its ending; undefined where that says nothing. */
export const tableFormOf = (file: string): TableForm | undefined =>
  forms[/\.([a-z]+)$/i.exec(file)?.[1]?.toLowerCase() ?? ""];

function existing(source: string): string {
  if (existsSync(source)) return source;
  return reject({ code: "bad-file", who: source, needed: "a file of texts", got: "no such file" });
}

/** A line as a text, or as two with a tab between. */
export function plainText(line: string, who: string): PlainText {
  const [text = "", pair, ...more] = line.split("\t");
  if (text.trim() === "" || pair?.trim() === "") rejectData({ who, needed: "a text", got: "an empty one" });
  if (more.length > 0)
    rejectData({ who, needed: "a text, or two with a tab between", got: `${more.length + 2} columns` });
  return pair === undefined ? { text } : { text, pair };
}

/** The lines of a text; one at its end that is empty does not count. */
export const linesIn = (text: string): string[] => text.replace(/\r?\n$/, "").split(/\r?\n/);

/** The lines of a text as texts, or as pairs with a tab between. */
export const plainTexts = (text: string, source: string): PlainText[] =>
  linesIn(text).map((line, i) => plainText(line, `${source}: line ${i + 1}`));

/** Sentences with a tag per word, in CoNLL's columns. */
export const readConll = (source: string, columns: Omit<ConllReading, "source"> = {}): TaggedSentence[] =>
  parseConll(readLines(existing(source)), { ...columns, source });

/** Questions on texts, in SQuAD's JSON. */
export const readSquad = (source: string, reading: SquadReading = {}): Question[] =>
  parseSquad(readFileSync(existing(source), "utf8"), source, reading);

/** Questions with texts to choose from, in JSON lines of {text, choices, label}. */
export const readChoices = (source: string, reading: ChoiceReading = {}): ChoiceQuestion[] =>
  parseChoices(readLines(existing(source)), source, reading);

/** Reads a table. */
export function readTable(source: string, { header }: { header?: boolean | undefined } = {}): LabelledTable {
  existing(source);
  const form = tableFormOf(source);
  const needed = "a name that ends with .tsv, .csv or .jsonl";
  if (!form) return reject({ code: "bad-file", who: source, needed, got: "another" });
  return parseTable(readLines(source), { source, form, header });
}

/** Which columns of a table hold texts, and whether they are pairs. */
export interface PlainColumns extends Pick<TextColumns, "text" | "pair">, Pick<TextFiles, "header"> {
  readonly pairs?: boolean | undefined;
}

/** Texts without labels, of a table. */
export const readTexts = (source: string, columns: PlainColumns = {}) =>
  plainRows(readTable(source, columns), source, columns) as readonly PlainText[];

/** Texts of a table (.tsv, .csv, .jsonl), or the lines of any other file: a text each, or two with a tab between. */
export async function textsIn(file: string, who: string, columns: PlainColumns = {}): Promise<readonly PlainText[]> {
  return tableFormOf(file) ? readTexts(file, columns) : plainTexts(await readText(file, who, 1), file);
}

const rowsOf = (source: string, files: Omit<TextFiles, "train" | "dev">): readonly TextRow[] =>
  labelledRows(readTable(source, files), source, files, files.task);

/** The texts of one file, their labels checked against a task. */
export function readLabelled(source: string, files: Omit<TextFiles, "train" | "dev">, task: TextTask): LabelledText[] {
  return rowsOf(source, files).map(({ text, who }, i) => {
    exampleOf(text, task, i, who);
    return text;
  });
}

/** Reads both files; the labels are those of the texts to learn from. */
export function readTextFiles(files: TextFiles): TextData {
  const rows = rowsOf(files.train, files);
  const task = taskOfRows(files.task, rows, files.train);
  return { task, train: rows.map(({ text }) => text), dev: readLabelled(files.dev, files, task), files };
}
