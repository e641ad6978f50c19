/** The job of translation: sentence pairs, a joint tokenizer, an encoder–decoder with a plan or a depth in words on each side. */

import { reject } from "../../base/errors.ts";
import { parseDepth, printDepth } from "../../depth/notation.ts";
import { parsePlan } from "../../depth/plan.ts";
import type { DepthPolicy } from "../../depth/policy.ts";
import { type DepthUse, usedDepths } from "../../depth/use.ts";
import type { Engine } from "../../engine/engine.ts";
import { sha256 } from "../../files/checksum.ts";
import { cost, gradients, simplify } from "../../graph/index.ts";
import { countParameters, type ModelReport } from "../../model/report.ts";
import type { SideDepths } from "../../model/seq2seq/sides.ts";
import { TranslationModel } from "../../model/seq2seq/translation.ts";
import type { Split } from "../../text/corpus.ts";
import { jointTokenizer, openPairs, pairsOf } from "../../text/files/pairs.ts";
import { openTokenizer } from "../../text/files/tokenizer.ts";
import { encodePairs, packBatches, predictedPieces } from "../../text/pairs/packing.ts";
import type { PairsCorpus } from "../../text/pairs/pairs-corpus.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Batches, TextSize } from "../../train/evaluate.ts";
import { defaultEngine } from "../engine.ts";
import { evaluatedFact, evaluatedPart } from "../evaluate.ts";
import { textFact } from "../facts.ts";
import { translationGroups } from "../groups.ts";
import { initialFrom } from "../initial.ts";
import type { Fact, Handed, Job, Say } from "../job.ts";
import { planOf } from "../language/job.ts";
import { type Given, MEMORY, refuseMemory, tokenizerWatch } from "../text-data.ts";
import { type TrainedModel, trainedJob } from "../trained-job.ts";
import { type TranslateConfig, translateSettings } from "./settings.ts";

/** A translation model, opened with its sentence pairs. */
export interface TranslateParts {
  readonly settings: TranslateConfig;
  readonly corpus: PairsCorpus;
  readonly tokenizer: OpenTokenizer;
  readonly model: TranslationModel;
  readonly engine: Engine;
}

/** What a program hands over instead of names. */
export interface TranslateGiven extends Handed, Pick<Given, "onTokenizer"> {
  readonly tokenizer?: OpenTokenizer | undefined;
  /** Sentence pairs in memory, or opened before. */
  readonly pairs?: PairsCorpus | undefined;
}

const PIECES = 8000;
const LONGEST = 256;

const placeOf = ({ data }: TranslateConfig) => (data === null ? {} : { data });

/** The pairs that settings name. */
export function pairsCorpusOf(settings: TranslateConfig, say: Say = () => {}): Promise<PairsCorpus> {
  const { corpus, source, target } = settings;
  refuseMemory(corpus, "pairs");
  return openPairs(corpus, { ...placeOf(settings), source, target, say });
}

async function tokenizerOf(
  settings: TranslateConfig,
  corpus: PairsCorpus,
  given: TranslateGiven,
): Promise<OpenTokenizer> {
  if (settings.tokenizer !== null) return openTokenizer(settings.tokenizer, placeOf(settings));
  const made = await jointTokenizer(corpus, { pieces: settings.pieces ?? PIECES, ...tokenizerWatch(given) });
  given.onTokenizer?.(null);
  return made;
}

/** How settings call pairs that a program handed over. */
const namesOf = ({ name, folder, sourceLanguage: source, targetLanguage: target }: PairsCorpus) => ({
  corpus: folder ?? `${MEMORY}${name}`,
  source,
  target,
});

/** Opens pairs, tokenizer, model and engine. */
export async function openTranslate(asked: TranslateConfig, given: TranslateGiven = {}): Promise<TranslateParts> {
  translationModelOf(asked, 1); // mistakes show before data are opened
  const corpus = given.pairs ?? (await pairsCorpusOf(asked, given.say));
  const settings = given.pairs ? { ...asked, ...namesOf(given.pairs) } : asked;
  const tokenizer = given.tokenizer ?? (await tokenizerOf(settings, corpus, given));
  const model = translationModelOf(settings, tokenizer.tokenizer.size);
  return { settings, corpus, tokenizer, model, engine: given.engine ?? (await defaultEngine(settings)) };
}

/** The job that trains it. */
export async function translateJob(
  parts: TranslateParts,
  say: Say = () => {},
): Promise<Job<TrainedModel<TranslationModel>>> {
  const { corpus, tokenizer, model, engine } = parts;
  const { settings, initial } = await initialFrom(parts.settings, model.parameters, say);
  const all = batchesOf(settings, corpus, tokenizer, "valid", say);
  const valid = evaluatedPart(all, settings.evaluateTokens, "valid");
  return trainedJob({
    settings,
    config: translateSettings.yaml(settings),
    text: sha256(JSON.stringify([pairsOf(corpus, "train"), pairsOf(corpus, "valid")])),
    engine,
    model,
    tokenizer,
    data: {
      train: batchesOf(settings, corpus, tokenizer, "train", say),
      valid: valid.batches,
    },
    validText: textSizeOf(corpus, tokenizer, "valid"),
    groups: translationGroups(settings, model.parameters, engine),
    ...depthMetrics(model, settings),
    initial,
    report: () => translationReport(model, settings.length),
    facts: [...factsOf(parts), ...evaluatedFact(valid)],
  });
}

