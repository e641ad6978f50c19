/** Runs for people: a list of them, one in full, several side by side; as tables of the terminal. */
import { messageOf } from "../base/errors.ts";
import { clock } from "../base/progress.ts";
import { figureText } from "../base/scores.ts";
import { factTable, fittedTable, formatNumber, type Row, table } from "../base/table.ts";
import {
  type BestFigures,
  differences,
  findRuns,
  leaves,
  parameterCount,
  type RunSummary,
  rangeOf,
  sparkline,
  summarise,
  weightsHash,
} from "./summary.ts";

/** A run that cannot be read, and why. */
export interface UnreadableRun {
  readonly path: string;
  readonly fault: string;
}

/** A run of a list. */
export type ListedRun = RunSummary | UnreadableRun;

/** What a list may begin with: the newest, the best, the longest, or as the names have it. */
export const sortings = ["changed", "score", "steps", "name"] as const;
/** One of them. */
export type Sorting = (typeof sortings)[number];

/** The runs under a folder. One that cannot be read does not hide the others. */
export async function listRuns(folder: string, sort: Sorting = "changed"): Promise<ListedRun[]> {
  const read = (path: string): Promise<ListedRun> =>
    summarise(path).catch((error: unknown) => ({ path, fault: messageOf(error) }));
  return sorted(await Promise.all((await findRuns(folder)).map(read)), sort);
}

/** A run without its curve. */
export type RunBrief = Omit<RunSummary, "losses">;

/** Everything but the curve. */
export function briefly({ losses: _, ...summary }: RunSummary): RunBrief {
  return summary;
}

/** Sorted by what was asked for, the greatest first; what has no such figure stands at the end. */
function sorted(runs: readonly ListedRun[], by: Sorting): ListedRun[] {
  const rank = (run: ListedRun): number => {
    if ("fault" in run) return Number.NEGATIVE_INFINITY;
    if (by === "changed") return run.changedMs;
    return by === "steps" ? run.step : goodness(run.best);
  };
  if (by === "name") return [...runs]; // as they were found
  const ranked = runs.map((run) => ({ run, rank: rank(run) }));
  return ranked.sort((a, b) => (a.rank === b.rank ? 0 : b.rank - a.rank)).map(({ run }) => run);
}

/** The higher the better: the deciding figure, or the loss below all of these. */
const goodness = (best: BestFigures | null) =>
  best === null ? Number.NEGATIVE_INFINITY : best.decisive === undefined ? -best.loss : best.scalars![best.decisive]!;

function listRow(run: ListedRun): Row {
  if ("fault" in run) return { run: run.path, task: null, layers: null, status: "unreadable" };
  return {
    run: run.path,
    task: taskText(run.config),
    layers: layersOf(run),
    depth: meanDepth(run),
    score: scoreOf(run.best),
    step: stepText(run),
    status: run.status,
    changed: ageText(Date.now() - run.changedMs),
    loss: run.lastLoss?.toFixed(4),
    size: sizeText(run.bytes),
  };
}

/** Columns in the order in which a narrow terminal loses them. */
const DISPENSABLE = ["size", "loss", "changed", "task", "step", "status", "depth"];

/** A line per run, in lines of at most so many characters, and why runs could not be read. */
export function runsTable(runs: readonly ListedRun[], width = Number.POSITIVE_INFINITY): string {
  const faults = runs.flatMap((run) => ("fault" in run ? [`\n${run.fault}`] : []));
  return [fittedTable(runs.map(listRow), width, DISPENSABLE), ...faults].join("\n");
}

type Settings = Readonly<Record<string, unknown>>;

const taskText = (config: Settings): string => {
  const { task = "language", glueTask, corpus } = flat(config);
  return [task === "albert" ? "albert" : task, glueTask ?? corpus].filter((word) => typeof word === "string").join(" ");
};

/** Which blocks run: the pattern of a search, a written depth, a plan, or how many of which own weights. */
function layersOf({ config, pattern }: RunSummary): string | null {
  const { blocks, depth, unique, share, plan, halt, depthPolicy } = flat(config);
  if (pattern !== null) return pattern;
  if (typeof blocks === "string" || typeof depth === "string") return `${blocks ?? depth}`;
  if (typeof plan === "string") return plan;
  if (typeof depth !== "number") return null;
  const most = halt === true || depthPolicy === "adaptive" ? "at most " : "";
  return `${most}${depth}${typeof unique === "number" && unique < depth ? ` of ${unique}, ${share}` : ""}`;
}

/** How deep tokens ran on average, where they choose. */
function meanDepth({ best }: RunSummary): string | null {
  const found = best?.scalars?.depth ?? best?.scalars?.["depth/all"];
  return found === undefined ? null : found.toFixed(2);
}

/** The figure that decided, or the perplexity. */
function scoreOf(best: BestFigures | null): string | null {
  if (best === null) return null;
  if (best.decisive !== undefined) return decisiveText(best);
  return best.perplexity === undefined ? `loss ${best.loss.toFixed(4)}` : `perplexity ${best.perplexity.toFixed(2)}`;
}

