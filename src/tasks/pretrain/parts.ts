/** From settings to the parts of a pre-training run: texts, tokenizer, model with its heads, optimiser groups. */
import { reject } from "../../base/errors.ts";
import { patternBlocks } from "../../depth/pattern.ts";
import type { Engine } from "../../engine/engine.ts";
import type { AlbertDescription } from "../../model/albert/description.ts";
import { SHOWN_PAIRS } from "../../model/albert/document-words.ts";
import type { EncoderStyle } from "../../model/albert/written.ts";
import { PAIR_WEIGHT, type Parameter } from "../../nn/index.ts";
import { type Corpus, partOf, type Split } from "../../text/corpus.ts";
import { openDocuments } from "../../text/files/documents.ts";
import { holdsExamples, readPretrainingFiles } from "../../text/files/masked.ts";
import { drawnBatches, type MaskedBatches, storedBatches } from "../../text/masked/batches.ts";
import { documentWordBatches } from "../../text/masked/document-words.ts";
import { type SpecialIds, specialIds } from "../../text/masked/documents.ts";
import type { PretrainingOptions } from "../../text/masked/examples.ts";
import { packedBatches } from "../../text/masked/packed.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import { type OwnGroup, optimiserGroups } from "../../train/groups.ts";
import type { Group } from "../../train/memory.ts";
import { adamw } from "../../train/optimiser.ts";
import { parseCandidates } from "../search/candidates.ts";
import { type Given, openData } from "../text-data.ts";
import { type Phase, type PhaseTask, phasesOf } from "./phases.ts";
import { type PretrainingConfig, pretrainDefaults, searchKeys } from "./settings.ts";

/** The texts of a pre-training; batches of a phase are drawn once. */
export interface MaskedData {
  readonly corpus: Corpus;
  readonly tokenizer: OpenTokenizer;
  readonly special: SpecialIds;
  batches(split: Split, phase: Phase): Promise<MaskedBatches>;
}

/** Seed of the texts to evaluate on: the same for all runs. */
const EVALUATION_SEED = 12345;

/** The corpus and the tokenizer that settings name, or that were given. */
export async function openMaskedData(config: PretrainingConfig, given: Given = {}): Promise<MaskedData> {
  const { corpus, tokenizer } = await openData(config, given, true);
  const special = specialIds(tokenizer.tokenizer);
  const stored = await holdsExamples(corpus);
  if (stored) refuseRunning(config, corpus);
  const { lineDocuments } = config;
  const documents = remembered((split: Split) =>
    openDocuments(corpus, split, tokenizer, { lineDocuments, warn: given.say }),
  );
  const drawn = async (split: Split, phase: Phase) => {
    const options = {
      ...maskingOf(config, phase, split),
      rows: phase.batch,
      distinctPasses: config.distinctPasses ?? undefined,
    };
    if (phase.task === "document") {
      const pairs = config.pairs > 0 ? SHOWN_PAIRS : 0;
      return documentWordBatches(await documents(split), tokenizer.tokenizer, { ...options, pairs });
    }
    return isPacked(config, phase)
      ? packedBatches(await documents(split), tokenizer.tokenizer, { ...options, causal: phase.task === "next" })
      : drawnBatches(await documents(split), tokenizer.tokenizer, options);
  };
  const batches = remembered(async (split: Split, phase: Phase) =>
    stored ? storedFrom(corpus, split, tokenizer, phase) : drawn(split, phase),
  );
  return { corpus, tokenizer, special, batches };
}

/** Whether a phase reads its documents as running text. */
const isPacked = ({ packed }: PretrainingConfig, { task }: Phase) => packed || task === "next";

/** Whether the batches of a phase are functions of their place alone; others are cheapest in rising order, counted over all phases. */
export const isPlaced = (config: PretrainingConfig, phase: Phase): boolean =>
  isPacked(config, phase) || phase.task === "document";

/** Stored examples are cut and masked already. */
function refuseRunning({ packed, causalShare, documentShare }: PretrainingConfig, { name }: Corpus): void {
  if (!packed && causalShare + documentShare === 0) return;
  const share = causalShare > 0 ? `--causal-share ${causalShare}` : `--document-share ${documentShare}`;
  const got = packed ? "--packed" : share;
  reject(
    { who: `corpus ${name}`, needed: "text that is still to be cut and masked", got: `stored examples and ${got}` },
    2,
  );
}

