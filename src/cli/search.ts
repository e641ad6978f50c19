/** A search over the blocks of a PAR Transformer-XL: opens data and model, trains weights and architecture together, reports. */
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { reject } from "../base/errors.ts";
import { formatNumber } from "../base/table.ts";
import { annealedTemperature } from "../depth/searched.ts";
import type { Engine } from "../engine/engine.ts";
import { writeAtomically } from "../files/atomic.ts";
import { type ParModel, type ParOptions, parModel } from "../model/par.ts";
import { initialise } from "../nn/index.ts";
import type { RunFolder } from "../runs/folder.ts";
import type { BatchSource } from "../text/batches.ts";
import { type Corpus, openCorpus, type Split } from "../text/corpus.ts";
import { countTokens, frequencyRanks } from "../text/cutoffs.ts";
import type { OpenTokenizer } from "../text/tokenizerfile.ts";
import { openBatches, tokensOf } from "../text/tokens.ts";
import { chooseTokenizer } from "../text/trainedtokenizer.ts";
import { type Batches, figures, type TextSize } from "../train/evaluate.ts";
import type { TrainEvent, TrainState } from "../train/events.ts";
import { type Length, train } from "../train/loop.ts";
import type { Group, ParameterTensor } from "../train/memory.ts";
import { adam, adamw } from "../train/optimiser.ts";
import { alternation, type Phases, Settled } from "../train/phases.ts";
import { RecurrentEvaluator } from "../train/recurrent.ts";
import { schedule } from "../train/schedule.ts";
import { TrainingStep } from "../train/step.ts";
import { heatMap } from "./heatmap.ts";

/** Everything a search is told; plain data, kept in its folder. */
export interface SearchConfig {
  corpus: string;
  /** None: the data's own, or one trained on the text. */
  tokenizer: string | null;
  /** Vocabulary size of a trained tokenizer. */
  pieces: number | null;
  data: string | null;
  blocks: number | string;
  width: number;
  heads: number;
  hidden: number;
  memory: number;
  /** Memory in evaluation. */
  evaluationMemory: number | null;
  dropout: number;
  batch: number;
  length: number;
  cutoffs: number[];
  factor: number;
  straightThrough: boolean;
  temperatureStart: number;
  temperatureEnd: number;
  rate: number;
  warmup: number;
  weightDecay: number;
  clipNorm: number;
  steps: number | null;
  epochs: number | null;
  evaluateEvery: number;
  checkpointEvery: number;
  seed: number;
  compat: boolean;
  /** `joint`: all together, as the original; `alternate`: by turns after a freeze, as the paper. */
  procedure: "joint" | "alternate";
  /** Highest learning rate of the architecture; none: that of the weights. */
  architectureRate: number | null;
  /** Part of the updates before the architecture moves, where they alternate. */
  freeze: number;
  /** Evaluate on the original's batches, whose last ones repeat tokens. */
  originalBatches: boolean;
}

export interface SearchSession {
  readonly config: SearchConfig;
  readonly engine: Engine;
  readonly model: ParModel;
  readonly corpus: Corpus;
  readonly tokenizer: OpenTokenizer;
  /** Place of each piece by falling frequency. */
  readonly ranks: Int32Array;
  batches(split: Split, memory: number): Promise<Batches>;
  readonly validSize: TextSize;
  /** First weights; drawn from the seed where there are none. */
  readonly initial?: ReadonlyMap<ParameterTensor, Float32Array>;
}

function optionsOf(config: SearchConfig, vocabulary: number): ParOptions {
  const { width, heads, hidden, blocks, memory, dropout, cutoffs, factor, straightThrough, compat } = config;
  return {
    ...{ vocabulary, width, heads, hidden, blocks, memory, dropout, cutoffs, straightThrough },
    projectionFactor: factor,
    compat: compat ? "original" : undefined,
  };
}

