/** The table of sharing out of the runs that `layerwise compare` fills a folder with: FOLDER/MODEL/seed-N. */
import { median } from "../base/median.ts";
import { contestants, spreadOf } from "../sweep/index.ts";
import type { RunRow, SharingAnswer, SharingRow } from "./api.ts";

const PLACE = /^(?:(.*)\/)?([^/]+)\/seed-(\d+)$/;

interface Placed {
  readonly folder: string;
  readonly model: string;
  readonly seed: number;
  readonly row: RunRow;
}

function placed(row: RunRow): Placed[] {
  const found = row.kind === "language" || row.kind === "translate" ? PLACE.exec(row.path) : null;
  return found ? [{ folder: found[1] ?? ".", model: found[2]!, seed: Number(found[3]), row }] : [];
}

/** All comparisons of an index. */
export function comparisonsIn(rows: readonly RunRow[]): SharingAnswer {
  const folders = grouped(rows.flatMap(placed), ({ folder }) => folder);
  const comparisons = [...folders].map(([path, runs]) => {
    const models = [...grouped(runs, ({ model }) => model)].map(([model, own]) => sharingRow(model, own));
    return { path, task: runs[0]!.row.kind!, rows: models.sort((a, b) => rankOf(a) - rankOf(b)) };
  });
  return { comparisons };
}

const rankOf = ({ name }: SharingRow) => {
  const place = contestants.findIndex((each) => each.name === name);
  return place < 0 ? contestants.length : place;
};

function sharingRow(model: string, runs: readonly Placed[]): SharingRow {
  const known = contestants.find(({ name }) => name.replace(/[ /]/g, "-") === model);
  const { row } = runs[0]!;
  const finished = runs.map((each) => each.row).filter(({ status }) => status === "finished");
  const perplexities = finished.flatMap(({ best }) => (best?.name === "perplexity" ? (best.value ?? []) : []));
  return {
    name: known?.name ?? model,
    unique: known?.unique ?? row.uniqueBlocks,
    depth: known?.depth ?? row.executedDepth,
    share: known?.share ?? (typeof row.settings.share === "string" ? row.settings.share : null),
    parameters: row.parameters,
    executedDepth: row.executedDepth,
    flopsPerToken: row.flopsPerToken,
    tokensPerSecond: middle(finished.flatMap(({ tokensPerSecond }) => tokensPerSecond ?? [])),
    perplexity: spreadOf(perplexities),
    seconds: middle(finished.flatMap(({ elapsedMs }) => (elapsedMs === null ? [] : elapsedMs / 1000))),
    runs: runs
      .map(({ seed, row: { id, status, step } }) => ({ id, seed, status, step }))
      .sort((a, b) => a.seed - b.seed),
  };
}

const middle = (values: readonly number[]) => (values.length === 0 ? null : median(values));

function grouped<T>(values: readonly T[], key: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) groups.set(key(value), [...(groups.get(key(value)) ?? []), value]);
  return groups;
}