/** An ALBERT's run has settings of its model and of its training apart. */
function flat({ model, training, ...rest }: Settings): Settings {
  const own = [training, model].map((part) => (typeof part === "object" ? part : {}));
  return Object.assign({}, ...own, rest) as Settings;
}

function stepText({ step, totalSteps }: RunSummary): string {
  return totalSteps === null ? formatNumber(step) : `${formatNumber(step)} / ${formatNumber(totalSteps)}`;
}

function ageText(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return "now";
  if (minutes < 60) return `${Math.floor(minutes)} min ago`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h ago` : `${Math.floor(minutes / 1440)} days ago`;
}

function sizeText(bytes: number): string {
  return bytes < 1e6 ? `${formatNumber(bytes / 1e3, 0)} kB` : `${formatNumber(bytes / 1e6, 1)} MB`;
}

/** Everything about a run: figures, curve, checkpoints, settings, machine. */
export async function runReport(run: RunSummary): Promise<string> {
  const figures = {
    run: run.path,
    status: run.status,
    step: stepText(run),
    ...figuresOf(run, await parameterCount(run)),
    ...rounded(run.best?.scalars ?? {}),
    "loss curve": sparkline(run.losses) || null,
    checkpoints: run.checkpoints.map(({ step, best }) => `${step}${best ? " (best)" : ""}`).join(", ") || null,
    "weights SHA-256": await weightsHash(run),
    changed: ageText(Date.now() - run.changedMs),
    size: sizeText(run.bytes),
  };
  const settings = Object.fromEntries(leaves(run.config));
  return [pairs(figures), "settings", pairs(settings), "environment", pairs(run.environment)].join("\n\n");
}

function figuresOf(run: RunSummary, parameters: number | null): Row {
  const { glueTask, epochs } = flat(run.config);
  return {
    ...(typeof glueTask === "string" ? { task: glueTask } : {}),
    parameters: parameters === null ? null : formatNumber(parameters),
    layers: layersOf(run),
    "mean depth": meanDepth(run),
    loss: run.lastLoss?.toFixed(4),
    ...bestFigures(run.best),
    epochs:
      run.epoch === null ? null : formatNumber(run.epoch, 2) + (typeof epochs === "number" ? ` of ${epochs}` : ""),
    "tokens/s": run.tokensPerSecond === null ? null : formatNumber(run.tokensPerSecond, 0),
    time: run.elapsedMs === null ? null : clock(run.elapsedMs / 1000),
  };
}

/** The figure that decided, and at which evaluation. */
function bestFigures(best: BestFigures | null): Row {
  const at = best ? ` at step ${formatNumber(best.step)}` : "";
  if (best?.decisive !== undefined) return { score: `${decisiveText(best)}${at}` };
  return {
    "best valid perplexity": best?.perplexity === undefined ? null : `${best.perplexity.toFixed(2)}${at}`,
    "bits per byte": best?.bitsPerByte?.toFixed(4),
  };
}

const rounded = (scalars: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(scalars).map(([name, value]) => [`valid ${name}`, figureText(name, value, 4)]));

const decisiveText = ({ scalars, decisive }: BestFigures) =>
  `${decisive} ${figureText(decisive!, scalars![decisive!]!)}`;

const pairs = (values: Readonly<Record<string, unknown>>) =>
  factTable(Object.entries(values).map(([what, value]) => ({ what, value: plain(value) })));

function plain(value: unknown): string {
  if (value === undefined || value === null) return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Runs side by side, and the settings in which they differ. */
export interface ComparedRuns {
  readonly runs: readonly (RunBrief & { readonly parameters: number | null; readonly weightsHash: string | null })[];
  readonly differences: Readonly<Record<string, readonly unknown[]>>;
}

/** Several runs as data. */
export async function compareRuns(runs: readonly RunSummary[]): Promise<ComparedRuns> {
  const [parameters, hashes] = [await Promise.all(runs.map(parameterCount)), await Promise.all(runs.map(weightsHash))];
  return {
    runs: runs.map((run, i) => ({ ...briefly(run), parameters: parameters[i]!, weightsHash: hashes[i]! })),
    differences: Object.fromEntries(differences(runs.map(({ config }) => config))),
  };
}

/** Several runs as two tables: settings that differ, and figures with curves on one scale. */
export async function comparedTables(runs: readonly RunSummary[]): Promise<string> {
  const parameters = await Promise.all(runs.map(parameterCount));
  const ranges = runs.flatMap(({ losses }) => (losses.length > 0 ? rangeOf(losses) : []));
  const scale: [number, number] = [Math.min(...ranges), Math.max(...ranges)];
  const rows = runs.map((run, i) => ({
    run: run.path,
    status: run.status,
    step: stepText(run),
    ...figuresOf(run, parameters[i] ?? null),
    "loss curve": sparkline(run.losses, 24, scale),
  }));
  return `${settingsTable(runs)}\n\n${table(rows)}`;
}

function settingsTable(runs: readonly RunSummary[]): string {
  const differing = differences(runs.map(({ config }) => config));
  if (differing.size === 0) return "the same settings";
  const rows = [...differing].map(([setting, values]) => ({
    setting,
    ...Object.fromEntries(values.map((value, i) => [runs[i]!.path, plain(value)])),
  }));
  return table(rows);
}