/** The same function; what it gave once it gives again. */
function remembered<A extends readonly unknown[], T>(of: (...args: A) => T): (...args: A) => T {
  const known = new Map<string, T>();
  return (...args) => {
    const key = JSON.stringify(args);
    if (!known.has(key)) known.set(key, of(...args));
    return known.get(key)!;
  };
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
  const { width, heads, feedForward, embedding, depth, activation, positions, dropout } = config;
  const longest = Math.max(...phasesOf(config).map(({ length }) => length));
  if (positions !== null && positions < longest) {
    reject({ who: "pretrain", needed: `positions from ${longest}, the longest text`, got: `${positions}` }, 2);
  }
  refuseOrder(config);
  refuseShares(config);
  checkBlocks(config);
  const blocks = blocksOf(config);
  const isWritten = typeof depth === "string";
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
      vocabulary,
      width,
      heads,
      embedding,
      depth: blocks?.count ?? depth,
      activation,
      dropout,
      attentionDropout: dropout,
      hidden: feedForward ?? 4 * width,
      length: positions ?? longest,
      ...(config.pairs > 0 ? { pairs: config.pairs } : {}),
      ...(config.depthPolicy === "adaptive" && !isWritten ? { halting } : {}),
      ...blocks?.options,
      ...styleOf(config),
    },
    heads: { maskedLanguage: {}, ...(config.sentenceOrder ? { sentenceOrder: {} } : {}) },
  };
}

/** What sets newer blocks apart, as far as it is asked for. */
function styleOf({ norm, keyHeads, queryKeyNorm, gated, withoutBias, rotary, depth }: PretrainingConfig): EncoderStyle {
  const style = {
    ...(norm === "layer" ? {} : { norm }),
    ...(keyHeads === null ? {} : { keyHeads }),
    ...(queryKeyNorm ? { queryKeyNorm } : {}),
    ...(gated ? { gated } : {}),
    ...(withoutBias ? { bias: false } : {}),
    ...(rotary ? { rotary } : {}),
  };
  const [got] = Object.keys(style);
  if (got === undefined || typeof depth === "string") return style;
  const remedy = `write --depth "1*${depth}" for one block that is shared, "${depth}*1" for ${depth} with weights of their own`;
  const needed = "a depth in words for newer blocks";
  return reject({ who: "pretrain", needed, got: `${got} with depth ${depth}`, remedy }, 2);
}

/** The blocks of an encoder that has its own, and how many there are. */
function blocksOf({ blocks, search, candidates, temperatureStart, temperatureEnd }: PretrainingConfig) {
  if (blocks === null) return undefined;
  const count = typeof blocks === "number" ? blocks : patternBlocks(blocks).length;
  if (!search) return { count, options: { blocks: String(blocks) } };
  const offered = candidates === null ? {} : { candidates: parseCandidates(candidates) };
  const searched = { ...offered, initialTemperature: temperatureStart, finalTemperature: temperatureEnd };
  return { count, options: { blocks, searched } };
}

/** Blocks run once and own their weights; a search has one phase of so many updates. */
function checkBlocks(config: PretrainingConfig): void {
  const { search, blocks, depthPolicy, longLength, causalShare, documentShare, steps, epochs } = config;
  if (!search) {
    const alone = searchKeys.find((key) => `${Reflect.get(config, key)}` !== `${Reflect.get(pretrainDefaults, key)}`);
    if (alone !== undefined) reject({ who: "pretrain", needed: `${alone} with search`, got: "no search" }, 2);
    if (typeof blocks === "number") {
      const remedy = "give a pattern, or --search to find one";
      reject({ who: "blocks", needed: "a pattern such as (sff)x2", got: `${blocks}`, remedy }, 2);
    }
  }
  if (blocks !== null && depthPolicy === "adaptive") {
    const remedy = "leave blocks or halting out";
    reject({ who: "blocks", needed: "a fixed depth: blocks run once", got: "depth policy adaptive", remedy }, 2);
  }
  if (!search) return;
  const got = [
    ...(typeof blocks === "string" ? [`the pattern ${blocks}`] : []),
    ...(longLength === null ? [] : ["long texts"]),
    ...(causalShare > 0 ? ["next words first"] : []),
    ...(documentShare > 0 ? ["words of documents first"] : []),
    ...(steps === null && epochs === null ? ["minutes"] : []),
  ];
  if (got.length === 0) return;
  const remedy = "leave it out of the search, and train what is found with it";
  const needed = "blocks to choose, one phase, a number of updates";
  reject({ who: "pretrain --search", needed, got: got.join(", "), remedy }, 2);
}

