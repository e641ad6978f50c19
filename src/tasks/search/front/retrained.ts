import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type LatencyShape, networkLatencies } from "../../../analysis/latency.ts";
import { kendall } from "../../../analysis/rank.ts";
import { reject } from "../../../base/errors.ts";
import { table } from "../../../base/table.ts";
import type { Engine } from "../../../engine/engine.ts";
import { writeAtomically } from "../../../files/atomic.ts";
import { countParameters } from "../../../model/report.ts";
import { type TradeOff, tradeOffSvg } from "../../../pictures/trade-off-picture.ts";
import { sealedJson } from "../../../runs/sealed.ts";
import type { EndReason } from "../../../train/events.ts";
import { defaultEngine } from "../../engine.ts";
import type { NoteEvent, TaskEvent } from "../../job.ts";
import { settingsIn } from "../origin.ts";
import type { SearchResult } from "../result.ts";
import type { RetrainRequest } from "../retrain.ts";
import { isSeedFolder, seedRun } from "../seed-folder.ts";
import type { SearchConfig } from "../settings.ts";
import { FRONT_FILE, type Front, type FrontNetwork, keptFront, spreadOver } from "./front.ts";
import { type Raced, type RacedRow, type RaceOptions, raceTable, racing } from "./race.ts";
import { BASELINE, baselineWanted, trainedNetwork, type Wanted } from "./wanted.ts";

/** The file of a folder that holds how retrained networks compare. */
const RETRAINED_FILE = "retrained.json";

/** A network of the front, or the baseline, trained from scratch. */
export interface RetrainedRow {
  readonly name: string;
  readonly pattern: string;
  readonly run: string | null;
  readonly parameters: number;
  /** Measured in turns with the others; NaN where training was stopped. */
  readonly latencyMs: number;
  readonly perplexity: number;
  /** In the supernet; null for a network that was not ranked. */
  readonly supernetPerplexity: number | null;
}

/** What retraining a front ends with. */
export interface RetrainedFront {
  readonly reason: EndReason;
  readonly networks: readonly RetrainedRow[];
  /** Kendall's τ between the order in the supernet and after retraining; NaN for fewer than two networks. */
  readonly tau: number;
  readonly latency: LatencyShape & { readonly threads: number };
  /** How the networks of a race did, the best in the supernet first; the winner is the one that was trained to its end. */
  readonly race?: readonly RacedRow[] | undefined;
}

const note = (text: string): NoteEvent => ({ type: "note", text });

/** A network that was trained, and where. */
type Trained = Raced["trained"][number];

