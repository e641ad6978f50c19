/** A search, opened: its text, tokenizer, model, batches and measured costs; mistakes in its settings have shown. */
import { type MeasuredCosts, measureCandidates } from "../../analysis/latency.ts";
import { reject } from "../../base/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import { type ParModel, type ParOptions, parModel } from "../../model/par/par.ts";
import { writtenNetwork } from "../../model/par/written.ts";
import { loadStateDict, type NamedTensor } from "../../model/state-dict.ts";
import type { Supernet } from "../../model/supernet.ts";
import type { BatchSource } from "../../text/batches.ts";
import type { Split } from "../../text/corpus.ts";
import { frequencyRanks } from "../../text/cutoffs.ts";
import { openBatches } from "../../text/files/tokens.ts";
import type { Batches, TextSize } from "../../train/evaluate.ts";
import type { TrainState } from "../../train/events.ts";
import type { Weights } from "../../train/stages.ts";
import { told } from "../../train/world.ts";
import { defaultEngine } from "../engine.ts";
import { evaluatedFact, evaluatedPart } from "../evaluate.ts";
import type { Fact, Say } from "../job.ts";
import { type Data, type Given, openData, pieceCounts, textHash, textSizeOf } from "../text-data.ts";
import { budgetOf } from "./budget.ts";
import { parseCandidates } from "./candidates.ts";
import { checkConfig } from "./checks.ts";
import { type Course, courseOf } from "./course.ts";
import { smallestPath } from "./front/limits.ts";
import { checkCosts } from "./known-costs.ts";
import { cutoffsIn, type FilledConfig, filledIn, type SearchConfig, searchDefaults, usualIn } from "./settings.ts";

/** Text whose pieces are counted. */
export interface RankedText extends Data {
  /** Place of each piece by falling frequency. */
  readonly ranks: Int32Array;
}

/** A search, opened. */
export interface SearchParts extends RankedText {
  /** A hash of what it learns from. */
  readonly text: string;
  readonly settings: FilledConfig;
  readonly engine: Engine;
  /** With all its candidates. */
  readonly model: ParModel;
  readonly batches: { readonly train: Batches; readonly valid: Batches };
  /** On which part of the valid text evaluations are, where it is not all. */
  readonly evaluated: readonly Fact[];
  readonly validText: TextSize;
  readonly course: Course;
  /** What candidates cost on this machine; null where nobody asked. */
  readonly costs: MeasuredCosts | null;
  /** First weights, where they are not drawn. */
  readonly initial: Weights | undefined;
}

/** What a program hands over instead of names, and what is known already. */
export interface SearchGiven extends Given {
  /** Costs that were measured before, or `measure`. Default: measured only for a budget. */
  readonly costs?: MeasuredCosts | "measure" | undefined;
  /** First weights by name. Default: drawn from the seed. */
  readonly initial?: ReadonlyMap<string, NamedTensor> | undefined;
}

/** Opens what the settings name; those that are missing have their defaults. */
export async function openSearch(given: Partial<SearchConfig>, known: SearchGiven = {}): Promise<SearchParts> {
  const settings: SearchConfig = { ...searchDefaults, ...usualIn(given), ...given };
  checkConfig(settings);
  const data = await openData(settings, known);
  const { size } = data.tokenizer.tokenizer;
  const engine = known.engine ?? (await defaultEngine(settings));
  if (settings.front && engine.world)
    reject(
      { who: "search / front", needed: "one process", got: `${engine.world.size}`, remedy: "start it without mpirun" },
      2,
    );
  const costs = await costsOf(settings, size, engine, known.costs);
  const model = modelOf(settings, size, costs); // mistakes show before the text is read
  if (settings.front) smallestPath({ model, settings });
  const counts = await pieceCounts(data, "train");
  const validText = await textSizeOf(data, "valid");
  checkMemories(settings, { train: sum(counts), valid: validText.tokens });
  const text = { ...data, ranks: ranksOf(settings, counts) };
  const memory = evaluationShape(settings).memory;
  const all = await segmentsOf(settings, text, model, { split: "valid", memory });
  const valid = evaluatedPart(all, settings.evaluateTokens, "valid");
  const batches = {
    train: await segmentsOf(settings, text, model, { split: "train", memory: settings.memory, say: known.say }),
    valid: valid.batches,
  };
  return {
    ...text,
    text: await textHash(data.corpus),
    engine,
    model,
    batches,
    evaluated: evaluatedFact(valid),
    validText,
    ...scheduled(settings, size, batches.train.count),
    costs,
    initial: known.initial && loadStateDict(model.parameters, known.initial, "first weights"),
  };
}

/** Settings and course, once vocabulary and number of batches are known. */
export function scheduled(settings: SearchConfig, vocabulary: number, perEpoch: number) {
  const course = courseOf(settings, perEpoch);
  return { settings: filledIn(settings, vocabulary, course.total), course };
}

/** The ranks of a run's text, which is opened for it. */
export async function rankedText(settings: SearchConfig, given: Given): Promise<RankedText> {
  const data = await openData(settings, given);
  return { ...data, ranks: ranksOf(settings, await pieceCounts(data, "train")) };
}

const sum = (counts: Float64Array) => counts.reduce((total, count) => total + count, 0);

function ranksOf({ compat }: SearchConfig, counts: Float64Array): Int32Array {
  return compat ? Int32Array.from(counts, (_, id) => id) : frequencyRanks(counts);
}

