/** Retraining: the network that a search found, trained as an ordinary one and held against the (sf)-baseline of as many blocks. */
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { reject } from "../../base/errors.ts";
import { parsePattern, printPattern } from "../../depth/pattern.ts";
import type { Engine } from "../../engine/engine.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { RunFolder } from "../../runs/folder.ts";
import { sealedJson } from "../../runs/sealed.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import { type Session, startSession } from "../../train/session.ts";
import { told } from "../../train/world.ts";
import { defaultEngine, engineAsBegun } from "../engine.ts";
import type { Job, NoteEvent, Rehearsed, TaskEvent } from "../job.ts";
import { type NewRun, newRun } from "../new-run.ts";
import { type OpenRun, openRunBase, type ResumeOptions, type StoredRun } from "../open-run.ts";
import { performed, resumed } from "../perform.ts";
import type { Given } from "../text-data.ts";
import { type Contender, compareNetworks, type RetrainResult, retrainData, stoppedResult } from "./comparison.ts";
import { searchJob } from "./job.ts";
import { changedBy, ordinary, yamlOf } from "./ordinary.ts";
import { MEMORY, type Origin, originOf, type RetrainSource, settingsIn, supernetWeights } from "./origin.ts";
import { openSearch, rankedText, type SearchGiven } from "./parts.ts";
import { keptResult, type SearchResult } from "./result.ts";
import type { SearchConfig } from "./settings.ts";
import { lastModel, type RetrainNotes, reopenSearch, type StoredSettings, storedSettings } from "./stored.ts";
import { openTimedSearch } from "./timed.ts";
import { type ParUses, parUses } from "./uses.ts";

const RESULT_FILE = "retrain.json";

/** What is retrained, and how. */
export interface RetrainRequest {
  readonly source: RetrainSource;
  /** Settings that differ from the search's. */
  readonly changes: Partial<SearchConfig>;
  readonly fromSupernet: boolean;
  /** A run to compare with; true: one that is trained beside it, false: none. */
  readonly baseline: string | boolean;
  readonly given: Given;
  /** The run folder, where one is to be filled. */
  readonly path: string | undefined;
}

/** A retraining, opened: what it may be asked before it begins. */
export interface Retraining extends Rehearsed {
  readonly network: Job<SearchResult>;
  readonly settings: SearchConfig;
  readonly notes: RetrainNotes;
  readonly path: string | undefined;
  readonly given: Given & { readonly engine: Engine };
}

/** The baseline of a network: attention and feed-forward by turns, as many blocks as it has. */
export function baselineOf(pattern: string): string {
  return printPattern(parsePattern(`baseline/${parsePattern(pattern).length}`));
}

/** Opens a retraining; mistakes in its settings show here. */
export async function openRetraining(request: RetrainRequest): Promise<Retraining> {
  const { changes, baseline, path } = request;
  const origin = await originOf(request.source);
  if (request.fromSupernet && !origin.weights) {
    const remedy = "name a run of search, or train from scratch";
    reject({ who: "from supernet", needed: "a search with weights", got: origin.name, remedy }, 2);
  }
  if (typeof baseline === "string") await settingsIn(baseline); // it must be a run that can be compared
  const asked = ordinary(changedBy(origin.settings, changes), origin.pattern);
  const notes = notesOf(request, origin);
  const given = {
    ...request.given,
    engine: request.given.engine ?? (await defaultEngine(asked)),
    tokenizer: request.given.tokenizer ?? (namesTokenizer(changes) ? undefined : origin.tokenizer),
  };
  const initial = request.fromSupernet ? await origin.weights!() : undefined;
  const parts = await openTimedSearch(asked, { ...given, initial });
  const { settings } = parts;
  const network = searchJob(parts, yamlOf(settings, notes));
  return { network, settings, notes, path, given, ...rehearsed(network, settings, notes, given) };
}

const namesTokenizer = ({ tokenizer, pieces }: Partial<SearchConfig>) =>
  (tokenizer ?? null) !== null || (pieces ?? null) !== null;

function notesOf({ fromSupernet, baseline, path = "." }: RetrainRequest, { name, run }: Origin): RetrainNotes {
  const rival = typeof baseline === "string" ? baseline : `${path}-baseline`;
  return {
    origin: name,
    supernet: fromSupernet ? (run === null ? name : resolve(run)) : null,
    baseline: baseline === false ? null : relative(path, rival),
    trainsBaseline: baseline === true,
  };
}

function rehearsed(
  network: Job,
  settings: SearchConfig,
  { baseline, trainsBaseline }: RetrainNotes,
  given: Retraining["given"],
): Rehearsed {
  const pattern = baselineOf(String(settings.blocks));
  return {
    describe: () => [
      ...network.describe(),
      { what: "baseline", value: trainsBaseline ? pattern : (baseline ?? "none") },
    ],
    rehearse: async () => {
      const jobs = { found: network, ...(trainsBaseline ? { baseline: await baselineJob(settings, given) } : {}) };
      const parts = [];
      for (const [name, job] of Object.entries(jobs)) {
        for (const each of await job.rehearse()) parts.push({ ...each, name });
      }
      return parts;
    },
  };
}

