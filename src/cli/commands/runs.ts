/** `layerwise runs`: lists run folders, shows one, compares several, removes one. */
import { type Command, Option } from "commander";
import { clock, formatNumber, messageOf, type Row, reject, table } from "../../base/index.ts";
import {
  type BestFigures,
  differences,
  encodeJson,
  findRuns,
  leaves,
  parameterCount,
  type RunSummary,
  rangeOf,
  sparkline,
  summarise,
  weightsHash,
} from "../../runs/index.ts";
import { fitted } from "../help.ts";

interface JsonOption {
  json?: boolean;
}

const LIST_EXAMPLES = `
Examples:
  layerwise runs                        the runs under runs/, the newest first
  layerwise runs --sort score           the best first
  layerwise runs experiments --json
  layerwise runs show runs/1            one run: figures, curve, checkpoints, settings
  layerwise runs compare runs/1 runs/2  settings that differ, and results side by side
  layerwise runs remove runs/1          asks first; --yes does not`;

const SHOW_EXAMPLES = `
Examples:
  layerwise runs show runs/1
  layerwise runs show runs/1 --json     with weightsHash, the SHA-256 of the last checkpoint's weights`;

const REMOVE_EXAMPLES = `
A folder that is no run, holds files that no run has, or is in training is refused, and nothing is removed then.

Examples:
  layerwise runs remove runs/1
  layerwise runs remove runs/1 runs/2 --yes`;

const COMPARE_EXAMPLES = `
Examples:
  layerwise runs compare runs/1 runs/2
  layerwise runs compare runs/* --json`;

/** Adds `runs`, `runs show`, `runs compare` and `runs remove`. */
export function addRuns(program: Command): void {
  const runs = program
    .command("runs")
    .argument("[dir]", "folder to search for runs", "runs")
    .addOption(
      new Option("--sort <by>", "what stands first: the newest, the best, the longest, or by name")
        .choices(sortings)
        .default("changed"),
    )
    .option("--json", "print JSON")
    .addHelpText("after", fitted(LIST_EXAMPLES))
    .action(list);
  runs
    .command("show <run>")
    .description("show one run: status, figures, checkpoints, settings, machine")
    .option("--json", "print JSON")
    .addHelpText("after", fitted(SHOW_EXAMPLES))
    .action((path: string, _: JsonOption, command: Command) => show(path, command.optsWithGlobals()));
  runs
    .command("compare <run...>")
    .description("show in which settings runs differ, and their results side by side")
    .option("--json", "print JSON")
    .addHelpText("after", fitted(COMPARE_EXAMPLES))
    .action((paths: string[], _: JsonOption, command: Command) => compare(paths, command.optsWithGlobals()));
  runs
    .command("remove <run...>")
    .description("remove run folders with their checkpoints; never one that is in training")
    .option("--yes", "do not ask")
    .addHelpText("after", fitted(REMOVE_EXAMPLES))
    .action(async (paths: string[], flags: { yes?: boolean }) => {
      await (await import("../removal.ts")).removeRuns(paths, flags);
    });
}

const print = (text: string) => void process.stdout.write(`${text}\n`);

const printJson = (value: unknown) => print(encodeJson(value, 2));

async function list(folder: string, { json, sort }: JsonOption & { sort: Sorting }): Promise<void> {
  const paths = await findRuns(folder);
  const found = sorted(await Promise.all(paths.map(summaryOrFault)), sort);
  if (json) return printJson(found.map((each) => ("fault" in each ? each : brief(each))));
  if (found.length === 0) return print(`no runs under ${folder}; start one with: layerwise train --out ${folder}/1`);
  print(fittedTable(found.map(listRow), process.stdout.columns || Number.POSITIVE_INFINITY));
  for (const each of found) if ("fault" in each) print(`\n${each.fault}`);
}

interface Unreadable {
  readonly path: string;
  readonly fault: string;
}

/** One run that cannot be read must not hide the others. */
function summaryOrFault(path: string): Promise<RunSummary | Unreadable> {
  return summarise(path).catch((error: unknown) => ({ path, fault: messageOf(error) }));
}

/** Everything but the curve. */
function brief({ losses: _, ...summary }: RunSummary): Omit<RunSummary, "losses"> {
  return summary;
}

/** What a list may begin with. */
const sortings = ["changed", "score", "steps", "name"] as const;
type Sorting = (typeof sortings)[number];

