/** Several whole runs of the bench, each in a process of its own, and their medians: what a single run says moves with the machine. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { reject } from "../src/base/errors.ts";
import { writeAtomically } from "../src/files/atomic.ts";
import { type Fact, type Measurement, median } from "./measure.ts";
import { isClaim, type Section } from "./report.ts";

type Row = Measurement | Fact;

/** What was measured, and of what: figures of other code or at other settings are no median's. */
export interface Setting {
  readonly commit: string;
  readonly rounds: number;
  readonly threads: number;
  readonly cpu: boolean;
}

/** What a run has recorded so far, bench by bench. Of another setting it is refused. */
export function recorded(file: string, setting: Setting): Section[] {
  if (!existsSync(file)) return [];
  const { sections, ...other } = JSON.parse(readFileSync(file, "utf8")) as Setting & { sections: Section[] };
  const differing = (Object.keys(setting) as (keyof Setting)[]).find((key) => setting[key] !== other[key]);
  if (differing === undefined) return sections;
  const [needed, got] = [`${differing} ${setting[differing]}`, String(other[differing])];
  return reject({ who: file, needed, got, remedy: "remove it, or name another file or folder" }, 2);
}

/** Keeps what a run has found so far. */
export const record = (file: string, setting: Setting, sections: readonly Section[]) =>
  writeAtomically(file, JSON.stringify({ ...setting, sections }));

/** Makes the runs that are not there yet, one after another; each goes on with the benches that it lacks. */
export function makeRuns(count: number, folder: string, setting: Setting, flags: readonly string[]): Section[][] {
  mkdirSync(folder, { recursive: true });
  const files = Array.from({ length: count }, (_, i) => join(folder, `run-${i + 1}.json`));
  for (const file of files) recorded(file, setting);
  return files.map((file, i) => {
    const script = fileURLToPath(new URL("run.ts", import.meta.url));
    const args = ["--import", import.meta.resolve("tsx"), script, ...flags, "--record", file];
    process.stderr.write(`run ${i + 1} of ${count}\n`);
    if (spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] }).status !== 0)
      process.exitCode = 1;
    return recorded(file, setting);
  });
}

/** Each row with the medians over the runs that have it, and how far its ratio was from run to run. */
export function overRuns(runs: readonly (readonly Section[])[]): Section[] {
  const all = runs.flat();
  return [...new Set(all.map(({ bench }) => bench))].map((bench) => {
    const own = all.filter((section) => section.bench === bench);
    const rows = own.flatMap((section) => section.rows);
    const titles = [...new Set(rows.map(titleOf))];
    const { commit, date } = own.at(-1)!;
    const load = Math.max(...own.map((section) => section.load));
    return {
      bench,
      commit,
      date,
      load,
      rows: titles.map((title) => middle(rows.filter((row) => titleOf(row) === title))),
    };
  });
}

/** A claim and a fact may have the same name, such as the time of texts and tokens per second. */
const titleOf = (row: Row) => `${row.name}\n${row.peer}\n${isClaim(row)}`;

function middle(rows: readonly Row[]): Row {
  const ratios = rows.map(({ ratio }) => ratio);
  const spread = { low: Math.min(...ratios), high: Math.max(...ratios), runs: rows.length };
  const claims = rows.filter(isClaim);
  const sorted = rows.toSorted((a, b) => a.ratio - b.ratio);
  if (claims.length === 0) return { ...sorted[(sorted.length - 1) >> 1]!, spread };
  const [ours_ms, peer_ms] = [median(claims.map((row) => row.ours_ms)), median(claims.map((row) => row.peer_ms))];
  return { ...claims[0]!, ours_ms, peer_ms, ratio: median(ratios), spread };
}
