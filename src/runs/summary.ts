/** What a run folder tells without loading a model: status, figures, curve; and how runs differ. */
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { defined } from "../base/options.ts";
import { sha256OfFile } from "../files/checksum.ts";
import { safetensorsShapes } from "../format/safetensors.ts";
import type { EvaluationEvent, Progress, StepEvent } from "../train/events.ts";
import { type CheckpointPlace, readProgress, WEIGHTS_FILE } from "./checkpoints.ts";
import type { StoredEvent } from "./event-log.ts";
import { RunFolder } from "./folder.ts";
import { parseYaml } from "./settings-file.ts";

/** `stopped` can be resumed and ended by its own will; `killed` did not. */
export type RunStatus = "running" | "finished" | "stopped" | "killed";

/** The best evaluation on the validation split. */
export type BestFigures = Pick<
  EvaluationEvent,
  "step" | "loss" | "perplexity" | "bitsPerByte" | "scalars" | "decisive"
>;

/** A run at a glance: status, length, figures, settings. */
export interface RunSummary {
  readonly path: string;
  readonly status: RunStatus;
  readonly step: number;
  readonly totalSteps: number | null;
  /** Passes over the data so far. */
  readonly epoch: number | null;
  readonly lastLoss: number | null;
  readonly best: BestFigures | null;
  /** The blocks that a search would take by its last evaluation. */
  readonly pattern: string | null;
  readonly tokensPerSecond: number | null;
  /** Time spent training, over all sessions. */
  readonly elapsedMs: number | null;
  /** Loss of every step. */
  readonly losses: readonly number[];
  readonly checkpoints: readonly CheckpointPlace[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, unknown>>;
  /** When it last wrote an event, in milliseconds since 1970. */
  readonly changedMs: number;
  readonly bytes: number;
}

/** Reads a run, also while it is being written. */
export async function summarise(path: string): Promise<RunSummary> {
  const run = await RunFolder.read(path);
  const [events, checkpoints] = [await run.events(), await run.checkpoints()];
  const progress = await newestProgress(checkpoints);
  const config = parseYaml(run.config, join(path, "config.yaml"));
  const steps = events.filter((event): event is StoredEvent & StepEvent => event.type === "step");
  return {
    path,
    status: statusOf(run.owner(), events.at(-1), progress),
    step: events.at(-1)?.step ?? progress?.step ?? 0,
    totalSteps: progress?.totalSteps ?? (typeof config.steps === "number" ? config.steps : null),
    epoch: steps.at(-1)?.epoch ?? null,
    lastLoss: steps.at(-1)?.loss ?? null,
    best: bestOf(events),
    pattern: patternOf(events) ?? foundIn(path),
    tokensPerSecond: median(steps.map(({ tokensPerSecond }) => tokensPerSecond)),
    elapsedMs: elapsedOf(events.at(-1), progress),
    losses: steps.map(({ loss }) => loss),
    checkpoints,
    config,
    environment: run.environment,
    changedMs: events.at(-1)?.timeMs ?? statSync(join(path, "config.yaml")).mtimeMs,
    bytes: await sizeOf(path),
  };
}

/** How a run is, from who owns it, its last event and the newest checkpoint. */
export function statusOf(
  owner: { readonly live: boolean } | undefined,
  last: StoredEvent | undefined,
  progress: Progress | undefined,
): RunStatus {
  if (owner?.live) return "running";
  if (progress?.finished || (last?.type === "end" && last.reason !== "stopped")) return "finished";
  return owner && last?.type !== "end" ? "killed" : "stopped";
}

/** Of the newest checkpoint that can be read. */
export async function newestProgress(places: readonly CheckpointPlace[]): Promise<Progress | undefined> {
  for (const { path } of places.toReversed()) {
    const progress = await readProgress(path).catch(() => undefined);
    if (progress) return progress;
  }
  return undefined;
}

/** The best of the evaluations on the validation split. */
export function bestOf(events: readonly StoredEvent[]): BestFigures | null {
  const isValid = (event: StoredEvent) => event.type === "evaluation" && event.split === "valid";
  const valid = (events.filter(isValid) as EvaluationEvent[]).filter((event) => Number.isFinite(scoreOf(event)));
  if (valid.length === 0) return null;
  const best = valid.reduce((best, each) => (scoreOf(each) > scoreOf(best) ? each : best));
  const { step, loss, perplexity, bitsPerByte, scalars, decisive } = best;
  return defined({ step, loss, perplexity, bitsPerByte, scalars, decisive }) as BestFigures;
}

/** Of runs of search that ended; those of version 0.1.0 say it there only. */
function foundIn(path: string): string | null {
  try {
    const { pattern } = JSON.parse(readFileSync(join(path, "architecture.json"), "utf8")) as { pattern?: unknown };
    return typeof pattern === "string" ? pattern : null;
  } catch {
    return null;
  }
}

function patternOf(events: readonly StoredEvent[]): string | null {
  const last = events.findLast((event) => event.type === "evaluation" && event.pattern !== undefined);
  return last?.type === "evaluation" ? (last.pattern ?? null) : null;
}

/** What an evaluation is judged by, the higher the better. */
const scoreOf = ({ loss, scalars, decisive }: EvaluationEvent) =>
  decisive === undefined ? -loss : (scalars?.[decisive] ?? Number.NEGATIVE_INFINITY);

/** Time spent training. */
export function elapsedOf(last: StoredEvent | undefined, progress: Progress | undefined): number | null {
  return last?.type === "end" ? last.elapsedMs : (progress?.elapsedMs ?? null);
}

/** The upper one of two in the middle; null of none. */
export function median(values: readonly number[]): number | null {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? null;
}

/** Files may vanish while a run is training. */
async function sizeOf(path: string): Promise<number> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = entries.map((entry) => statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false }));
  return sizes.reduce((sum, stat) => sum + (stat?.isFile() ? stat.size : 0), 0);
}

