/** What a person reads of a sweep: its table, a line per trial for spreadsheets, points for plots, and how it is getting on. */
import { formatNumber, type Row, table } from "../base/table.ts";
import type { SweepEvent } from "./launcher.ts";
import type { TrialTable } from "./processes.ts";
import type { SweepRow, SweepTable, SweepTrial, TrialState } from "./sweep-folder.ts";
import { type SweepPlan, variedKeys } from "./sweep-plan.ts";

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
const precise = (value: number) => formatNumber(value, 4);

/** Settings as cells of a table. */
export const settingsRow = (values: object): Row =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, textOf(value)]));

/** The candidates of a sweep before it begins, as a table, and how they are tried. */
export function planText({ candidates, names, rounds, spec }: SweepPlan): string {
  const rows = candidates.map((each, i) => ({ ...(names[i] ? { name: names[i] } : {}), ...settingsRow(each) }));
  const more = rounds === 1 ? "" : `, ${rounds} rounds`;
  const how = `${candidates.length} candidates, ${spec.seeds.length} seeds${more}; ${spec.goal} ${spec.figure}`;
  return `${table(rows)}\n${how}`;
}

/** A trial in a line: `3: rate 0.001, seed 2`. */
export function trialName({ index, name, values, seed }: SweepTrial): string {
  const settings = Object.entries(values).map(([key, value]) => `${key} ${textOf(value)}`);
  return `${index}: ${[...(name === null ? settings : [name]), `seed ${seed}`].join(", ")}`;
}

/** What a trial has come to, in a line. */
export const trialText = ({ status, figure, run, step }: TrialState): string =>
  `${run}: ${status} at step ${step}${figure === null ? "" : `, figure ${precise(figure)}`}`;

/** Shows an event of a sweep in a table of its trials. */
export function showSweep(shown: TrialTable, event: SweepEvent): void {
  if (event.type === "round") shown.expect(event.trials, event.ended);
  else if (event.type === "trial") shown.see(trialName(event.trial), event.report);
  else if (event.type === "note") shown.say(event.text);
  else if (event.type === "ended") {
    const { status, figure } = event.trial;
    const isOver = status === "finished" || status === "diverged";
    const words = figure === null ? (event.why ?? status) : precise(figure);
    shown[isOver ? "finished" : "dropped"](trialName(event.trial), words);
  }
}

/** The table of a sweep, a row per setting, and which runs are best. */
export function sweepText({ spec, rows, best }: SweepTable): string {
  const halves = spec.strategy === "halving";
  const lines = rows.map((row) => ({
    ...(halves ? { round: `${row.round + 1}` } : {}),
    ...(row.name === null ? {} : { name: row.name }),
    ...settingsRow(row.values),
    ...figuresOf(row, spec.figure),
  }));
  const found = best && `best: ${best.trials.map(({ run }) => run).join(", ")}`;
  return [table(lines), ...(found ? [found] : [])].join("\n");
}

function figuresOf({ figure, trials }: SweepRow, name: string): Row {
  const counts = new Map<string, number>();
  for (const { status } of trials) counts.set(status, (counts.get(status) ?? 0) + 1);
  const spread = figure?.deviation == null ? "" : ` ± ${precise(figure.deviation)}`;
  return {
    [name]: figure && `${precise(figure.mean)}${spread}`,
    status: [...counts].map(([status, count]) => (trials.length === 1 ? status : `${count} ${status}`)).join(", "),
    trials: trials.map(({ index }) => index).join(" "),
  };
}

/** The trials that have a figure, as points of `sweepSvg`. */
export const sweepPoints = ({ rows }: SweepTable) =>
  rows
    .flatMap(({ trials }) => trials)
    .flatMap((each) =>
      each.figure === null ? [] : [{ name: trialName(each), figure: each.figure, values: each.values }],
    );

/** CSV: a line per trial, in the order of their indices. */
export function sweepCsv({ rows, spec }: SweepTable): string {
  const keys = variedKeys(spec);
  const named = Object.keys(spec.candidates).length > 0;
  const trials = rows.flatMap((row) => row.trials).sort((a, b) => a.index - b.index);
  const lines = trials.map(({ index, round, name, values, seed, status, figure, run }) => {
    return [index, round + 1, ...(named ? [name] : []), ...keys.map((key) => values[key]), seed, status, figure, run];
  });
  return [["trial", "round", ...(named ? ["name"] : []), ...keys, "seed", "status", spec.figure, "run"], ...lines]
    .map((cells) => `${cells.map(csvCell).join(",")}\n`)
    .join("");
}

function csvCell(value: unknown): string {
  const text = value === null || value === undefined ? "" : textOf(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
