/** Rows of a table as texts and labels: which columns they stand in, and what a label has to be. */
import { reject } from "../../base/errors.ts";
import type { LabelledTable, TableRow } from "./labelled-table.ts";
import {
  classification,
  type LabelledText,
  multiLabel,
  type PlainText,
  regression,
  type TextTask,
} from "./text-task.ts";

/** What is learnt from a table: a class per text or per pair of texts, any number of classes, or a number. */
export const tableTasks = ["classification", "pairs", "multi-label", "regression"] as const;
/** A task that a table can be for. */
export type TableTask = (typeof tableTasks)[number];

/** A text with its label as the file has it, and the place that errors name. */
export interface TextRow {
  readonly text: LabelledText;
  readonly who: string;
}

/** Columns by name, or by their place from 1. */
export interface TextColumns {
  /** Default: the one called text, sentence, text1, sentence1, premise or question. */
  readonly text?: string | undefined;
  /** The second text. Default with pairs: the one called pair, text2, sentence2, hypothesis or answer; else none. */
  readonly pair?: string | undefined;
  /** Default: the one called label, labels, class, score or target. */
  readonly label?: string | undefined;
}

const usual = {
  text: ["text", "sentence", "text1", "sentence1", "premise", "question"],
  pair: ["pair", "text2", "sentence2", "hypothesis", "answer"],
  label: ["label", "labels", "class", "score", "target"],
} as const;

/** The name of a column: as asked for, or the first usual one. */
function columnOf(
  what: keyof typeof usual,
  asked: string | undefined,
  { columns }: LabelledTable,
  source: string,
): string {
  const byPlace = asked !== undefined && /^[1-9]\d*$/.test(asked) ? columns[Number(asked) - 1] : undefined;
  const known = (names: readonly string[]) =>
    names.map((name) => columns.find((each) => each.toLowerCase() === name)).find((each) => each !== undefined);
  const found = asked === undefined ? known(usual[what]) : columns.includes(asked) ? asked : byPlace;
  if (found !== undefined) return found;
  return reject({
    code: "bad-data",
    who: `${source}: line 1`,
    needed: asked === undefined ? `a column called ${usual[what].join(", ")}` : `a column called ${asked}`,
    got: columns.join(", "),
    remedy: `name it with --${what}, by its name or its place`,
  });
}

/** The texts of a table without labels: empty ones are refused by line. */
export function plainRows(
  table: LabelledTable,
  source: string,
  columns: TextColumns & { pairs?: boolean | undefined },
): PlainText[] {
  return textsOf(table, source, columns).map(({ text }) => text);
}

function textsOf(
  table: LabelledTable,
  source: string,
  { text, pair, pairs }: TextColumns & { pairs?: boolean | undefined },
) {
  const [first, second] = [
    columnOf("text", text, table, source),
    pairs || pair !== undefined ? columnOf("pair", pair, table, source) : undefined,
  ];
  return table.rows.map((row) => {
    const who = `${source}: line ${row.line}`;
    const own = { text: textIn(row, first, who), ...(second === undefined ? {} : { pair: textIn(row, second, who) }) };
    return { row, who, text: own };
  });
}

/** The rows of a table with their labels, which a number has to be for regression. */
export function labelledRows(
  table: LabelledTable,
  source: string,
  columns: TextColumns,
  task: TableTask,
): readonly TextRow[] {
  const label = columnOf("label", columns.label, table, source);
  const read = readers[task];
  return textsOf(table, source, { ...columns, pairs: task === "pairs" }).map(({ row, who, text }) => {
    return { who, text: { ...text, label: read(row.cells[label], who) } };
  });
}

function textIn({ cells }: TableRow, column: string, who: string): string {
  const value = cells[column];
  if (typeof value === "string" && value.trim() !== "") return value;
  const got =
    value === undefined ? "no such column" : typeof value === "string" ? "an empty one" : JSON.stringify(value);
  return reject({ code: "bad-data", who, needed: `a text in column ${column}`, got });
}

type Label = LabelledText["label"];

const readers: Readonly<Record<TableTask, (value: unknown, who: string) => Label>> = {
  classification: nameIn,
  pairs: nameIn,
  "multi-label": namesIn,
  regression: numberIn,
};

function nameIn(value: unknown, who: string): string {
  const name =
    typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? `${value}`.trim() : "";
  return name !== ""
    ? name
    : reject({ code: "bad-data", who, needed: "a label", got: JSON.stringify(value) ?? "none" });
}

/** Labels with commas or bars between, or a list; none is an answer too. */
function namesIn(value: unknown, who: string): string[] {
  if (Array.isArray(value)) return value.map((each) => nameIn(each, who));
  if (typeof value === "string") return value.split(/[,|]/).flatMap((each) => each.trim() || []);
  return reject({
    code: "bad-data",
    who,
    needed: "labels with commas between, or a list",
    got: JSON.stringify(value) ?? "none",
  });
}

function numberIn(value: unknown, who: string): number {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number === "number" && Number.isFinite(number)) return number;
  return reject({ code: "bad-data", who, needed: "a number as label", got: JSON.stringify(value) ?? "none" });
}

/** The task of a table: its labels are those of the rows, numbers in their order, else by the alphabet. */
export function taskOfRows(task: TableTask, rows: readonly TextRow[], source: string): TextTask {
  if (task === "regression") return regression();
  const labels = [...new Set(rows.flatMap(({ text: { label } }) => label as string | string[]))].sort(byOrder);
  const least = task === "multi-label" ? 1 : 2;
  if (labels.length < least) {
    const needed = `texts of at least ${least} ${least === 1 ? "label" : "different labels"}`;
    reject({ code: "bad-data", who: source, needed, got: labels.join(", ") || "none" });
  }
  return task === "multi-label" ? multiLabel({ labels }) : classification({ labels, name: task });
}

function byOrder(a: string, b: string): number {
  const difference = Number(a) - Number(b);
  return difference || (a < b ? -1 : Number(a > b));
}
