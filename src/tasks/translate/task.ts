/** The translation task: sentence pairs, a joint tokenizer, an encoder–decoder with a plan on each side. */
import { formatNumber } from "../../base/table.ts";
import { type Plan, parsePlan } from "../../depth/plan.ts";
import { cost, gradients, simplify } from "../../graph/index.ts";
import { countParameters, type ModelReport } from "../../model/report.ts";
import { TranslationModel } from "../../model/seq2seq/translation.ts";
import type { Split } from "../../text/files/corpus.ts";
import { jointTokenizer, openPairs, type PairsCorpus, pairsOf } from "../../text/files/pairs.ts";
import { type OpenTokenizer, openTokenizer } from "../../text/files/tokenizer.ts";
import { encodePairs, packBatches, predictedPieces } from "../../text/pairs/packing.ts";
import type { Batches, TextSize } from "../../train/evaluate.ts";
import { commandName } from "../environment.ts";
import { planOf } from "../language/parts.ts";
import type { Config } from "../language/settings.ts";
import type { Say, Task } from "../language/trainable.ts";

export interface TranslateTask extends Task {
  readonly corpus: PairsCorpus;
  readonly model: TranslationModel;
}

const PIECES = 8000;
const LONGEST = 256;

const placeOf = ({ data }: Config) => (data === null ? {} : { data });

/** The pairs a config names. */
export function pairsCorpusOf(config: Config, say: Say): Promise<PairsCorpus> {
  const { corpus, source, target } = config;
  return openPairs(corpus, { ...placeOf(config), source, target, say });
}

export async function openTranslate(config: Config, say: Say, kept?: string): Promise<TranslateTask> {
  const corpus = await pairsCorpusOf(config, say);
  const file = kept ?? config.tokenizer;
  const tokenizer =
    file === null
      ? await jointTokenizer(corpus, { pieces: config.pieces ?? PIECES, say })
      : await openTokenizer(file, placeOf(config));
  const model = translationModelOf(config, tokenizer.tokenizer.size);
  return {
    corpus,
    model,
    tokenizer,
    parameters: model.parameters,
    objective: (size) => model.objective(size),
    batches: async (split, warn) => batchesOf(config, corpus, tokenizer, split, warn),
    textSize: async (split) => textSizeOf(corpus, tokenizer, split),
    report: () => reportOn(model, config.length),
    describe: () => describe(corpus, tokenizer, model),
    afterword: async (path) =>
      [
        "next:",
        `  echo "A dog runs on the beach." | ${commandName()} translate ${path}`,
        `  ${commandName()} translate ${path} --score test`,
        `  ${commandName()} runs show ${path}`,
      ].join("\n"),
  };
}

/** Pre-norm with a norm after each side: it trains without long warm-ups. */
export function translationModelOf(config: Config, vocabulary: number): TranslationModel {
  const { width, heads, hidden, length, dropout, activation, smoothing, decoderPlan } = config;
  const plan = planOf(config);
  return new TranslationModel({
    ...{ vocabulary, width, heads, dropout, activation, smoothing },
    // Positions are not learnt: a sentence to translate may be longer than the rows of training.
    length: Math.max(length, LONGEST),
    hidden: hidden ?? 4 * width,
    encoderPlan: plan,
    decoderPlan: decoderPlan === null ? plan : parsePlan(decoderPlan),
    share: config.parts,
    norms: config.norms,
    normFirst: true,
    norm: true,
  });
}

function batchesOf(
  { batch, length, seed }: Config,
  corpus: PairsCorpus,
  { tokenizer }: OpenTokenizer,
  split: Split,
  warn: Say,
): Batches {
  const pairs = encodePairs(tokenizer, pairsOf(corpus, split));
  const batches = packBatches(pairs, tokenizer, { rows: batch, length, seed, warn });
  return {
    count: batches.length,
    tokens: Math.round(predictedPieces(batches) / batches.length),
    at: (index) => ({ ...batches[index % batches.length]! }),
  };
}

/** Of the target side. */
function textSizeOf(corpus: PairsCorpus, { tokenizer }: OpenTokenizer, split: Split): TextSize {
  const { target } = pairsOf(corpus, split);
  const count = (of: (line: string) => number) => target.reduce((total, line) => total + of(line), 0);
  return {
    tokens: count((line) => tokenizer.encode(line).length + 1),
    words: count((line) => line.match(/\S+/g)?.length ?? 0),
    bytes: count((line) => Buffer.byteLength(line) + 1),
  };
}

/** FLOPs of a forward pass and of a training step, for each place of a row on either side. */
function reportOn(model: TranslationModel, length: number): ModelReport {
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

function describe(corpus: PairsCorpus, { name, tokenizer }: OpenTokenizer, model: TranslationModel) {
  return [
    { what: "pairs", value: `${corpus.name}, ${name} (${formatNumber(tokenizer.size)} pieces)` },
    { what: "encoder plan", value: model.options.encoderPlan.join(" ") },
    { what: "decoder plan", value: model.options.decoderPlan.join(" ") },
  ];
}