function factsOf({ corpus, tokenizer, model }: TranslateParts): Fact[] {
  return [
    textFact(corpus, tokenizer, "pairs"),
    sideFact("encoder", model.options.encoderPlan ?? model.options.encoderDepth, model.encoder),
    sideFact("decoder", model.options.decoderPlan ?? model.options.decoderDepth, model.decoder),
  ];
}

/** How deep a side is: the order of its blocks, or its depth in words. */
function sideFact(side: string, depth: SideDepths[keyof SideDepths], policy: DepthPolicy): Fact {
  if (Array.isArray(depth)) return { what: `${side} plan`, value: depth.join(" ") };
  const { depth: most, unique = most } = policy;
  return { what: `${side} depth`, value: `${depth}: ${most} at most (${unique} own weights)` };
}

/** The mean depth of each side's tokens in evaluations, where they choose it. */
function depthMetrics(model: TranslationModel, { batch, length }: TranslateConfig) {
  const { outputs } = model.objective({ batch, length, training: false });
  const names = Object.keys(outputs ?? {});
  const read = (name: string) => (found: Readonly<Record<string, { data: ArrayLike<number> }>>) =>
    found[name]!.data[0]!;
  return names.length > 0 ? { metrics: Object.fromEntries(names.map((name) => [name, read(name)])) } : {};
}

/** Settings of the same weights with what is changed at use time, on each side that has the words. */
export function inUse(settings: TranslateConfig, use: DepthUse): TranslateConfig {
  const { depth, decoderDepth } = settings;
  const own = { depth, ...(decoderDepth === null ? {} : { decoderDepth }) };
  const written = Object.entries(own).filter(([, text]) => typeof text === "string");
  if (written.length === 0) {
    const remedy = "leave it out, or train with a depth such as 2*3 halt";
    reject({ who: Object.keys(use).join(", "), needed: "a depth in words", got: `${depth}`, remedy }, 2);
  }
  const depths = written.map(([, text]) => parseDepth(`${text}`));
  const used = usedDepths(depths, use).map(printDepth);
  return { ...settings, ...Object.fromEntries(written.map(([key], i) => [key, used[i]!])) };
}

/** How deep both sides are; the decoder as the encoder, unless it has a depth or plan of its own. */
function depthsOf(config: TranslateConfig): SideDepths {
  const { depth, decoderDepth, decoderPlan } = config;
  const both = typeof depth === "string" ? { encoderDepth: depth } : { encoderPlan: planOf(config) };
  if (decoderDepth !== null) return { ...both, decoderDepth: `${decoderDepth}` };
  if (decoderPlan !== null) return { ...both, decoderPlan: parsePlan(decoderPlan) };
  return { ...both, decoderDepth: both.encoderDepth, decoderPlan: both.encoderPlan };
}

/** Pre-norm with a norm after each side: it trains without long warm-ups. */
export function translationModelOf(config: TranslateConfig, vocabulary: number): TranslationModel {
  const { width, heads, feedForward, length, dropout, activation, smoothing } = config;
  return new TranslationModel({
    vocabulary,
    width,
    heads,
    dropout,
    activation,
    smoothing,
    // Positions are not learnt: a sentence to translate may be longer than the rows of training.
    length: Math.max(length, LONGEST),
    hidden: feedForward ?? 4 * width,
    ...depthsOf(config),
    ...(config.norm === "layer" ? {} : { normKind: config.norm }),
    ...(config.gated ? { gated: true } : {}),
    ...(config.untied ? { tied: false } : {}),
    share: config.parts,
    norms: config.norms,
    normFirst: true,
    norm: true,
  });
}

/** Batches of pairs of similar length. */
export function batchesOf(
  { batch, length, seed }: TranslateConfig,
  corpus: PairsCorpus,
  { tokenizer }: OpenTokenizer,
  split: Split,
  warn: Say,
): Batches {
  const pairs = encodePairs(tokenizer, pairsOf(corpus, split));
  const batches = packBatches(pairs, tokenizer, { rows: batch, length, seed, warn });
  return {
    count: batches.length,
    rows: batch,
    length,
    tokens: Math.round(predictedPieces(batches) / batches.length),
    at: (index) => ({ ...batches[index % batches.length]! }),
  };
}

/** Of the target side. */
export function textSizeOf(corpus: PairsCorpus, { tokenizer }: OpenTokenizer, split: Split): TextSize {
  const { target } = pairsOf(corpus, split);
  const count = (of: (line: string) => number) => target.reduce((total, line) => total + of(line), 0);
  return {
    tokens: count((line) => tokenizer.encode(line).length + 1),
    words: count((line) => line.match(/\S+/g)?.length ?? 0),
    bytes: count((line) => Buffer.byteLength(line) + 1),
  };
}

/** FLOPs of a forward pass and of a training step, for each place of a row on either side. */
export function translationReport(model: TranslationModel, length: number): ModelReport {
  const { loss } = model.objective({ batch: 1, length, training: true });
  const parameters = model.parameters.map(({ tensor }) => tensor);
  return {
    parameters: countParameters(model.parameters),
    uniqueBlocks: model.uniqueLayers,
    executedDepth: model.encoder.depth + model.decoder.depth,
    flopsPerToken: cost(simplify([loss])).flops / length,
    trainingFlopsPerToken: cost(simplify([loss, ...gradients(loss, parameters)])).flops / length,
  };
}