/** The order of sentences needs sentences in pairs. */
function refuseOrder({ randomNext, sentenceOrder, packed }: PretrainingConfig): void {
  const remedy = "leave one of the two out";
  if (randomNext && !sentenceOrder) {
    const needed = "--random-next with a task of sentence order";
    reject({ who: "pretrain", needed, got: "--no-sentence-order", remedy }, 2);
  }
  if (packed && sentenceOrder) {
    const remedy = "give --no-sentence-order too";
    reject({ who: "pretrain", needed: "--packed without a task of sentence order", got: "both", remedy }, 2);
  }
}

/** Masked words need updates of their own between what comes before them and long texts. */
function refuseShares({ documentShare, causalShare, longLength, longShare, tableRate }: PretrainingConfig): void {
  if (tableRate !== 1 && documentShare === 0) {
    const remedy = "give --document-share too, or leave it out";
    reject({ who: "pretrain", needed: "--table-rate after words of documents", got: "no such words", remedy }, 2);
  }
  const shares = { "--document-share": documentShare, "--causal-share": causalShare, "--long-share": longShare };
  const given = Object.entries(shares).filter(([name, share]) =>
    name === "--long-share" ? longLength !== null : share > 0,
  );
  if (given.reduce((sum, [, share]) => sum + share, 0) < 1) return;
  const needed = `${given.map(([name]) => name).join(" and ")} below 1 together`;
  reject(
    { who: "pretrain", needed, got: given.map(([, share]) => share).join(" and "), remedy: "lower one of them" },
    2,
  );
}

/** Who learns in a phase. */
interface Learning {
  readonly task: PhaseTask;
  readonly unitLearns: (step: number) => boolean;
  readonly architecture?: OwnGroup | undefined;
}

/**
 * Matrices decay; biases and norms do not. What decides on depth has a rate of its own, and learns when `unitLearns`. Words of documents
 * move the tables and the norm behind them alone: both have groups of their own where such a phase comes first. They alone move pairs.
 */
export function pretrainingGroups(
  { optimiser, weightDecay, haltRate, documentShare, tableRate }: PretrainingConfig,
  parameters: readonly Parameter[],
  engine: Engine,
  { task, unitLearns, architecture }: Learning,
): Group[] {
  const settings = { adamw: { epsilon: 1e-6, beta2: 0.99 } };
  const rests = task === "document";
  const table = {
    optimiser: adamw({ ...settings.adamw, weightDecay }),
    active: () => true,
    ...(rests ? {} : { rateFactor: tableRate }),
  };
  const norm = { optimiser: adamw({ ...settings.adamw, weightDecay: 0 }), active: () => true };
  const isPairs = ({ name }: Parameter) => name === PAIR_WEIGHT;
  const pairs = parameters.filter(isPairs).map(({ tensor }) => tensor);
  const others = parameters.filter((each) => !isPairs(each));
  const groups = optimiserGroups(others, {
    optimiser,
    weightDecay,
    settings,
    engine,
    ...(rests ? { active: () => false } : {}),
    byRole: {
      halting: { rateFactor: haltRate, active: (step) => !rests && unitLearns(step) },
      ...(architecture ? { architecture } : {}),
      ...(documentShare > 0 ? { table, norm } : {}),
    },
  });
  // Layers do not read pairs, so masked words would only let them decay.
  const ofPairs = { parameters: pairs, optimiser: table.optimiser, active: () => rests };
  return [...groups, ofPairs].filter((group) => group.parameters.length > 0);
}