/** What the model of a search is told. */
export function optionsOf(settings: SearchConfig, vocabulary: number): ParOptions {
  const { trainedTemperature, temperatureStart, compat, candidates } = settings;
  return {
    vocabulary,
    width: settings.width,
    heads: settings.heads,
    hidden: settings.feedForward,
    blocks: settings.blocks,
    ...(settings.depth === null ? {} : { plan: writtenNetwork(`${settings.depth}`).plan }),
    memory: settings.memory,
    dropout: settings.dropout,
    ...(settings.attentionDropout > 0 ? { attentionDropout: settings.attentionDropout } : {}),
    cutoffs: cutoffsIn(settings, vocabulary),
    straightThrough: settings.straightThrough,
    adaptiveInput: settings.adaptiveInput,
    ...(settings.tied ? { tied: true } : {}),
    sameLength: settings.sameLength,
    clampLength: settings.clampLength ?? undefined,
    initialTemperature: temperatureStart,
    ...(trainedTemperature ? { temperature: "trained" as const } : { finalTemperature: settings.temperatureEnd }),
    projectionFactor: settings.factor,
    projectionSizes: settings.projectionSizes ?? undefined,
    compat: compat ? "original" : undefined,
    candidates: candidates === null ? undefined : parseCandidates(candidates),
  };
}

/** The model that settings describe; its budget is known by costs only. */
export function modelOf(settings: SearchConfig, vocabulary: number, costs: MeasuredCosts | null): ParModel {
  const options = optionsOf(settings, vocabulary);
  const model = parModel(options);
  if (settings.budget === null || costs === null) return model;
  const budget = budgetOf(settings.budget, settings.budgetWeight, model.choices, costs);
  return settings.front ? model : parModel({ ...options, budget }); // a front has a network for every budget
}

async function costsOf(
  settings: SearchConfig,
  vocabulary: number,
  engine: Engine,
  known: SearchGiven["costs"],
): Promise<MeasuredCosts | null> {
  if (known !== undefined && known !== "measure") {
    checkCosts(known, optionsOf(settings, vocabulary), settings);
    return known;
  }
  if (known === undefined && settings.budget === null && !settings.front) return null;
  // Processes that search together must weigh candidates alike: the first one measures.
  return told(engine.world, () => measureCandidates(engine, optionsOf(settings, vocabulary), settings.latency));
}

function checkMemories(settings: SearchConfig, tokens: { train: number; valid: number }): void {
  checkReach("memory", settings.memory, { batch: trainingShape(settings).batch, tokens: tokens.train });
  if (settings.evaluationMemory === null) return;
  const { batch, memory } = evaluationShape(settings);
  checkReach("evaluation memory", memory, { batch, tokens: tokens.valid });
}

/** A memory that no row of the text can ever fill is a mistake. */
export function checkReach(who: string, memory: number, { batch, tokens }: { batch: number; tokens: number }): void {
  const row = Math.floor(tokens / batch);
  if (memory <= row) return;
  const needed = `at most ${row} steps: the text has ${tokens} pieces in ${batch} rows`;
  reject({ who, needed, got: `${memory}`, remedy: "shorten the memory or take fewer rows" }, 2);
}

/** Rows of an update and pieces in each. */
const trainingShape = ({ batch, accumulate, length }: SearchConfig) => ({ batch: batch * accumulate, length });

/** Rows, pieces and memory of a batch in evaluation. */
export function evaluationShape(settings: SearchConfig): { batch: number; length: number; memory: number } {
  return {
    batch: settings.evaluationBatch ?? settings.batch,
    length: settings.evaluationLength ?? settings.length,
    memory: settings.evaluationMemory ?? settings.memory,
  };
}

/** A supernet that makes narrower ones of its own kind. */
export type Narrowable<M> = Supernet & { narrowed(alive: Supernet["alive"]): M };

/** The model as it was when a state was stored: with the candidates that were left. */
export function modelAt<M extends Narrowable<M>>(model: M, state: TrainState | undefined): M {
  const alive = state?.progress.notes?.alive as Supernet["alive"] | undefined;
  return alive ? model.narrowed(alive) : model;
}

/** Batches of a split with memory, as the model takes them. */
export async function segmentsOf(
  settings: SearchConfig,
  { corpus, tokenizer, ranks }: RankedText,
  model: ParModel,
  { split, memory, say = () => {} }: { split: Split; memory: number; say?: Say | undefined },
): Promise<Batches> {
  const { batch, length } = split === "train" ? trainingShape(settings) : evaluationShape(settings);
  const repeats = settings.compat || (settings.originalBatches && split !== "train");
  const original = repeats ? { compat: "original" as const } : {};
  const source = await openBatches(corpus, split, tokenizer, { batch, length, warn: say, ...original });
  return rankedSegments(source, model, ranks, memory);
}

/** Ids by rank, rows of each cluster, and how much memory is still empty. */
function rankedSegments(source: BatchSource, model: ParModel, ranks: Int32Array, memory: number): Batches {
  const { count, rows, length } = source;
  let start = 0;
  const before = Int32Array.from({ length: count }, (_, i) => {
    if (source.isFirst(i)) start = i;
    return i - start;
  });
  return {
    count,
    rows,
    length,
    tokens: rows * length,
    at: (index) => {
      const { targets, ...pieces } = source.at(index);
      const ids = pieces.ids.map((id) => ranks[id]!);
      const ranked = targets.map((id) => ranks[id]!);
      const missing = [model.missingAfter(before[index % count]!, length, memory)];
      return { ids, targets: ranked, missing, ...model.rowsOf(ranked) };
    },
  };
}
