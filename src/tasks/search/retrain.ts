/** Retraining: the network that a search found, trained as an ordinary one and held against the (sf)-baseline of as many blocks. */
import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { stringify } from "yaml";
import { type LatencyShape, networkFlops, networkLatencies } from "../../analysis/latency.ts";
import { reject } from "../../base/errors.ts";
import { formatNumber, table } from "../../base/table.ts";
import { parsePattern, patternBlocks, printPattern } from "../../depth/pattern.ts";
import type { Engine } from "../../engine/engine.ts";
import { countParameters } from "../../model/report.ts";
import { RunFolder } from "../../runs/folder.ts";
import { environment } from "../environment.ts";
import {
  ARCHITECTURE_FILE,
  keptResult,
  openSearch,
  prepareSearch,
  type RunningOptions,
  type SearchConfig,
  searchDefaults,
  type Tell,
} from "./index.ts";
import { finishPar, type ParConfig, parConfig, type RetrainNotes, restore, withTokenizer } from "./runs.ts";

/** Where a pattern comes from, and the settings to train it with. */
export interface Origin {
  readonly pattern: string;
  readonly config: SearchConfig;
  /** The search's run folder, where it is one. */
  readonly run: string | null;
}

/** A run of search, an architecture file (in its run folder or elsewhere), or a pattern by letters or name. */
export async function originOf(text: string): Promise<Origin> {
  if (!existsSync(text)) return { pattern: printed(text), config: searchDefaults, run: null };
  const file = statSync(text).isDirectory() ? join(text, ARCHITECTURE_FILE) : text;
  const found = existsSync(file) ? parsed(await readFile(file, "utf8")) : undefined;
  if (typeof found?.pattern !== "string") {
    const got = existsSync(file) ? "JSON without a pattern" : `no ${ARCHITECTURE_FILE}`;
    const remedy =
      "name a run that has ended, its architecture.json, or a pattern; unfinished ones go on with `layerwise resume`";
    reject({ who: text, needed: "the architecture that a search found", got, remedy });
  }
  const folder = dirname(file);
  const run =
    [folder, join(folder, `seed-${found.seed}`)].find((each) => existsSync(join(each, "config.yaml"))) ?? null;
  return { pattern: printed(found.pattern), config: run === null ? searchDefaults : await configIn(run), run };
}

