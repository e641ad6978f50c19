/** From the config of a search to its parts: data, tokenizer, model, measured costs. */

import { type MeasuredCosts, measureCandidates } from "../../analysis/latency.ts";
import { reject } from "../../base/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import { type ParModel, type ParOptions, parModel } from "../../model/par/par.ts";
import type { BatchSource } from "../../text/batches.ts";
import type { Corpus, Split } from "../../text/corpus.ts";
import { countTokens, frequencyRanks } from "../../text/cutoffs.ts";
import { openCorpus } from "../../text/files/corpus.ts";
import { openBatches } from "../../text/files/tokens.ts";
import { chooseTokenizer } from "../../text/files/trained-tokenizer.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Batches, TextSize } from "../../train/evaluate.ts";
import type { TrainState } from "../../train/events.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import { piecesOf, textSizeOf } from "../text-data.ts";
import { budgetOf } from "./budget.ts";
import { checkConfig } from "./checks.ts";
import { parseCandidates, type SearchConfig, searchDefaults } from "./settings.ts";

export interface SearchSession {
  readonly config: SearchConfig;
  readonly engine: Engine;
  /** With all its candidates. */
  readonly model: ParModel;
  readonly corpus: Corpus;
  readonly tokenizer: OpenTokenizer;
  /** Place of each piece by falling frequency. */
  readonly ranks: Int32Array;
  batches(split: Split, memory: number): Promise<Batches>;
  readonly validSize: TextSize;
  /** What candidates cost on this machine; null where nobody asked. */
  readonly costs: MeasuredCosts | null;
  /** First weights; drawn from the seed where there are none. */
  readonly initial?: ReadonlyMap<ParameterTensor, Float32Array>;
}

export interface Opening {
  /** Costs that were measured before, or `measure`. Default: measured only for a budget. */
  readonly costs?: MeasuredCosts | "measure" | undefined;
}

function optionsOf(config: SearchConfig, vocabulary: number): ParOptions {
  const { width, heads, hidden, blocks, memory, dropout, cutoffs, factor, straightThrough, compat, candidates } =
    config;
  const { adaptiveInput, clampLength, sameLength, trainedTemperature, temperatureStart, temperatureEnd } = config;
  return {
    ...{ vocabulary, width, heads, hidden, blocks, memory, dropout, cutoffs, straightThrough },
    ...{ adaptiveInput, sameLength, clampLength: clampLength ?? undefined },
    initialTemperature: temperatureStart,
    ...(trainedTemperature ? { temperature: "trained" as const } : { finalTemperature: temperatureEnd }),
    projectionFactor: factor,
    projectionSizes: config.projectionSizes ?? undefined,
    compat: compat ? "original" : undefined,
    candidates: candidates === null ? undefined : parseCandidates(candidates),
  };
}

/** Opens what the config names; settings it lacks are the defaults. */
export async function openSearch(
  given: Partial<SearchConfig>,
  engine: Engine,
  { costs: known }: Opening = {},
): Promise<SearchSession> {
  const config: SearchConfig = { ...searchDefaults, ...given };
  checkConfig(config);
  const where = config.data === null ? {} : { data: config.data };
  const corpus = await openCorpus(config.corpus, where);
  const tokenizer = await chooseTokenizer(config.tokenizer ?? undefined, corpus, {
    ...where,
    ...(config.pieces === null ? {} : { pieces: config.pieces }),
  });
  const vocabulary = tokenizer.tokenizer.size;
  const { model, costs } = await modelOf(config, optionsOf(config, vocabulary), engine, known); // mistakes show at once
  const ids = await piecesOf({ corpus, tokenizer }, "train");
  const validSize = await textSizeOf({ corpus, tokenizer }, "valid");
  checkReach("memory", config.memory, { batch: config.batch, tokens: ids.length });
  if (config.evaluationMemory !== null) {
    const { batch, memory } = evaluationShape(config);
    checkReach("evaluation memory", memory, { batch, tokens: validSize.tokens });
  }
  const ranks = config.compat
    ? Int32Array.from({ length: vocabulary }, (_, id) => id)
    : frequencyRanks(countTokens(ids, vocabulary));
  const original = { compat: "original" as const };
  return {
    ...{ config, engine, model, corpus, tokenizer, ranks, validSize, costs },
    batches: async (split, memory) => {
      const repeats = config.compat || (config.originalBatches && split !== "train");
      const shape = split === "train" ? config : evaluationShape(config);
      const { batch, length } = shape;
      const source = await openBatches(corpus, split, tokenizer, { batch, length, ...(repeats ? original : {}) });
      return segmentsOf(source, model, ranks, memory);
    },
  };
}

/** A memory that no row of the text can ever fill is a mistake. */
export function checkReach(who: string, memory: number, { batch, tokens }: { batch: number; tokens: number }): void {
  const row = Math.floor(tokens / batch);
  if (memory <= row) return;
  const needed = `at most ${row} steps: the text has ${tokens} pieces in ${batch} rows`;
  reject({ who, needed, got: `${memory}`, remedy: "shorten the memory or take fewer rows" }, 2);
}

/** Rows, pieces and memory of a batch in evaluation. */
export function evaluationShape(config: SearchConfig): { batch: number; length: number; memory: number } {
  return {
    batch: config.evaluationBatch ?? config.batch,
    length: config.evaluationLength ?? config.length,
    memory: config.evaluationMemory ?? config.memory,
  };
}

async function modelOf(config: SearchConfig, options: ParOptions, engine: Engine, known: Opening["costs"]) {
  const model = parModel(options);
  const wanted = known === "measure" || (known === undefined && config.budget !== null);
  const measured = wanted ? await measureCandidates(engine, options, config.latency) : undefined;
  const costs = measured ?? (known === "measure" ? null : (known ?? null));
  if (config.budget === null || costs === null) return { model, costs };
  const budget = budgetOf(config.budget, config.budgetWeight, model.choices, costs);
  return { model: parModel({ ...options, budget }), costs };
}

/** The places of candidates that a stored search had not cut; undefined where it keeps none. */
export function aliveIn(state: TrainState | undefined): ParModel["alive"] | undefined {
  return state?.progress.notes?.alive as ParModel["alive"] | undefined;
}

/** The model as it was when a state was stored: with the candidates that were left. */
export function modelAt({ model }: Pick<SearchSession, "model">, state: TrainState | undefined): ParModel {
  const alive = aliveIn(state);
  return alive ? model.narrowed(alive) : model;
}

/** Batches as the model takes them: ids by rank, rows of each cluster, and how much memory is still empty. */
function segmentsOf(source: BatchSource, model: ParModel, ranks: Int32Array, memory: number): Batches {
  const { count, rows, length } = source;
  let start = 0;
  const before = Int32Array.from({ length: count }, (_, i) => {
    if (source.isFirst(i)) start = i;
    return i - start;
  });
  return {
    count,
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
