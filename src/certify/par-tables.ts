/** Certifies what needs no model: schedules, optimal cutoffs, context batches. */
import { depth, text, training } from "../index.ts";
import { compare, type Finding, type GoldenCase } from "./case.ts";

interface ScheduleTable {
  readonly config: {
    readonly maxLearningRate: number;
    readonly warmupSteps: number;
    readonly totalSteps: number;
    readonly temperatureStart: number;
    readonly temperatureEnd: number;
  };
  readonly rows: readonly { readonly step: number; readonly learningRate: number; readonly temperature: number }[];
}

export function certifySchedules({ about }: GoldenCase): Finding[] {
  return (about.tables as readonly ScheduleTable[]).flatMap(({ config, rows }, i) => {
    const rateAt = training.parSchedule({
      rate: config.maxLearningRate,
      warmup: config.warmupSteps,
      total: config.totalSteps,
    });
    const temperatureAt = depth.annealedTemperature({
      start: config.temperatureStart,
      end: config.temperatureEnd,
      total: config.totalSteps,
      compat: "original",
    });
    return [
      compare(
        `table ${i} learningRate`,
        rows.map(({ step }) => rateAt(step)),
        rows.map((row) => row.learningRate),
      ),
      compare(
        `table ${i} temperature`,
        rows.map(({ step }) => temperatureAt(step)),
        rows.map((row) => row.temperature),
      ),
    ];
  });
}

interface CutoffRow {
  readonly kind: string;
  readonly clusters: number;
  readonly values: readonly number[];
  readonly cutoffs: readonly number[];
  readonly cost: number;
}

/** Where values repeat, several cuts cost the same: costs are compared then, not cuts. */
export function certifyCutoffs({ about }: GoldenCase): Finding[] {
  return (about.rows as readonly CutoffRow[]).flatMap(({ kind, clusters, values, cutoffs, cost }, i) => {
    const found = text.optimalCutoffs(values, clusters);
    const costs = compare(`row ${i} cost`, [found.cost], [cost], 1e-12);
    if (new Set(values).size < values.length || kind === "equal") return [costs];
    return [costs, compare(`row ${i} cutoffs`, [...found.cutoffs, found.vocabulary], cutoffs, 1e-9)];
  });
}

interface Stream {
  readonly tokens: number;
  readonly batch: number;
  readonly window: number;
  readonly batches: readonly (readonly number[])[][];
}

interface Sharded {
  readonly batch: number;
  readonly window: number;
  readonly shards: number;
  readonly lines: readonly (readonly number[])[];
  readonly files: readonly { readonly batches: readonly (readonly number[])[][] }[];
}

interface ContextCount {
  readonly windows: number;
  readonly stride: number;
  readonly batches: number;
}

/** Equal, value for value and shape for shape. */
function exactly(tensor: string, actual: unknown, expected: unknown): Finding {
  return { tensor, error: JSON.stringify(actual) === JSON.stringify(expected) ? 0 : 1, tolerance: 1e-9 };
}

export function certifyContextBatches({ about }: GoldenCase): Finding[] {
  const streams = (about.streams as readonly Stream[]).map(({ tokens, batch, window, batches }, i) => {
    const ids = Array.from({ length: tokens }, (_, token) => token);
    return exactly(`streams.${i}`, text.contextBatches(ids, { batch, window, compat: "original" }), batches);
  });
  const sharded = (about.sharded as readonly Sharded[]).map(({ batch, window, shards, lines, files }, i) => {
    const found = text
      .shardLines(lines.length, shards)
      .map(({ from, to }) => text.contextBatches(lines.slice(from, to).flat(), { batch, window, compat: "original" }));
    return exactly(
      `sharded.${i}`,
      found,
      files.map(({ batches }) => batches),
    );
  });
  const { rows } = about.wikitext2 as { rows: readonly (ContextCount & { part: string; tokens: number })[] };
  const whole = rows.map(({ part, tokens, windows, stride, batches }) => {
    const found = text.planContext(tokens, { batch: 32, window: 33, compat: "original" });
    return compare(`wikitext2 ${part}`, [found.windows, found.stride, found.batches], [windows, stride, batches], 1e-9);
  });
  return [...streams, ...sharded, ...whole];
}