function parsed(text: string): { pattern?: unknown; seed?: unknown } | undefined {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

const printed = (text: string) => printPattern(patternBlocks(text));

async function configIn(run: string): Promise<SearchConfig> {
  const { task: _, retrain: __, ...config } = parConfig((await RunFolder.read(run)).config, `${run}/config.yaml`);
  return withTokenizer(config, run);
}

export interface RetrainRequest {
  readonly origin: Origin & { name: string };
  /** Settings that differ from the search's. */
  readonly changes: Partial<SearchConfig>;
  readonly out: string;
  readonly fromSupernet: boolean;
  /** A run to compare with, `null` for none, undefined to train one. */
  readonly baseline: string | null | undefined;
}

/** Settings of an ordinary network: nothing is searched, so nothing is cut and no budget holds. */
function ordinary(config: SearchConfig, pattern: string): SearchConfig {
  return { ...config, blocks: pattern, candidates: null, procedure: "joint", budget: null, cut: null };
}

const yamlOf = (config: SearchConfig, retrain: RetrainNotes) => stringify({ task: "retrain", retrain, ...config });

/** Makes the run folder, once its settings have proved sound. */
export async function beginRetraining(request: RetrainRequest, engine: Engine): Promise<void> {
  const { origin, changes, out, baseline } = request;
  if (request.fromSupernet && origin.run === null) {
    const remedy = "name a run of layerwise search, or train from scratch";
    reject({ who: "--from-supernet", needed: "a search with weights", got: origin.name, remedy }, 2);
  }
  if (baseline) await configIn(baseline); // it must be a run that can be compared
  const lengths = changes.steps !== undefined ? { epochs: null } : changes.epochs !== undefined ? { steps: null } : {};
  const config = ordinary({ ...origin.config, ...lengths, ...changes }, origin.pattern);
  await prepareSearch(await openSearch(config, engine));
  const notes: RetrainNotes = {
    origin: origin.name,
    supernet: request.fromSupernet ? resolve(origin.run!) : null,
    baseline: baseline === null ? null : relative(out, baseline ?? `${out}-baseline`),
    trainsBaseline: baseline === undefined,
  };
  await createRun(out, config, notes, engine);
}

async function createRun(path: string, config: SearchConfig, notes: RetrainNotes, engine: Engine): Promise<void> {
  const content = { config: yamlOf(config, notes), environment: await environment(engine) };
  (await RunFolder.create(path, content, { keep: config.keep })).close();
}

/** The baseline of a network: attention and feed-forward by turns, as many blocks as it has. */
export function baselineOf(pattern: string): string {
  return printPattern(parsePattern(`baseline/${parsePattern(pattern).length}`));
}

export interface Network {
  readonly name: "found" | "baseline";
  readonly run: string;
  readonly pattern: string;
  readonly parameters: number;
  /** Blocks that run: all but identity. */
  readonly executedDepth: number;
  /** Forward, at the shape of the latency. */
  readonly flopsPerToken: number;
  readonly latencyMs: number;
  readonly perplexity: number;
  readonly meanBatchPerplexity: number;
}

const compared = ["parameters", "flopsPerToken", "latencyMs", "perplexity"] as const;

/** What retraining ends with. */
export interface Retrained {
  readonly run: string;
  readonly networks: readonly Network[];
  /** The found network's figures divided by the baseline's; null without one. */
  readonly ratios: Readonly<Record<(typeof compared)[number], number>> | null;
  readonly latency: LatencyShape & { threads: number };
}

/** Trains what a retrain run still lacks, its baseline included, and measures both networks in turns; gives nothing where it was stopped. */
export async function finishRetraining(
  path: string,
  engine: Engine,
  tell: Tell,
  running: RunningOptions = {},
): Promise<Retrained | undefined> {
  const config = parConfig((await RunFolder.read(path)).config, `${path}/config.yaml`);
  const notes = config.retrain!;
  const first =
    notes.supernet === null ? undefined : () => supernetWeights(notes.supernet!, String(config.blocks), engine);
  tell(`training ${config.blocks} in ${path}`);
  if (!(await finishPar(path, engine, tell, first, running))) return undefined;
  const baseline = notes.baseline === null ? undefined : join(path, notes.baseline);
  if (baseline !== undefined && notes.trainsBaseline) {
    if (!(await trainBaseline(baseline, config, engine, tell, running))) return undefined;
  }
  const result = await compare([path, ...(baseline === undefined ? [] : [baseline])], config.latency, engine);
  const { writeAtomically } = await import("../../files/atomic.ts");
  await writeAtomically(join(path, "retrain.json"), `${JSON.stringify(result, null, 2)}\n`);
  return result;
}

/** Weights of the chosen candidates, by the names they have in a network of their own. */
async function supernetWeights(path: string, pattern: string, engine: Engine) {
  const { foundNetwork } = await import("../../model/par/found.ts");
  const run = await RunFolder.read(path);
  const supernet = await restore(path, run.config, (await run.readCheckpoint("last")).state, engine);
  const { weights } = foundNetwork(supernet.model, supernet.weights, pattern);
  return new Map(
    [...weights].map(
      ([
        {
          attributes: { name, shape },
        },
        data,
      ]) => [name, { shape, data }] as const,
    ),
  );
}

async function trainBaseline(path: string, found: ParConfig, engine: Engine, tell: Tell, running: RunningOptions) {
  const { task: _, retrain, ...config } = found;
  const pattern = baselineOf(String(config.blocks));
  if (!existsSync(join(path, "config.yaml"))) {
    const notes = { ...retrain!, supernet: null, baseline: null, trainsBaseline: false };
    await createRun(path, { ...config, blocks: pattern }, notes, engine);
  }
  tell(`training the baseline ${pattern} in ${path}`);
  return finishPar(path, engine, tell, undefined, running);
}

async function compare(paths: readonly string[], shape: LatencyShape, engine: Engine): Promise<Retrained> {
  const opened = [];
  for (const path of paths) opened.push(await openNetwork(path, engine));
  const models = opened.map(({ model }) => model);
  const latencies = await networkLatencies(engine, models, shape);
  const networks = opened.map(({ path, model, found }, i): Network => {
    const { pattern, perplexity, meanBatchPerplexity } = found;
    return {
      ...{ name: i === 0 ? ("found" as const) : ("baseline" as const), run: path, pattern },
      parameters: countParameters(model.parameters),
      executedDepth: parsePattern(pattern).filter((kind) => kind !== "identity").length,
      flopsPerToken: networkFlops(model, shape) / (shape.batch * shape.length),
      ...{ latencyMs: latencies[i]!, perplexity, meanBatchPerplexity },
    };
  });
  const latency = { ...shape, threads: engine.threads };
  return { run: paths[0]!, networks, ratios: ratiosOf(networks), latency };
}

async function openNetwork(path: string, engine: Engine) {
  const run = await RunFolder.read(path);
  const found = await keptResult(path);
  if (!found) return unfinished(path);
  const { model } = await restore(path, run.config, (await run.readCheckpoint("last")).state, engine);
  return { path, model, found };
}

function unfinished(path: string): never {
  const remedy = `end it with \`layerwise resume ${path}\``;
  return reject({ who: path, needed: "a run that has come to its end", got: "one that has not", remedy });
}

function ratiosOf([found, baseline]: readonly Network[]): Retrained["ratios"] {
  if (!found || !baseline) return null;
  const ratios = compared.map((key) => [key, found[key] / baseline[key]] as const);
  return Object.fromEntries(ratios) as Record<(typeof compared)[number], number>;
}

/** Both networks, and what the one is of the other. */
export function retrainTable({ networks, ratios, latency }: Retrained): string {
  const rows = networks.map((network) => ({
    network: network.name,
    pattern: network.pattern,
    parameters: `${formatNumber(network.parameters / 1e6, 3)} M`,
    depth: network.executedDepth,
    flops: `${formatNumber(network.flopsPerToken / 1e6, 2)} M`,
    latency: `${formatNumber(network.latencyMs, 2)} ms`,
    perplexity: formatNumber(network.perplexity, 2),
  }));
  const ratio = ratios && {
    ...{ network: "ratio", pattern: "", depth: null },
    parameters: ratios.parameters.toFixed(3),
    flops: ratios.flopsPerToken.toFixed(3),
    latency: ratios.latencyMs.toFixed(3),
    perplexity: ratios.perplexity.toFixed(3),
  };
  const columns = [
    ...["network", "pattern"].map((key) => ({ key, title: key })),
    { key: "parameters", title: "distinct parameters" },
    { key: "depth", title: "executed depth" },
    { key: "flops", title: "FLOPs per token" },
    { key: "latency", title: "latency" },
    { key: "perplexity", title: "valid perplexity" },
  ];
  const { batch, length, memory, threads } = latency;
  const where = `FLOPs and latency forward, batch ${batch} × ${length}, memory ${memory}, ${threads} thread${threads === 1 ? "" : "s"}, in turns`;
  return `${table([...rows, ...(ratio ? [ratio] : [])], columns).trimEnd()}\n${where}`;
}
