/** Files of labelled texts: tables by the ending of their names. */
import { existsSync } from "node:fs";
import { reject } from "../../base/errors.ts";
import { readLines } from "../../files/lines.ts";
import {
  labelledRows,
  plainRows,
  type TableTask,
  type TextColumns,
  type TextRow,
  taskOfRows,
} from "../labelled/labelled-rows.ts";
import { type LabelledTable, parseTable, type TableForm } from "../labelled/labelled-table.ts";
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

/** Reads a table. */
export function readTable(source: string, { header }: { header?: boolean | undefined } = {}): LabelledTable {
  if (!existsSync(source)) reject({ code: "bad-file", who: source, needed: "a file of texts", got: "no such file" });
  const form = tableFormOf(source);
  const needed = "a name that ends with .tsv, .csv or .jsonl";
  if (!form) return reject({ code: "bad-file", who: source, needed, got: "another" });
  return parseTable(readLines(source), { source, form, header });
}

/** Texts without labels, of a table. */
export const readTexts = (
  source: string,
  columns: TextColumns & { header?: boolean | undefined; pairs?: boolean | undefined } = {},
) => plainRows(readTable(source, columns), source, columns) as readonly PlainText[];

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
