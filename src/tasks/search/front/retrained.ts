/** Networks of a search trained from scratch: over its front, as a race, or the found one, with the baseline and random ones beside them. */
import { join } from "node:path";
import { type LatencyShape, networkLatencies } from "../../../analysis/latency.ts";
import { kendall } from "../../../analysis/rank.ts";
import { table } from "../../../base/table.ts";
import { writeAtomically } from "../../../files/atomic.ts";
import { countParameters } from "../../../model/report.ts";
import { type TradeOff, tradeOffSvg } from "../../../pictures/trade-off-picture.ts";
import { sealedJson } from "../../../runs/sealed.ts";
import type { EndReason } from "../../../train/events.ts";
import { defaultEngine } from "../../engine.ts";
import type { NoteEvent, TaskEvent } from "../../job.ts";
import { changedBy } from "../ordinary.ts";
import type { SearchResult } from "../result.ts";
import { baselineOf, type RetrainRequest } from "../retrain.ts";
import type { SearchConfig } from "../settings.ts";
import { pickWithin, spreadOver } from "./front.ts";
import { type NullTest, nullTestOf, nullTestText } from "./null-test.ts";
import {
  type AskedNetworks,
  type Equipped,
  type Prepared,
  prepare,
  RANDOM,
  type Search,
  searchOf,
} from "./prepared.ts";
import { type RacedRow, raceTable, racing } from "./race.ts";
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
  /** Networks that τ is over: all that were trained to their end and that the supernet ranks. */
  readonly ranked: number;
  readonly latency: LatencyShape & { readonly threads: number };
  /** How the networks of a race did, the best in the supernet first; the winner is the one that was trained to its end. */
  readonly race?: readonly RacedRow[] | undefined;
  /** The found network, or the race's winner, beside random ones of no more latency. */
  readonly nullTest?: NullTest | undefined;
}

const note = (text: string): NoteEvent => ({ type: "note", text });

/** A network that was trained, and where. */
interface Trained {
  readonly each: Wanted;
  readonly result: SearchResult;
  readonly run: string | null;
}

