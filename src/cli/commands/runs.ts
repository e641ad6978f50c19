/** `layerwise runs`: lists run folders, shows one, compares several. */
import type { Command } from "commander";
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
  layerwise runs                        the runs under runs/
  layerwise runs experiments --json
  layerwise runs show runs/1            one run: figures, curve, checkpoints, settings
  layerwise runs compare runs/1 runs/2  settings that differ, and results side by side`;

const SHOW_EXAMPLES = `
Examples:
  layerwise runs show runs/1
  layerwise runs show runs/1 --json     with weightsHash, the SHA-256 of the last checkpoint's weights`;

const COMPARE_EXAMPLES = `
Examples:
  layerwise runs compare runs/1 runs/2
  layerwise runs compare runs/* --json`;

/** Adds `runs`, `runs show` and `runs compare`. */
export function addRuns(program: Command): void {
  const runs = program
    .command("runs")
    .argument("[dir]", "folder to search for runs", "runs")
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
}

const print = (text: string) => void process.stdout.write(`${text}\n`);

const printJson = (value: unknown) => print(encodeJson(value, 2));

async function list(folder: string, { json }: JsonOption): Promise<void> {
  const paths = await findRuns(folder);
  const found = await Promise.all(paths.map(summaryOrFault));
  if (json) return printJson(found.map((each) => ("fault" in each ? each : brief(each))));
  if (found.length === 0) return print(`no runs under ${folder}; start one with: layerwise train --out ${folder}/1`);
  print(table(found.map(listRow)));
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

function listRow(run: RunSummary | Unreadable): Row {
  if ("fault" in run) return { run: run.path, model: null, status: "unreadable" };
  return {
    run: run.path,
    model: modelLine(run.config),
    status: run.status,
    step: stepText(run),
    loss: run.lastLoss?.toFixed(4),
    ...(run.best?.decisive === undefined
      ? { "best valid perplexity": run.best?.perplexity?.toFixed(2) }
      : { score: scoreText(run.best) }),
    changed: ageText(Date.now() - run.changedMs),
    size: sizeText(run.bytes),
  };
}

/** The settings that tell runs apart at a glance, as far as a run has them. */
const TELLING = ["task", "glueTask", "corpus", "blocks", "depth", "width", "length"];

type Settings = Readonly<Record<string, unknown>>;

function modelLine(config: Settings): string {
  const settings = flat(config);
  const words = TELLING.filter((key) => settings[key] !== undefined && settings[key] !== null);
  const word = (key: string) => (typeof settings[key] === "number" ? `${key} ${settings[key]}` : `${settings[key]}`);
  return words.map(word).join(" ");
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
  const { depth, glueTask, epochs } = flat(run.config);
  return {
    ...(typeof glueTask === "string" ? { task: glueTask } : {}),
    parameters: parameters === null ? null : formatNumber(parameters),
    depth: typeof depth === "number" ? formatNumber(depth) : null,
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
