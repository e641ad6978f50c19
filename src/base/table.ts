/** Aligned text tables for the terminal. */

export type Cell = string | number | boolean | null | undefined;
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

/** 1234567.5 → `1,234,567.5`; at most `digits` decimals. */
export function formatNumber(value: number, digits = 3): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
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