export async function openSearch(config: SearchConfig, engine: Engine): Promise<SearchSession> {
  lengthOf(config);
  temperatureOf(config, 1);
  const where = config.data === null ? {} : { data: config.data };
  const corpus = await openCorpus(config.corpus, where);
  const tokenizer = await chooseTokenizer(config.tokenizer ?? undefined, corpus, {
    ...where,
    ...(config.pieces === null ? {} : { pieces: config.pieces }),
  });
  const vocabulary = tokenizer.tokenizer.size;
  const model = parModel(optionsOf(config, vocabulary)); // before the tokens: mistakes show at once
  const { ids } = await tokensOf(corpus, "train", tokenizer);
  const ranks = config.compat
    ? Int32Array.from({ length: vocabulary }, (_, id) => id)
    : frequencyRanks(countTokens(ids, vocabulary));
  const { batch, length } = config;
  const original = { compat: "original" as const };
  return {
    ...{ config, engine, model, corpus, tokenizer, ranks },
    batches: async (split, memory) => {
      const repeats = config.compat || (config.originalBatches && split !== "train");
      const source = await openBatches(corpus, split, tokenizer, { batch, length, ...(repeats ? original : {}) });
      return segmentsOf(source, model, ranks, memory);
    },
    validSize: await sizeOf(corpus, tokenizer),
  };
}

async function sizeOf(corpus: Awaited<ReturnType<typeof openCorpus>>, tokenizer: OpenTokenizer): Promise<TextSize> {
  const { ids } = await tokensOf(corpus, "valid", tokenizer);
  const text = tokenizer.tokenizer.decode(ids);
  return { tokens: ids.length, words: text.match(/\S+/g)?.length ?? 0, bytes: Buffer.byteLength(text) };
}

/** Batches as the model takes them: ids by rank, rows of each cluster, and how much memory is still empty. */
function segmentsOf(source: BatchSource, model: ParModel, ranks: Int32Array, memory: number): Batches {
  const { count, rows, length } = source;
  let start = 0;
  const before = Int32Array.from({ length: count }, (_, i) => {
    if (source.at(i).first) start = i;
    return i - start;
  });
  return {
    count,
    tokens: rows * length,
    at: (index) => {
      const { inputs, targets } = source.at(index);
      const ids = inputs.map((id) => ranks[id]!);
      const ranked = targets.map((id) => ranks[id]!);
      const missing = [model.missingAfter(before[index % count]!, length, memory)];
      return { ids, targets: ranked, missing, ...model.rowsOf(ranked) };
    },
  };
}

/** Length and turns of a search, once the number of updates is known. */
interface Course {
  readonly total: number;
  /** Updates before the architecture moves. */
  readonly frozen: number;
  readonly phases: Phases | undefined;
}

function courseOf(config: SearchConfig, perEpoch: number): Course {
  const length = lengthOf(config);
  const total = "steps" in length ? length.steps : Math.max(1, Math.floor(length.epochs * perEpoch));
  if (config.procedure === "joint") return { total, frozen: 0, phases: undefined };
  const frozen = Math.floor(config.freeze * total);
  const period = Math.max(2, Math.min(perEpoch, Math.ceil((total - frozen) / 10)));
  return { total, frozen, phases: alternation({ freeze: frozen, period }) };
}

/** The paper's decay of the architecture, which has an optimiser of its own there. */
const ARCHITECTURE_DECAY = 5e-4;

/** Matrices decay; biases and norms do not. The architecture has its own rate, and its own turns where they alternate. */
function groupsOf(model: ParModel, { weightDecay, rate, architectureRate }: SearchConfig, { phases }: Course): Group[] {
  const architecture = new Set(model.policy.architecture.map(({ tensor }) => tensor));
  const moments = { beta1: 0.9, beta2: 0.98 };
  const weights = model.parameters.map(({ tensor }) => tensor).filter((tensor) => !architecture.has(tensor));
  const isMatrix = (tensor: ParameterTensor) => tensor.attributes.shape.length > 1;
  const turn = (active?: (step: number) => boolean) => (active ? { active } : {});
  const decay = phases ? ARCHITECTURE_DECAY : 0;
  const groups: Group[] = [
    { parameters: weights.filter(isMatrix), optimiser: adamw({ ...moments, weightDecay }), ...turn(phases?.weights) },
    {
      parameters: weights.filter((tensor) => !isMatrix(tensor)),
      optimiser: adamw({ ...moments, weightDecay: 0 }),
      ...turn(phases?.weights),
    },
    {
      parameters: [...architecture],
      optimiser: adam({ ...moments, weightDecay: decay }),
      rateFactor: (architectureRate ?? rate) / rate,
      ...turn(phases?.architecture),
    },
  ];
  return groups.filter(({ parameters }) => parameters.length > 0);
}

