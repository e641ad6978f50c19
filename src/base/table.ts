/** Aligned text tables for the terminal. */

export type Cell = string | number | boolean | null | undefined;
/** A row of a table: its cells by column. */
export type Row = Readonly<Record<string, Cell>>;

/** A column: the key of its cells, or a key with a heading and an alignment. */
export type Column = string | { key: string; title?: string; align?: "left" | "right" };

/** One line a row under a line of headings; numbers stand on the right, with thousands separated. */
export function table(rows: readonly Row[], columns?: readonly Column[]): string {
  const wanted = (columns ?? keysOf(rows)).map(complete);
  const lines = [wanted.map(({ title }) => title), ...rows.map((row) => wanted.map(({ key }) => cellText(row[key])))];
  const widths = wanted.map((_, i) => Math.max(...lines.map((line) => widthOf(line[i]!))));
  const right = wanted.map(({ key, align }) =>
    align ? align === "right" : rows.some((row) => typeof row[key] === "number"),
  );
  return lines
    .map((line) =>
      line
        .map((text, i) => pad(text, widths[i]!, right[i]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** 1234567.5 → `1,234,567.5`; at most `digits` decimals. The same as `toLocaleString`, which takes 20 ms to be ready. */
export function formatNumber(value: number, digits = 3): string {
  const [mantissa, exponent = "0"] = `${Math.abs(value)}`.split("e");
  // Shifting the decimal point in the text rounds 1.005 as a reader does.
  const scaled = Math.round(Number(`${mantissa}e${Number(exponent) + digits}`));
  if (!Number.isSafeInteger(scaled)) return value.toLocaleString("en-US", { maximumFractionDigits: digits });
  const text = `${scaled}`.padStart(digits + 1, "0");
  const whole = text.slice(0, text.length - digits).replace(/\B(?=(\d{3})+$)/g, ",");
  const decimals = text.slice(text.length - digits).replace(/0+$/, "");
  return `${value < 0 || Object.is(value, -0) ? "-" : ""}${whole}${decimals && `.${decimals}`}`;
}

/** A table whose lines fit: without the columns that may be left out, one after another, and at last cut off. */
export function fittedTable(rows: readonly Row[], width: number, dispensable: readonly string[]): string {
  const text = table(rows);
  if (text.split("\n").every((line) => widthOf(line) <= width)) return text;
  const [next, ...later] = dispensable;
  if (next === undefined) return text.replace(/^.*$/gm, (line) => cutTo(line, width));
  const fewer = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([key]) => key !== next)));
  return fittedTable(fewer, width, later);
}

const cutTo = (line: string, width: number) =>
  widthOf(line) <= width ? line : `${[...line].slice(0, width - 1).join("")}…`;

/** Two columns without headings: what it is, and its value. */
export function factTable(facts: readonly { readonly what: string; readonly value: string }[]): string {
  const rows = facts.map(({ what, value }) => ({ what, value }));
  return table(
    rows,
    ["what", "value"].map((key) => ({ key, title: "" })),
  ).trim();
}

function keysOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

function complete(column: Column): { key: string; title: string; align?: "left" | "right" } {
  return typeof column === "string" ? { key: column, title: column } : { title: column.key, ...column };
}

function cellText(value: Cell): string {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? formatNumber(value) : String(value);
}

function widthOf(text: string): number {
  return [...text].length;
}

function pad(text: string, width: number, right: boolean): string {
  const space = " ".repeat(width - widthOf(text));
  return right ? space + text : text + space;
}
