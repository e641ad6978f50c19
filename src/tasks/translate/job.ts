/** The job of translation: sentence pairs, a joint tokenizer, an encoder–decoder with a plan on each side. */

import { type Plan, parsePlan } from "../../depth/plan.ts";
import type { Engine } from "../../engine/engine.ts";
import { sha256 } from "../../files/checksum.ts";
import { cost, gradients, simplify } from "../../graph/index.ts";
import { countParameters, type ModelReport } from "../../model/report.ts";
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
  planOf(asked); // before data are opened
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
    initial,
    report: () => translationReport(model, settings.length),
    facts: [...factsOf(parts), ...evaluatedFact(valid)],
  });
}

function factsOf({ corpus, tokenizer, model }: TranslateParts): Fact[] {
  return [
    textFact(corpus, tokenizer, "pairs"),
    { what: "encoder plan", value: model.options.encoderPlan.join(" ") },
    { what: "decoder plan", value: model.options.decoderPlan.join(" ") },
  ];
}

/** Pre-norm with a norm after each side: it trains without long warm-ups. */
export function translationModelOf(config: TranslateConfig, vocabulary: number): TranslationModel {
  const { width, heads, feedForward, length, dropout, activation, smoothing, decoderPlan } = config;
  const plan = planOf(config);
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
    encoderPlan: plan,
    decoderPlan: decoderPlan === null ? plan : parsePlan(decoderPlan),
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
  const plans = [model.options.encoderPlan, model.options.decoderPlan];
  const total = (of: (plan: Plan) => number) => plans.reduce((sum, plan) => sum + of(plan), 0);
  return {
    parameters: countParameters(model.parameters),
    uniqueBlocks: total((plan) => new Set(plan).size),
    executedDepth: total((plan) => plan.length),
    flopsPerToken: cost(simplify([loss])).flops / length,
    trainingFlopsPerToken: cost(simplify([loss, ...gradients(loss, parameters)])).flops / length,
  };
}