/** What a search ends with. */
export interface Found {
  readonly pattern: string;
  readonly probabilities: readonly (readonly number[])[];
  readonly steps: number;
  readonly elapsedMs: number;
  /** exp(mean loss) per piece. */
  readonly perplexity: number;
  /** The original's figure: the mean of exp(batch loss). */
  readonly meanBatchPerplexity: number;
  /** The same with Gumbel noise at the last temperature, as the original evaluates; null where nothing is drawn. */
  readonly noisyMeanBatchPerplexity: number | null;
}

/** Perplexities over the valid batches, without noise. */
export async function evaluateOn(
  evaluator: RecurrentEvaluator,
  weights: ReadonlyMap<ParameterTensor, Float32Array>,
  valid: Batches,
  temperature = 1,
): Promise<{ loss: number; meanBatchPerplexity: number }> {
  const losses = await evaluator.losses(weights, valid, { temperature: [temperature] });
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return { loss: mean(losses), meanBatchPerplexity: mean(losses.map(Math.exp)) };
}

export type Tell = (text: string) => void;

/** Trains weights and architecture, together or by turns, and yields the loop's events on the way. */
export async function* search(
  session: SearchSession,
  tell: Tell,
  resume?: TrainState,
): AsyncGenerator<TrainEvent, Found, void> {
  const { config, engine, model, validSize } = session;
  const { batch, length, memory, seed, clipNorm } = config;
  const evaluationMemory = config.evaluationMemory ?? memory;
  const [training, valid] = [await session.batches("train", memory), await session.batches("valid", evaluationMemory)];
  const course = courseOf(config, training.count);
  const step = await TrainingStep.create({
    engine,
    ...model.objective({ batch, length, training: true }),
    probes: {},
    groups: groupsOf(model, config, course),
    initial: session.initial ?? initialise(model.parameters, seed),
    ...{ seed, clipNorm },
  });
  const plain = model.objective({ batch, length, memory: evaluationMemory, training: false });
  const evaluator = await RecurrentEvaluator.create(engine, plain);
  let last = { loss: Number.NaN, meanBatchPerplexity: Number.NaN };
  const settled = new AbortController();
  const choice = new Settled({ from: course.frozen, total: course.total });
  const events = train({
    ...{ step, batches: training, seed },
    length: lengthOf(config),
    schedule: (total) => schedule("cosine", { rate: config.rate, total, warmup: Math.min(config.warmup, total) }),
    scalars: (total) => {
      const temperatureAt = temperatureOf(config, total);
      return (at) => ({ temperature: temperatureAt(at) });
    },
    shuffle: false,
    accumulate: 1,
    evaluate: async () => {
      last = await evaluateOn(evaluator, step.weights, valid);
      return figures(last.loss, valid.count * valid.tokens, validSize);
    },
    evaluateEvery: config.evaluateEvery,
    checkpointEvery: config.checkpointEvery,
    signal: settled.signal,
    ...(resume ? { resume } : {}),
  });
  let [steps, elapsedMs] = [0, 0];
  try {
    for await (const event of events) {
      yield event;
      if (event.type === "step" && course.phases && choice.see(event.step, model.policy.pattern(step.weights))) {
        settled.abort();
      }
      if (event.type === "evaluation") tell(picture(model, step.weights, event.step, last));
      if (event.type === "end") [steps, elapsedMs] = [event.step, event.elapsedMs];
    }
    if (Number.isNaN(last.loss) || settled.signal.aborted) last = await evaluateOn(evaluator, step.weights, valid);
    const probabilities = model.policy.probabilities(step.weights);
    const { meanBatchPerplexity } = last;
    const pattern = model.policy.pattern(step.weights);
    const noisyMeanBatchPerplexity = await noisyFigure(session, step.weights, valid, temperatureOf(config, 1)(1));
    const perplexity = Math.exp(last.loss);
    return { pattern, probabilities, steps, elapsedMs, perplexity, meanBatchPerplexity, noisyMeanBatchPerplexity };
  } finally {
    await Promise.all([step.release(), evaluator.release()]);
  }
}

