/** What a run of the bench leaves: a table for the terminal, JSON for scripts, and the page bench/results.md. */
import { formatNumber, table } from "../src/base/table.ts";
import type { Fact, Measurement } from "./measure.ts";

/** What one bench found, and the hour in which it did. */
export interface Section {
  /** The name that --only takes. */
  readonly bench: string;
  readonly rows: readonly (Measurement | Fact)[];
  readonly commit: string;
  readonly date: string;
  /** Load average of the machine when the bench began. */
  readonly load: number;
}

export const isClaim = (row: Measurement | Fact): row is Measurement => "target" in row;

/** Only the claims, with exactly the fields that scripts read. */
export function resultsJson(sections: readonly Section[]): string {
  const claims = sections.flatMap(({ rows }) => rows.filter(isClaim));
  return JSON.stringify(
    claims.map(({ name, ours_ms, peer, peer_ms, ratio, target }) => ({ name, ours_ms, peer, peer_ms, ratio, target })),
  );
}

export const milliseconds = (value: number) => `${formatNumber(value, value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;

/** Ratios from a thousandth up to some units, three digits that count. */
const ratioText = (ratio: number) => (ratio < 0.01 ? ratio.toPrecision(2) : ratio.toFixed(3));

const titles = ["work", "ours", "peer", "peer's", "ratio", "target", "claim"] as const;

function cells(row: Measurement | Fact): string[] {
  const { name, peer, ratio, spread } = row;
  const shown = spread ? `${ratioText(ratio)} (${ratioText(spread.low)}–${ratioText(spread.high)})` : ratioText(ratio);
  if (!isClaim(row)) return [name, row.ours, peer, row.theirs, shown, "–", "–"];
  const verdict = ratio <= row.target ? "holds" : "MISSED";
  const times = [name, milliseconds(row.ours_ms), peer, milliseconds(row.peer_ms)];
  return [...times, shown, `≤ ${row.target}`, verdict];
}

/** How often a row was measured: rounds of one run, or runs × rounds. */
const often = ({ spread }: Measurement | Fact, rounds: number) =>
  spread ? `${spread.runs} × ${rounds}` : String(rounds);

/** One line a row, for the terminal. */
export function resultsTable(sections: readonly Section[]): string {
  const rows = sections.flatMap((section) => section.rows.map(cells));
  const columns = titles.map((key, i) => ({ key, align: [1, 3, 4, 5].includes(i) ? "right" : "left" }) as const);
  return table(
    rows.map((row) => Object.fromEntries(row.map((cell, i) => [titles[i], cell]))),
    columns,
  );
}

export interface PageOptions {
  readonly sections: readonly Section[];
  /** Processor, cores and versions. */
  readonly machine: string;
  readonly rounds: number;
  readonly threads: number;
  /** The page as it was: rows of benches that did not run now stay, if machine and threads are the same. */
  readonly before: string;
  /** All benches, in the order in which their rows stand. */
  readonly order: readonly string[];
}

const line = (texts: readonly string[]) => `| ${texts.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;

/** The page of results: one table, each row with the commit, the date and the load under which it was measured. */
export function resultsPage({ sections, machine, rounds, threads, before, order }: PageOptions): string {
  const setting = `Machine: ${machine}; ${threads} threads each, unless a row says otherwise.`;
  const fresh = sections.flatMap(({ bench, rows, commit, date, load }) =>
    rows.map((row) => line([bench, ...cells(row), often(row, rounds), commit, date, load.toFixed(1)])),
  );
  const done = new Set(sections.map(({ bench }) => bench));
  const old = before.includes(setting) ? rowsIn(before).filter((row) => !done.has(benchOf(row))) : [];
  const place = (row: string) => order.indexOf(benchOf(row));
  const rows = [...old.filter((row) => place(row) >= 0), ...fresh].toSorted((a, b) => place(a) - place(b));
  const headings = ["bench", ...titles, "rounds", "commit", "date (UTC)", "load"];
  return [
    "# Results of `npm run bench`",
    "",
    `${setting} Medians of interleaved rounds in one run; ratio = ours ÷ peer's, and the claim is ratio ≤ target. With several`,
    "runs, each in processes of its own: medians over the runs, and the lowest and highest ratio. Load: the machine's load average when the",
    "row's bench began (the highest of several runs); well above 0.5, times are noise. Written by the bench: do not edit.",
    "",
    line(headings),
    `|${headings.map(() => "---").join("|")}|`,
    ...rows,
    "",
  ].join("\n");
}

/** The lines of the table without its head. */
function rowsIn(page: string): string[] {
  return page
    .split("\n")
    .filter((text) => text.startsWith("| "))
    .slice(1);
}

const benchOf = (row: string) => row.split(" | ")[0]!.slice(2);
