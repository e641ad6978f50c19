/** Sweeps below the folder: their trials as the index knows them, so that no run is read whole. */
import { join } from "node:path";
import { glanceAt } from "../runs/index.ts";
import { type LookAtRun, readSweep, type SweepRow, type SweepTable, variedKeys } from "../sweep/index.ts";
import type { RunId, SweepAnswer, SweepCandidate, SweepName } from "./api.ts";
import { quoted } from "./commands.ts";
import { Refusal } from "./refusal.ts";
import { idOf, type RunIndex } from "./run-index.ts";

/** All sweeps of an index, the one that changed last first. */
export function sweepsIn(index: RunIndex): SweepName[] {
  const sweeps = [...index.sweeps].map(([id, { path, changedMs }]) => ({ id, path: index.relative(path), changedMs }));
  return sweeps.sort((a, b) => b.changedMs - a.changedMs);
}

/** What a sweep came to so far. */
export async function sweepAnswer(id: RunId, index: RunIndex, program: string): Promise<SweepAnswer> {
  const path = index.sweeps.get(id)?.path;
  if (path === undefined) throw new Refusal(404, "not-found", "no such sweep; it may have been moved or deleted");
  const table = await readSweep(path, lookIn(index));
  const { spec, rows } = table;
  const best = rows.findIndex(({ figure }) => figure !== null);
  return {
    id,
    path: index.relative(path),
    task: spec.task,
    strategy: spec.strategy,
    figure: spec.figure,
    goal: spec.goal,
    seeds: spec.seeds,
    varies: variedKeys(spec).map((name) => ({ name, log: isLog(spec.vary[name]) })),
    candidates: rows.map((row) => candidateOf(row, index)),
    best: best < 0 ? null : best,
    next: nextCommands(table, join(index.shown, index.relative(path)), program),
  };
}

const isLog = (range: unknown) => (range as { scale?: string } | null)?.scale === "log";

/** Runs that the index has seen are not opened again. */
function lookIn(index: RunIndex): LookAtRun {
  return async (run) => {
    const id = idOf(index.relative(run));
    return (index.has(id) ? index.entry(id).glance : undefined) ?? glanceAt(run);
  };
}

function candidateOf({ round, name, values, figure, trials }: SweepRow, index: RunIndex): SweepCandidate {
  return {
    round,
    candidate: trials[0]!.candidate,
    name,
    values,
    figure: figure && { mean: figure.mean, deviation: figure.deviation, values: figure.values },
    trials: trials.map(({ index: number, seed, status, step, figure: own, run }) => {
      const id = idOf(index.relative(run));
      return { index: number, seed, id: index.has(id) ? id : null, status, step, figure: own };
    }),
  };
}

/** Whoever stopped it goes on with its own file. */
function nextCommands({ rows }: SweepTable, path: string, program: string): string[] {
  const isOver = ({ status }: { status: string }) => status === "finished" || status === "diverged";
  const over = rows.every(({ trials }) => trials.every(isOver));
  const goesOn = `${program} resume ${quoted(path)}`;
  const table = `${program} sweep show ${quoted(path)}`;
  return over ? [table, `${table} --csv sweep.csv --svg sweep.svg`] : [goesOn, table];
}
