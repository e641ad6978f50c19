/** From settings to the parts of a pre-training run: texts, tokenizer, model with its heads, optimiser groups. */
import { reject } from "../../base/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import type { AlbertDescription } from "../../model/albert/description.ts";
import type { Parameter } from "../../nn/index.ts";
import { type Corpus, partOf, type Split } from "../../text/corpus.ts";
import { openCorpus } from "../../text/files/corpus.ts";
import { holdsExamples, readPretrainingFiles } from "../../text/files/masked.ts";
import { chooseTokenizer } from "../../text/files/trained-tokenizer.ts";
import { drawnBatches, type MaskedBatches, storedBatches } from "../../text/masked/batches.ts";
import { type Document, documentsOf, type SpecialIds, specialIds } from "../../text/masked/documents.ts";
import type { PretrainingOptions } from "../../text/masked/examples.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import { optimiserGroups } from "../../train/groups.ts";
import type { Group } from "../../train/memory.ts";
import type { Say } from "../job.ts";
import { type Phase, phasesOf } from "./phases.ts";
import type { PretrainingConfig } from "./settings.ts";

export interface MaskedData {
  readonly corpus: Corpus;
  readonly tokenizer: OpenTokenizer;
  readonly special: SpecialIds;
  batches(split: Split, phase: Phase): Promise<MaskedBatches>;
}

/** Seed of the texts to evaluate on: the same for all runs. */
const EVALUATION_SEED = 12345;

/** The corpus and the tokenizer; `kept` is the tokenizer file of an existing run. */
export async function openMaskedData(config: PretrainingConfig, say: Say, kept?: string): Promise<MaskedData> {
  const where = config.data === null ? {} : { data: config.data };
  const corpus = await openCorpus(config.corpus, { ...where, say });
  const tokenizer = await chooseTokenizer(kept ?? config.tokenizer ?? undefined, corpus, {
    ...where,
    ...(config.pieces === null ? {} : { pieces: config.pieces }),
    masked: true,
    say,
  });
  const special = specialIds(tokenizer.tokenizer);
  const documents = new Map<Split, Document[]>();
  const textOf = (split: Split) => {
    const known = documents.get(split) ?? documentsOf(corpus, split, tokenizer);
    documents.set(split, known);
    return known;
  };
  const stored = await holdsExamples(corpus);
  const batches = async (split: Split, phase: Phase) =>
    stored
      ? storedFrom(corpus, split, tokenizer, phase)
      : drawnBatches(textOf(split), tokenizer.tokenizer, {
          ...maskingOf(config, phase, split),
          rows: phase.batch,
          distinctPasses: config.distinctPasses ?? undefined,
        });
  return { corpus, tokenizer, special, batches };
}

function maskingOf(config: PretrainingConfig, { length, predictions }: Phase, split: Split): PretrainingOptions {
  return {
    seed: split === "train" ? config.seed : EVALUATION_SEED,
    length,
    shortProbability: config.shortTexts,
    randomNext: config.randomNext,
    ordered: !config.sentenceOrder,
    maxPredictions: predictions,
    probability: config.maskShare,
    maxNgram: config.maxNgram,
    favourShorter: config.favourShorter,
    wholeWord: config.wholeWord,
  };
}

async function storedFrom(corpus: Corpus, split: Split, { tokenizer }: OpenTokenizer, phase: Phase) {
  const part = partOf(corpus, split);
  const paths = part.kind === "records" ? part.paths : [];
  const examples = [];
  for await (const example of readPretrainingFiles(paths, tokenizer.size)) examples.push(example);
  const batches = storedBatches(examples, phase.batch, `corpus ${corpus.name} / ${split}`);
  const slots = examples[0]!.maskedIds.length;
  if (batches.length !== phase.length || slots !== phase.predictions) {
    const remedy = `give --length ${batches.length} --predictions ${slots}`;
    const needed = `texts of ${phase.length} tokens with ${phase.predictions} masked places`;
    reject({ who: `corpus ${corpus.name}`, needed, got: `${batches.length} with ${slots}`, remedy }, 2);
  }
  return batches;
}

/** A fraction that halting tells from a number of updates, which begins at 1. */
const asFraction = (share: number) => Math.min(share, 1 - Number.EPSILON);

/** The model and its heads as data. */
export function describePretraining(config: PretrainingConfig, vocabulary: number): AlbertDescription {
  const { width, heads, hidden, embedding, depth, activation, positions, dropout } = config;
  const longest = Math.max(...phasesOf(config).map(({ length }) => length));
  if (positions !== null && positions < longest) {
    reject({ who: "pretrain", needed: `positions from ${longest}, the longest text`, got: `${positions}` }, 2);
  }
  if (config.randomNext && !config.sentenceOrder) {
    const remedy = "leave one of the two out";
    reject(
      { who: "pretrain", needed: "--random-next with a task of sentence order", got: "--no-sentence-order", remedy },
      2,
    );
  }
  const halting = {
    epsilon: config.haltEpsilon,
    accumulate: config.accumulateStates,
    haltAtCap: config.haltAtCap,
    biasInitial: config.haltBias,
    stepEmbedding: config.stepEmbedding,
    ponder: config.ponder,
    ponderFrom: asFraction(config.ponderFrom),
    ponderWarmup: asFraction(config.ponderWarmup),
    ponderReduce: config.ponderReduce,
  };
  return {
    model: {
      ...{ vocabulary, width, heads, embedding, depth, activation, dropout, attentionDropout: dropout },
      hidden: hidden ?? 4 * width,
      length: positions ?? longest,
      ...(config.depthPolicy === "adaptive" ? { halting } : {}),
    },
    heads: { maskedLanguage: {}, ...(config.sentenceOrder ? { sentenceOrder: {} } : {}) },
  };
}

/** Matrices decay; biases and norms do not. What decides on depth has a rate of its own, and learns when `unitLearns`. */
export function pretrainingGroups(
  { optimiser, weightDecay, haltRate }: PretrainingConfig,
  parameters: readonly Parameter[],
  engine: Engine,
  unitLearns: (step: number) => boolean,
): Group[] {
  const groups = optimiserGroups(parameters, {
    optimiser,
    weightDecay,
    settings: { adamw: { epsilon: 1e-6, beta2: 0.99 } },
    engine,
    byRole: { halting: { rateFactor: haltRate, active: unitLearns } },
  });
  return groups.filter((group) => group.parameters.length > 0);
}