/** Trains networks of a search, and the baseline; runs that the folder has already go on or count as they are. */
export async function* retrainingFront(
  request: RetrainRequest,
  asked: AskedNetworks,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, RetrainedFront, void> {
  const { path, given } = request;
  const search = await searchOf(request.source, asked);
  const settings = changedBy(search.settings, request.changes);
  const engine = given.engine ?? (await defaultEngine(settings));
  const equipped = { ...request, given: { ...given, engine } };
  const prepared = await prepare(search, settings, asked, equipped);
  for (const text of prepared.notes) yield note(text);
  const { race, wanted } = yield* wantedOf(search, settings, asked, equipped, prepared, signal);
  const trained = signal.aborted ? [] : yield* trainAll(wanted, settings, equipped, signal);
  const isStopped = trained.length === 0 || trained.at(-1)!.result.reason === "stopped";
  const times = isStopped
    ? []
    : await networkLatencies(
        engine,
        trained.map(({ result }) => result.model),
        settings.latency,
      );
  const networks = trained.map(({ each, result, run }, i) => rowOf(each, result, run, times[i] ?? Number.NaN));
  const outcome: RetrainedFront = {
    reason: isStopped ? "stopped" : "finished",
    networks,
    ...agreementOf(networks),
    latency: { ...settings.latency, threads: engine.threads },
    ...(race ? { race } : {}),
    ...(isStopped || prepared.random.length === 0 ? {} : { nullTest: tested(networks, search, prepared) }),
  };
  if (path !== undefined && !isStopped) await keep(path, outcome);
  return outcome;
}

/** What is to be trained to its end: a race finds out first. */
async function* wantedOf(
  { front, found }: Search,
  settings: SearchConfig,
  { networks: count, race: contenders, budget }: AskedNetworks,
  request: Equipped,
  { most, random, perplexityOf }: Prepared,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, { race?: readonly RacedRow[]; wanted: Wanted[] }, void> {
  const baseline = { ...baselineWanted(found), supernetPerplexity: perplexityOf(baselineOf(found)) };
  const beside = [...(request.baseline === true ? [baseline] : []), ...random];
  if (contenders !== undefined) {
    const { race, winner } = yield* racing(front!, settings, request, { contenders, most, perplexityOf }, signal);
    return { race, wanted: winner ? [winner, ...beside] : [] };
  }
  if (count !== undefined) {
    const networks = spreadOver(front!, count);
    if (networks.length < count) yield note(`--front ${count}: the front has ${networks.length}; all of it is trained`);
    const named = networks.map(({ pattern, perplexity }, i) => {
      return { name: `network-${i + 1}`, pattern, supernetPerplexity: perplexity };
    });
    return { wanted: [...named, ...beside] };
  }
  const pattern = front && budget !== undefined ? pickWithin(front.networks, most).pattern : found;
  return { wanted: [{ name: "found", pattern, supernetPerplexity: perplexityOf(pattern) }, ...beside] };
}

/** Trains networks one after another, each to its end. */
async function* trainAll(
  wanted: readonly Wanted[],
  settings: SearchConfig,
  request: Equipped,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, Trained[], void> {
  const trained: Trained[] = [];
  for (const each of wanted) {
    const run = request.path === undefined ? null : join(request.path, each.name);
    yield note(`training ${each.pattern} (${each.name})${run === null ? "" : ` in ${run}`}`);
    const result = yield* trainedNetwork(each, settings, request, signal);
    trained.push({ each, result, run });
    if (result.reason === "stopped") break;
  }
  return trained;
}

/** The winner of a race, the chosen one of several, or the one that was trained beside random ones. */
function tested(networks: readonly RetrainedRow[], { found }: Search, { most }: Prepared): NullTest {
  const random = networks.filter(({ name }) => name.startsWith(RANDOM));
  const own = networks.filter(({ name }) => name !== BASELINE && !name.startsWith(RANDOM));
  return nullTestOf(own.find(({ pattern }) => own.length > 1 && pattern === found) ?? own[0]!, random, most);
}

function rowOf({ name, pattern, supernetPerplexity }: Wanted, result: SearchResult, run: string | null, ms: number) {
  const parameters = countParameters(result.model.parameters);
  return { name, pattern, run, parameters, latencyMs: ms, perplexity: result.perplexity, supernetPerplexity };
}

/** How well the supernet ordered what was trained to its end. */
function agreementOf(networks: readonly RetrainedRow[]): Pick<RetrainedFront, "tau" | "ranked"> {
  const both = networks.flatMap(({ supernetPerplexity: supernet, perplexity }) =>
    supernet === null ? [] : [{ supernet, perplexity }],
  );
  const of = (key: "supernet" | "perplexity") => both.map((row) => row[key]);
  return { tau: kendall(of("supernet"), of("perplexity")), ranked: both.length };
}

async function keep(path: string, outcome: RetrainedFront): Promise<void> {
  await writeAtomically(join(path, RETRAINED_FILE), sealedJson(outcome));
  const rows: TradeOff[] = outcome.networks.map((row) => {
    return { ...row, kind: row.name === BASELINE ? "baseline" : row.name.startsWith(RANDOM) ? "random" : "front" };
  });
  await writeAtomically(join(path, "retrained.svg"), tradeOffSvg(rows, "Networks of the search, trained from scratch"));
}

/** Networks of which τ says something. */
const TELLING = 12;

/** The networks, how well the supernet ordered them, and how the found one does beside random ones. */
export function retrainedTable({ networks, tau, ranked, race, nullTest }: RetrainedFront): string {
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
  const few = ranked < TELLING ? `; fewer than ${TELLING} mean little` : "";
  const agreement = `Kendall's τ between supernet and retrained perplexity: ${tau.toFixed(2)} over ${ranked} networks${few}`;
  return [
    ...(race ? [raceTable(race), ""] : []),
    table(rows, columns).trimEnd(),
    ...(Number.isNaN(tau) ? [] : [agreement]),
    ...(nullTest ? [nullTestText(nullTest)] : []),
  ].join("\n");
}