/** Trains networks of a search's front, and the baseline; runs that the folder has already go on or count as they are. */
export async function* retrainingFront(
  request: RetrainRequest,
  asked: number | RaceOptions,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, RetrainedFront, void> {
  const { source, changes, path, given } = request;
  const front = await frontOf(source, typeof asked === "number" ? "--front" : "--race");
  const settings = { ...(await settingsIn(source as string)), ...changes };
  const engine = given.engine ?? (await defaultEngine(settings));
  const equipped = { ...request, given: { ...given, engine } };
  const { race, trained } =
    typeof asked === "number"
      ? yield* spreading(front, asked, settings, equipped, signal)
      : yield* racing(front, settings, equipped, asked, signal);
  const isStopped = trained.length === 0 || trained.at(-1)!.result.reason === "stopped";
  const times = isStopped
    ? []
    : await networkLatencies(
        engine,
        trained.map(({ result }) => result.model),
        settings.latency,
      );
  const networks = trained.map(({ each, result, run }, i) => rowOf(each, result, run, times[i] ?? Number.NaN));
  const latency = { ...settings.latency, threads: engine.threads };
  const reason = isStopped ? "stopped" : "finished";
  const outcome: RetrainedFront = { reason, networks, tau: tauOf(networks), latency, ...(race ? { race } : {}) };
  if (path !== undefined && !isStopped) await keep(path, outcome);
  return outcome;
}

/** Trains networks one after another, each to its end. */
async function* spreading(
  front: Front,
  asked: number,
  settings: SearchConfig,
  request: RetrainRequest & { given: { engine: Engine } },
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, { race?: undefined; trained: Trained[] }, void> {
  const { path, baseline } = request;
  const networks = spreadOver(front, asked);
  if (networks.length < asked) yield note(`--front ${asked}: the front has ${networks.length}; all of it is trained`);
  const trained: Trained[] = [];
  for (const each of wantedOf(networks, baseline === true)) {
    const run = path === undefined ? null : join(path, each.name);
    yield note(`training ${each.pattern} (${each.name})${run === null ? "" : ` in ${run}`}`);
    const result = yield* trainedNetwork(each, settings, request, signal);
    trained.push({ each, result, run });
    if (result.reason === "stopped") break;
  }
  return { trained };
}

/** The front that a search left; a folder of several seeds has one per seed. */
async function frontOf(source: RetrainRequest["source"], flag: string): Promise<Front> {
  const front = typeof source === "string" ? await keptFront(source) : undefined;
  if (front) return front;
  const seeds = typeof source === "string" ? seedsWithFront(source) : [];
  const own = typeof source === "string" ? `${source} without ${FRONT_FILE}` : "a result in memory";
  const got = seeds.length > 0 ? `${source}, a folder of seeds with a front each` : own;
  const remedy = seeds.length > 0 ? `name one of them: ${seeds.join(", ")}` : `leave ${flag} out`;
  return reject({ who: `retrain ${flag}`, needed: "the run of a search with --front", got, remedy }, 2);
}

/** Runs of seeds below a folder that have a front. */
function seedsWithFront(path: string): string[] {
  if (!isSeedFolder(path)) return [];
  const seeds = readdirSync(path).flatMap((name) => /^seed-(\d+)$/.exec(name)?.[1] ?? []);
  const runs = seeds.toSorted((a, b) => Number(a) - Number(b)).map((seed) => seedRun(path, Number(seed)));
  return runs.filter((run) => existsSync(join(run, FRONT_FILE)));
}

function wantedOf(networks: readonly FrontNetwork[], withBaseline: boolean): Wanted[] {
  const named = networks.map(({ pattern, perplexity }, i) => {
    return { name: `network-${i + 1}`, pattern, supernetPerplexity: perplexity };
  });
  return [...named, ...(withBaseline ? [baselineWanted(networks[0]!.pattern)] : [])];
}

function rowOf({ name, pattern, supernetPerplexity }: Wanted, result: SearchResult, run: string | null, ms: number) {
  const parameters = countParameters(result.model.parameters);
  return { name, pattern, run, parameters, latencyMs: ms, perplexity: result.perplexity, supernetPerplexity };
}

function tauOf(networks: readonly RetrainedRow[]): number {
  const ranked = networks.flatMap(({ supernetPerplexity: supernet, perplexity }) =>
    supernet === null ? [] : [{ supernet, perplexity }],
  );
  return kendall(
    ranked.map(({ supernet }) => supernet),
    ranked.map(({ perplexity }) => perplexity),
  );
}

async function keep(path: string, outcome: RetrainedFront): Promise<void> {
  await writeAtomically(join(path, RETRAINED_FILE), sealedJson(outcome));
  const rows: TradeOff[] = outcome.networks.map((row) => {
    return { ...row, kind: row.name === BASELINE ? "baseline" : "front" };
  });
  await writeAtomically(join(path, "retrained.svg"), tradeOffSvg(rows, "Networks of the front, trained from scratch"));
}

/** The networks by rising latency, and how well the supernet ordered them. */
export function retrainedTable({ networks, tau, race }: RetrainedFront): string {
  const baseline = networks.find(({ name }) => name === BASELINE);
  const rows = networks.map((row) => ({
    network: row.name,
    pattern: row.pattern,
    parameters: `${(row.parameters / 1e6).toFixed(3)} M`,
    ms: row.latencyMs.toFixed(2),
    ratio: baseline ? (row.latencyMs / baseline.latencyMs).toFixed(2) : "",
    supernet: row.supernetPerplexity === null ? "" : row.supernetPerplexity.toFixed(2),
    perplexity: row.perplexity.toFixed(2),
  }));
  const titles = { ratio: "÷ baseline", supernet: "in the supernet", perplexity: "valid perplexity" };
  const keys = ["network", "pattern", "parameters", "ms", "ratio", "supernet", "perplexity"] as const;
  const columns = keys.map((key) => ({ key, title: titles[key as keyof typeof titles] ?? key }));
  const agreement = Number.isNaN(tau) ? "" : `\nKendall's τ between the two perplexities: ${tau.toFixed(2)}`;
  return `${race ? `${raceTable(race)}\n\n` : ""}${table(rows, columns).trimEnd()}${agreement}`;
}
