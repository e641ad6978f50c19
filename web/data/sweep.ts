/** A sweep as pictures need it: candidates with live steps, their order, and how the best came about. */
import type { RunId, RunRow, SweepAnswer, SweepCandidate, SweepTrialState } from "../../src/studio/api.ts";
import { figure, plain, spreadText } from "../parts/format.ts";

/** Names a candidate in the address: `round.candidate`. */
export const keyOf = ({ round, candidate }: SweepCandidate): string => `${round}.${candidate}`;

/** Trials as their runs are now: steps and statuses come live. */
export function withRows(sweep: SweepAnswer, rows: ReadonlyMap<RunId, RunRow>): SweepAnswer {
  const live = (trial: SweepTrialState): SweepTrialState => {
    const row = trial.id === null ? undefined : rows.get(trial.id);
    const isOver = trial.status === "finished" || trial.status === "diverged";
    return row && !isOver ? { ...trial, status: row.status, step: row.step } : trial;
  };
  const candidates = sweep.candidates.map((each) => ({ ...each, trials: each.trials.map(live) }));
  return { ...sweep, candidates };
}

/** How many trials are at what. */
export function countsOf({ candidates }: SweepAnswer) {
  const all = candidates.flatMap(({ trials }) => trials);
  const count = (...statuses: readonly SweepTrialState["status"][]) =>
    all.filter(({ status }) => statuses.includes(status)).length;
  return {
    all: all.length,
    ended: count("finished", "diverged"),
    running: count("running"),
    diverged: count("diverged"),
  };
}

/** `61.24 ± 0.40` */
export const figureText = ({ figure: spread }: SweepCandidate): string =>
  spread === null ? "–" : spreadText(spread.mean, spread.deviation);

/** `rate 0.003, share cycle`, or the candidate's name; nothing where only seeds vary. */
export const valuesText = ({ name, values }: SweepCandidate): string =>
  name ??
  (Object.entries(values)
    .map(([key, value]) => `${key} ${plain(value)}`)
    .join(", ") ||
    "all settings alike");

/** Figures in the order in which trials ended, and the best up to each. */
export function course({ candidates, goal }: SweepAnswer, rows: ReadonlyMap<RunId, RunRow>) {
  const ended = candidates
    .flatMap(({ trials }) => trials)
    .flatMap(({ id, figure: value }) => (value === null ? [] : [{ value, ms: rows.get(id ?? "")?.changedMs ?? 0 }]))
    .sort((a, b) => a.ms - b.ms);
  const better = goal === "lowest" ? Math.min : Math.max;
  const x = ended.map((_, i) => i + 1);
  const y = ended.map(({ value }) => value);
  return { x, y, best: y.map((_, i) => better(...y.slice(0, i + 1))) };
}

/** What a setting does to the figure, in a sentence: its mean at each value. */
export function sentenceOf(name: string, { candidates, figure: what }: SweepAnswer): string {
  const groups = new Map<string, number[]>();
  for (const { values, figure: spread } of candidates) {
    if (spread) groups.set(plain(values[name]), [...(groups.get(plain(values[name])) ?? []), ...spread.values]);
  }
  const mean = (all: readonly number[]) => all.reduce((sum, value) => sum + value, 0) / all.length;
  const parts = [...groups].slice(0, 12).map(([value, all]) => `${figure(mean(all))} at ${value}`);
  return `${what} against ${name}, mean over trials: ${parts.join(", ") || "no trial has ended yet"}`;
}