/** The mean of exp(batch loss) with noise, where blocks have a choice. */
async function noisyFigure(
  { config, engine, model }: SearchSession,
  weights: ReadonlyMap<ParameterTensor, Float32Array>,
  valid: Batches,
  temperature: number,
): Promise<number | null> {
  if (model.policy.architecture.length === 0) return null;
  const { batch, length, evaluationMemory, memory } = config;
  const run = { batch, length, memory: evaluationMemory ?? memory, training: false, noisy: true };
  const evaluator = await RecurrentEvaluator.create(engine, model.objective(run));
  try {
    return (await evaluateOn(evaluator, weights, valid, temperature)).meanBatchPerplexity;
  } finally {
    await evaluator.release();
  }
}

function temperatureOf({ temperatureStart, temperatureEnd, compat }: SearchConfig, total: number) {
  const formula = compat ? ("original" as const) : undefined;
  return annealedTemperature({ start: temperatureStart, end: temperatureEnd, total, compat: formula });
}

function lengthOf({ steps, epochs }: SearchConfig): Exclude<Length, { minutes: number }> {
  if (steps !== null && epochs !== null) {
    reject({ who: "search", needed: "--steps or --epochs", got: "both", remedy: "give one" }, 2);
  }
  return steps === null ? { epochs: epochs ?? 1 } : { steps };
}

/** π as a heat map, with the figures of the moment. */
function picture(
  model: ParModel,
  weights: ReadonlyMap<ParameterTensor, Float32Array>,
  step: number,
  { loss, meanBatchPerplexity }: { loss: number; meanBatchPerplexity: number },
): string {
  const names = model.policy.blocks.reduce((a, b) => (b.length > a.length ? b : a)).map(({ kind }) => kind);
  const figures = `perplexity ${formatNumber(Math.exp(loss), 2)} (mean of batches ${formatNumber(meanBatchPerplexity, 2)})`;
  const title = `step ${formatNumber(step)}  ${figures}  ${model.policy.pattern(weights)}`;
  return `${title}\n${heatMap(model.policy.probabilities(weights), names)}`;
}

/** Carries a search out in a run folder: events, checkpoints, tokenizer, and architecture.json at the end. */
export async function searchIn(
  run: RunFolder,
  session: SearchSession,
  tell: Tell,
  resume?: TrainState,
): Promise<Found> {
  await writeAtomically(join(run.path, "tokenizer.model"), session.tokenizer.bytes);
  const told = (text: string) => {
    run.log(text);
    tell(text);
  };
  const events = search(session, told, resume);
  for (;;) {
    const { value, done } = await events.next();
    if (done) {
      await writeAtomically(join(run.path, "architecture.json"), `${JSON.stringify(value, null, 2)}\n`);
      return value;
    }
    if (value.type === "checkpoint") await run.writeCheckpoint(value.state, { best: value.best });
    else run.append(value);
  }
}

export const searchYaml = (config: SearchConfig): string => stringify({ task: "search", ...config });

/** The config that a search keeps in its folder. */
export function searchConfig(yaml: string, source: string): SearchConfig {
  const { task, ...config } = parse(yaml) as { task?: string } & SearchConfig;
  if (task !== "search") {
    const remedy = "go on with `layerwise resume`";
    reject({ who: source, needed: "a run of layerwise search", got: `task ${task ?? "language"}`, remedy }, 2);
  }
  return config;
}
