/** The table of runs as data: filter, sort and group by any column or setting. */
import type { RunRow } from "../../src/studio/api.ts";

/** What a column or a setting of a run is; undefined where it has none. */
export function cellOf(row: RunRow, key: string): unknown {
  const column = COLUMNS[key];
  return column ? (column(row) ?? undefined) : (row.settings[key] ?? undefined);
}

const COLUMNS: Readonly<Record<string, (row: RunRow) => unknown>> = {
  name: (row) => row.path,
  kind: (row) => row.kind,
  status: (row) => row.status,
  step: (row) => row.step,
  unique: (row) => row.uniqueBlocks,
  depth: (row) => row.executedDepth,
  parameters: (row) => row.parameters,
  flops: (row) => row.flopsPerToken,
  loss: (row) => row.lastLoss,
  best: (row) => row.best?.value,
  speed: (row) => row.tokensPerSecond,
  time: (row) => row.elapsedMs,
  changed: (row) => row.changedMs,
  note: (row) => row.note,
};

/** Settings in which the rows differ, by name. */
export function telling(rows: readonly RunRow[]): string[] {
  const keys = new Set(rows.flatMap(({ settings }) => Object.keys(settings)));
  const differs = (key: string) => new Set(rows.map(({ settings }) => JSON.stringify(settings[key]))).size > 1;
  return [...keys].filter((key) => !(key in COLUMNS) && differs(key)).sort();
}

/** Whether a row fits all terms: `width=128`, `best<60`, `status!=killed`, or a word anywhere in it. */
export function matches(row: RunRow, filter: string): boolean {
  return filter.split(/\s+/).every((term) => term === "" || matchesTerm(row, term));
}

function matchesTerm(row: RunRow, term: string): boolean {
  const [, key, sign, wanted] = /^([\w.]+)(!=|<=|>=|=|<|>)(.+)$/.exec(term) ?? [];
  if (key === undefined || wanted === undefined) return textOf(row).includes(term.toLowerCase());
  const value = cellOf(row, key);
  if (sign === "=") return String(value ?? "").toLowerCase() === wanted.toLowerCase();
  if (sign === "!=") return String(value ?? "").toLowerCase() !== wanted.toLowerCase();
  if (typeof value !== "number") return false;
  const limit = Number(wanted);
  return { "<": value < limit, ">": value > limit, "<=": value <= limit, ">=": value >= limit }[sign!]!;
}

const textOf = ({ path, kind, status, note, settings }: RunRow) =>
  [path, kind, status, note, ...Object.values(settings)].join(" ").toLowerCase();

/** Rows by a column or setting; those that have none come last either way. */
export function sorted(rows: readonly RunRow[], key: string, descending: boolean): RunRow[] {
  return [...rows].sort((a, b) => {
    const [left, right] = [cellOf(a, key), cellOf(b, key)];
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
    const order =
      typeof left === "number" && typeof right === "number"
        ? left - right
        : String(left).localeCompare(String(right), "en", { numeric: true });
    return descending ? -order : order;
  });
}

/** Rows by their value of a column or setting, in the rows' order. */
export function grouped(rows: readonly RunRow[], key: string): Map<string, RunRow[]> {
  const groups = new Map<string, RunRow[]>();
  for (const row of rows) {
    const value = cellOf(row, key);
    const name = value === undefined ? "none" : typeof value === "object" ? JSON.stringify(value) : String(value);
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return groups;
}