/** Sorted by what was asked for, the greatest first; what has no such figure stands at the end. */
function sorted(runs: readonly (RunSummary | Unreadable)[], by: Sorting): (RunSummary | Unreadable)[] {
  const rank = (run: RunSummary | Unreadable): number => {
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

function listRow(run: RunSummary | Unreadable): Row {
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

/** A table whose lines fit: without columns that matter less, and at last cut off. */
export function fittedTable(rows: readonly Row[], width: number, without: readonly string[] = DISPENSABLE): string {
  const text = table(rows);
  if (text.split("\n").every((line) => [...line].length <= width)) return text;
  const [next, ...later] = without;
  if (next === undefined) return text.replace(/^.*$/gm, (line) => cutTo(line, width));
  return fittedTable(
    rows.map((row) => Object.fromEntries(Object.entries(row).filter(([key]) => key !== next))),
    width,
    later,
  );
}

const cutTo = (line: string, width: number) =>
  [...line].length <= width ? line : `${[...line].slice(0, width - 1).join("")}…`;

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
  if (best.decisive !== undefined) return scoreText(best);
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

async function show(path: string, { json }: JsonOption): Promise<void> {
  const run = await summarise(path);
  const hash = await weightsHash(run);
  if (json) return printJson({ ...brief(run), weightsHash: hash });
  const figures = {
    run: path,
    status: run.status,
    step: stepText(run),
    ...figuresOf(run, await parameterCount(run)),
    ...rounded(run.best?.scalars ?? {}),
    "loss curve": sparkline(run.losses) || null,
    checkpoints: run.checkpoints.map(({ step, best }) => `${step}${best ? " (best)" : ""}`).join(", ") || null,
    "weights SHA-256": hash,
    changed: ageText(Date.now() - run.changedMs),
    size: sizeText(run.bytes),
  };
  print(
    [
      pairs(figures),
      "settings",
      pairs(Object.fromEntries(leaves(run.config))),
      "environment",
      pairs(run.environment),
    ].join("\n\n"),
  );
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
  if (best?.decisive !== undefined) return { score: `${scoreText(best)}${at}` };
  return {
    "best valid perplexity": best?.perplexity === undefined ? null : `${best.perplexity.toFixed(2)}${at}`,
    "bits per byte": best?.bitsPerByte?.toFixed(4),
  };
}

const rounded = (scalars: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(scalars).map(([name, value]) => [`valid ${name}`, formatNumber(value, 4)]));

const scoreText = ({ scalars, decisive }: BestFigures) => `${decisive} ${(100 * scalars![decisive!]!).toFixed(2)} %`;

/** `key  value`, one a line. */
function pairs(values: Readonly<Record<string, unknown>>): string {
  const rows = Object.entries(values).map(([key, value]) => ({ key, value: plain(value) }));
  return table(rows).split("\n").slice(1).join("\n"); // without the line of headings
}

function plain(value: unknown): string {
  if (value === undefined || value === null) return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

async function compare(paths: string[], { json }: JsonOption): Promise<void> {
  if (paths.length < 2)
    reject({ who: "runs compare", needed: "two runs or more", got: paths.join(", "), remedy: "name another run" }, 2);
  const runs = await Promise.all(paths.map(summarise));
  const differing = differences(runs.map(({ config }) => config));
  const parameters = await Promise.all(runs.map(parameterCount));
  if (json) {
    const hashes = await Promise.all(runs.map(weightsHash));
    const rows = runs.map((run, i) => ({ ...brief(run), parameters: parameters[i], weightsHash: hashes[i] }));
    return printJson({ runs: rows, differences: Object.fromEntries(differing) });
  }
  const ranges = runs.flatMap(({ losses }) => (losses.length > 0 ? rangeOf(losses) : []));
  const scale: [number, number] = [Math.min(...ranges), Math.max(...ranges)];
  const rows = runs.map((run, i) => ({
    run: run.path,
    status: run.status,
    step: stepText(run),
    ...figuresOf(run, parameters[i] ?? null),
    "loss curve": sparkline(run.losses, 24, scale),
  }));
  print(`${settingsTable(paths, differing)}\n\n${table(rows)}`);
}

function settingsTable(paths: readonly string[], differing: ReadonlyMap<string, unknown[]>): string {
  if (differing.size === 0) return "the same settings";
  const rows = [...differing].map(([setting, values]) => ({
    setting,
    ...Object.fromEntries(values.map((value, i) => [paths[i], plain(value)])),
  }));
  return table(rows);
}
