/** Tables of texts: tab-separated, comma-separated with quotes, or JSON lines; every row knows the line it begins at. */
import { reject } from "../../base/errors.ts";

/** How a table is written. */
export type TableForm = "tsv" | "csv" | "jsonl";

/** A row by the names of its columns. */
export interface TableRow {
  /** From 1. */
  readonly line: number;
  readonly cells: Readonly<Record<string, unknown>>;
}

/** How lines are read. */
export interface TableReading {
  /** Names the lines in errors. */
  readonly source: string;
  readonly form: TableForm;
  /** Off: the first line is a row, and columns are called 1, 2, … Default: on; JSON lines have none. */
  readonly header?: boolean | undefined;
}

/** The columns of the first row, and all rows. */
export interface LabelledTable {
  readonly columns: readonly string[];
  readonly rows: readonly TableRow[];
}

/** Reads a table; rows of another width than the first, open quotes and lines that are no JSON object are refused by line. */
export function parseTable(lines: Iterable<string>, reading: TableReading): LabelledTable {
  const rows = reading.form === "jsonl" ? objectRows(lines, reading) : cellRows(lines, reading);
  if (rows.length === 0) reject({ code: "bad-data", who: reading.source, needed: "at least one row", got: "none" });
  return { columns: Object.keys(rows[0]!.cells), rows };
}

function objectRows(lines: Iterable<string>, { source }: TableReading): TableRow[] {
  const rows: TableRow[] = [];
  for (const { line, text } of numbered(lines)) {
    if (text.trim() === "") continue;
    rows.push({ line, cells: objectIn(text, `${source}: line ${line}`) });
  }
  return rows;
}

function objectIn(text: string, who: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    reject({ code: "bad-data", who, needed: "a JSON object", got: JSON.stringify(text.slice(0, 40)) });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  return reject({ code: "bad-data", who, needed: "a JSON object", got: text.slice(0, 40) });
}

function cellRows(lines: Iterable<string>, { source, form, header = true }: TableReading): TableRow[] {
  const records = form === "csv" ? [...quotedRecords(lines, source)] : [...plainRecords(lines)];
  while (records.length > 0 && isBlank(records.at(-1)!.cells)) records.pop();
  const [first] = records;
  if (!first) return [];
  const names = header ? headerOf(first.cells, source) : first.cells.map((_, i) => `${i + 1}`);
  return records.slice(header ? 1 : 0).map(({ line, cells }) => {
    const who = `${source}: line ${line}`;
    if (cells.length !== names.length) {
      reject({ code: "bad-data", who, needed: `${names.length} columns`, got: `${cells.length}`, remedy: mend[form] });
    }
    return { line, cells: Object.fromEntries(names.map((name, i) => [name, cells[i]!])) };
  });
}

const mend: Readonly<Record<TableForm, string>> = {
  tsv: "put one tab between columns",
  csv: "put quotes around cells with commas",
  jsonl: "mend the line",
};

const isBlank = (cells: readonly string[]) => cells.length === 1 && cells[0]!.trim() === "";

function headerOf(cells: readonly string[], source: string): string[] {
  const names = cells.map((name) => name.trim());
  const twice = names.find((name, i) => name === "" || names.indexOf(name) < i);
  if (twice === undefined) return names;
  const remedy = "give the columns names, or say that there is no header";
  return reject({
    code: "bad-data",
    who: `${source}: line 1`,
    needed: "a name for each column, all different",
    got: JSON.stringify(twice),
    remedy,
  });
}

interface CellRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

function* numbered(lines: Iterable<string>): Generator<{ line: number; text: string }> {
  let line = 0;
  for (const text of lines) yield { line: ++line, text: line === 1 ? text.replace(/^\uFEFF/, "") : text };
}

function* plainRecords(lines: Iterable<string>): Generator<CellRecord> {
  for (const { line, text } of numbered(lines)) yield { line, cells: text.split("\t") };
}

/** Cells in quotes may hold commas, doubled quotes and ends of lines. */
function* quotedRecords(lines: Iterable<string>, source: string): Generator<CellRecord> {
  let open: { line: number; text: string } | undefined;
  for (const { line, text } of numbered(lines)) {
    const whole: { line: number; text: string } = open
      ? { line: open.line, text: `${open.text}\n${text}` }
      : { line, text };
    const cells = cellsOf(whole.text, `${source}: line ${whole.line}`);
    open = cells ? undefined : whole;
    if (cells) yield { line: whole.line, cells };
  }
  if (open)
    reject({
      code: "bad-data",
      who: `${source}: line ${open.line}`,
      needed: "a closing quote",
      got: "the end of the file",
    });
}

/** The cells of a record; undefined where a quote is still open. */
function cellsOf(text: string, who: string): string[] | undefined {
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    if (text[at] === '"') {
      const end = closingQuote(text, at + 1);
      if (end < 0) return undefined;
      if (end + 1 < text.length && text[end + 1] !== ",") {
        reject({
          code: "bad-data",
          who,
          needed: "a comma after a closing quote",
          got: JSON.stringify(text.slice(end, end + 20)),
        });
      }
      cells.push(text.slice(at + 1, end).replaceAll('""', '"'));
      at = end + 2;
      if (end + 1 >= text.length) return cells;
    } else {
      const end = text.indexOf(",", at);
      cells.push(end < 0 ? text.slice(at) : text.slice(at, end));
      if (end < 0) return cells;
      at = end + 1;
    }
  }
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at;
  return -1;
}