/** SHA-256 of the last checkpoint's weights, or null without one. */
export async function weightsHash({ checkpoints }: Pick<RunSummary, "checkpoints">): Promise<string | null> {
  const last = checkpoints.at(-1);
  return last ? await sha256OfFile(join(last.path, WEIGHTS_FILE)) : null;
}

/** How many numbers the last checkpoint's weights are: each shared one counts once. */
export async function parameterCount(run: Pick<RunSummary, "checkpoints">): Promise<number | null> {
  const shapes = await weightShapes(run);
  if (!shapes) return null;
  return [...shapes.values()].reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0);
}

/** The shapes of the last checkpoint's weights by name, or null without one; the numbers are not read. */
export async function weightShapes({
  checkpoints,
}: Pick<RunSummary, "checkpoints">): Promise<ReadonlyMap<string, readonly number[]> | null> {
  const last = checkpoints.at(-1);
  if (!last) return null;
  const path = join(last.path, WEIGHTS_FILE);
  const file = openSync(path, "r");
  try {
    return await safetensorsShapes(async (from, count) => readBytes(file, from, count), path);
  } finally {
    closeSync(file);
  }
}

function readBytes(file: number, from: number, count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  return bytes.subarray(0, readSync(file, bytes, 0, count, from));
}

/** The runs in a folder and in the folders below it, by name; numbers in names count as numbers. */
export async function findRuns(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return [];
  if (existsSync(join(folder, "config.yaml"))) return [folder];
  const entries = await readdir(folder, { withFileTypes: true });
  const below = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
  const found = await Promise.all(below.map((entry) => findRuns(join(folder, entry.name))));
  return found.flat().sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

/** The settings in which runs differ: key → value per run (undefined where it has none). */
export function differences(configs: readonly Readonly<Record<string, unknown>>[]): Map<string, unknown[]> {
  const flat = configs.map((config) => new Map(leaves(config)));
  const keys = [...new Set(flat.flatMap((each) => [...each.keys()]))];
  const rows = keys.map((key): [string, unknown[]] => [key, flat.map((each) => each.get(key))]);
  return new Map(rows.filter(([, values]) => new Set(values.map((value) => JSON.stringify(value))).size > 1));
}

/** `{ a: { b: 1 } }` → `a.b`, 1; lists stay whole. */
export function leaves(value: object, prefix = ""): [string, unknown][] {
  return Object.entries(value).flatMap(([key, inner]): [string, unknown][] =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? leaves(inner, `${prefix}${key}.`)
      : [[`${prefix}${key}`, inner]],
  );
}

const BARS = "▁▂▃▄▅▆▇█";

/** A curve in one line of text: means over equal parts, on a scale from `low` to `high` (default: the curve's own). */
export function sparkline(values: readonly number[], width = 32, [low, high] = rangeOf(values, width)): string {
  return partMeans(values, width)
    .map((mean) => {
      if (!Number.isFinite(mean)) return "×";
      const level = high > low ? (mean - low) / (high - low) : 0;
      return BARS[Math.max(0, Math.min(BARS.length - 1, Math.floor(level * BARS.length)))];
    })
    .join("");
}

/** The lowest and highest bar of a sparkline, for curves on one scale. */
export function rangeOf(values: readonly number[], width = 32): [number, number] {
  const means = partMeans(values, width).filter(Number.isFinite);
  return [Math.min(...means), Math.max(...means)];
}

function partMeans(values: readonly number[], width: number): number[] {
  const parts = Math.min(width, values.length);
  return Array.from({ length: parts }, (_, i) => {
    const part = values.slice(Math.floor((i * values.length) / parts), Math.floor(((i + 1) * values.length) / parts));
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
}