const note = (text: string): NoteEvent => ({ type: "note", text });
const within = (path: string | undefined) => (path === undefined ? "" : ` in ${path}`);

/** Trains the network and its baseline, from the start. */
export async function* retraining(
  request: RetrainRequest,
  into: NewRun | undefined,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, RetrainResult, void> {
  const opened = await openRetraining(request);
  yield note(`training ${opened.settings.blocks}${within(opened.path)}`);
  const found = yield* performed(opened.network, into, signal);
  return yield* compared(opened, found, signal);
}

/** Goes on with a run of retrain: what it still lacks is trained, its baseline included, and both networks are measured. */
export function resume(path: string, options: ResumeOptions = {}): Session<TaskEvent, RetrainResult> {
  return startSession((signal) => goOn(path, options, signal), options.signal);
}

async function* goOn(
  path: string,
  { engine: own, signal: _, ...options }: ResumeOptions,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, RetrainResult, void> {
  const { config, environment } = await RunFolder.read(path);
  const { notes } = storedSettings(config, path);
  const given = { ...options, engine: own ?? (await engineAsBegun(environment)) };
  yield note(`training ${storedSettings(config, path).settings.blocks}${within(path)}`);
  const found = yield* resumed(path, given, (...stored) => reopenSearch(...stored, firstWeights), signal);
  const { settings } = storedSettings((await RunFolder.read(path)).config, path); // as they are now
  return yield* compared({ settings, notes: notes!, path, given }, found, signal);
}

/** Weights to start from, where a run has no checkpoint yet. */
async function firstWeights({ settings, notes }: StoredSettings): Promise<SearchGiven["initial"]> {
  const supernet = notes?.supernet ?? null;
  if (supernet === null) return undefined;
  if (!supernet.startsWith(MEMORY)) return supernetWeights(supernet, String(settings.blocks));
  const remedy = "begin the retraining again with the search's result";
  return reject({ who: "from supernet", needed: "the weights that a program gave", got: "no checkpoint", remedy });
}

type Trained = Pick<Retraining, "settings" | "notes" | "path" | "given">;

async function* compared(
  retrained: Trained,
  found: SearchResult,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, RetrainResult, void> {
  const { settings, notes, path, given } = retrained;
  const network = { ...found, run: path ?? null };
  const stopped = () => stoppedResult(network, settings.latency, given.engine);
  if (found.reason === "stopped") return stopped();
  const rival = notes.trainsBaseline
    ? yield* trainedBaseline(retrained, found.tokenizer, signal)
    : notes.baseline === null
      ? undefined
      : await storedContender(join(path ?? ".", notes.baseline), given);
  if (rival === "stopped") return stopped();
  const { reason } = found;
  const result = await compareNetworks(network, rival, { shape: settings.latency, engine: given.engine, reason });
  const isFirst = (given.engine?.world?.rank ?? 0) === 0;
  if (path !== undefined && isFirst) await writeAtomically(join(path, RESULT_FILE), sealedJson(retrainData(result)));
  return result;
}

async function* trainedBaseline(
  { settings, notes, path, given }: Trained,
  tokenizer: OpenTokenizer,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, Contender | "stopped", void> {
  const run = path === undefined ? undefined : join(path, notes.baseline!);
  yield note(`training the baseline ${baselineOf(String(settings.blocks))}${within(run)}`);
  const begun = await told(given.engine.world, () => run !== undefined && existsSync(join(run, "config.yaml")));
  const result =
    begun && run !== undefined
      ? yield* resumed(run, given, (...stored) => reopenSearch(...stored), signal)
      : yield* performed(
          await baselineJob(settings, { ...given, tokenizer }, notes),
          run === undefined ? undefined : await newRun(run),
          signal,
        );
  return result.reason === "stopped" ? "stopped" : { ...result, run: run ?? null };
}

async function baselineJob(
  settings: SearchConfig,
  given: Trained["given"],
  notes?: RetrainNotes,
): Promise<Job<SearchResult>> {
  const own = { ...settings, blocks: baselineOf(String(settings.blocks)), depth: null };
  const origin = { supernet: null, baseline: null, trainsBaseline: false };
  return searchJob(await openSearch(own, given), yamlOf(own, { origin: "", ...notes, ...origin }));
}

/** A run that has ended, to be compared with. */
async function storedContender(path: string, given: Given): Promise<Contender> {
  const found = await keptResult(path);
  if (!found) {
    const remedy = `end it with \`layerwise resume ${path}\``;
    return reject({ who: path, needed: "a run that has come to its end", got: "one that has not", remedy });
  }
  const { settings, model, weights, tokenizer } = await lastModel(path);
  const { ranks } = await rankedText(settings, { ...given, tokenizer });
  return { ...found, run: path, model, weights, tokenizer, ranks };
}

/** A run of retrain, opened at a checkpoint. */
export interface RetrainRun extends OpenRun<"retrain", RetrainResult>, ParUses {}

/** Opens a run of retrain to use it. */
export async function open(stored: StoredRun): Promise<RetrainRun> {
  return { ...openRunBase("retrain", stored, resume), ...(await parUses(stored)) };
}
