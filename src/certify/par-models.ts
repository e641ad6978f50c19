/** Certifies whole PAR Transformer-XL models: segments with growing memory, and training runs. */
import { adam, type Engine, graph, type nn, type ParModel, type ParOptions, parModel, training } from "../index.ts";
import { compare, type Finding, floats, type GoldenCase, integers } from "./case.ts";
import {
  compareParameterGradient,
  evaluate,
  originalName,
  type ParSizes,
  type SoftmaxConfig,
  stored,
  weightsOf,
} from "./par-names.ts";

interface ModelConfig extends ParSizes, SoftmaxConfig {
  readonly feedForward: number;
  readonly blocks: number;
  readonly trainedTemperature?: boolean;
}

interface TrainingConfig extends ModelConfig {
  readonly steps: number;
  readonly optimiser: {
    readonly beta1: number;
    readonly beta2: number;
    readonly epsilon: number;
    readonly learningRate?: number;
    readonly maxLearningRate?: number;
    readonly warmupSteps?: number;
    readonly clipValue: number;
  };
}

function optionsOf(config: ModelConfig): ParOptions {
  const { width, heads, blocks, vocabulary, cutoffs, memory, straightThrough, projectionSizes } = config;
  return {
    ...{ width, heads, blocks, vocabulary, cutoffs, memory, straightThrough },
    hidden: config.feedForward,
    projectionFactor: config.projectionFactor,
    projectionSizes: projectionSizes.length > 0 ? projectionSizes : undefined,
    temperature: config.trainedTemperature ? "trained" : "annealed",
    compat: "original",
  };
}

/** Temperatures, where the model is fed any. */
const temperaturesOf = (golden: GoldenCase, count = 1) =>
  golden.tensors.has("input.tau") ? floats(golden, "input.tau") : new Float32Array(count).fill(1);

/** A training step of the model on recorded noise: the draws come with the batch. */
async function openStep(golden: GoldenCase, engine: Engine, model: ParModel, config: ModelConfig, rest = {}) {
  const { batch, length } = config;
  const objective = model.objective({ batch, length, training: true });
  const { parameters } = model;
  const recorded = Object.fromEntries(objective.noise.map(({ tensor }) => [tensor.attributes.name, tensor]));
  const mixture = graph.concat(
    Object.keys(objective.probes)
      .filter((name) => name.startsWith("mixture"))
      .map((name) => objective.probes[name]!),
    0,
  );
  const step = await training.TrainingStep.create({
    engine,
    ...objective,
    inputs: { ...objective.inputs, ...recorded },
    noise: [],
    probes: { hidden: objective.hidden, token_loss: objective.tokenLosses, mixture },
    groups: [{ parameters: parameters.map(({ tensor }) => tensor), optimiser: adam() }],
    initial: weightsOf(golden, parameters),
    seed: 1,
    ...rest,
  });
  return { step, noise: Object.keys(recorded) };
}

interface Given {
  readonly ids: Int32Array;
  readonly targets: Int32Array;
  readonly gumbel: Float32Array;
  readonly temperature: ArrayLike<number>;
  /** Segments before this one. */
  readonly before: number;
}

function batchOf(model: ParModel, config: ModelConfig, noise: readonly string[], given: Given) {
  const { ids, targets, gumbel, temperature, before } = given;
  const draws = noise.map((name, i) => [name, gumbel.subarray(3 * i, 3 * i + 3)] as const);
  const missing = config.memory > 0 ? { missing: [model.missingAfter(before, config.length)] } : {};
  return { ids, targets, temperature, ...missing, ...model.rowsOf(targets), ...Object.fromEntries(draws) };
}

/** The filled part of each block's memory against what is stored under a prefix. */
function compareMemories(
  golden: GoldenCase,
  prefix: string,
  carried: training.TrainingStep["carried"],
  { batch, memory, width }: ModelConfig,
): Finding[] {
  return [...carried.values()].map(({ data }, i) => {
    const expected = floats(golden, `${prefix}${i}`);
    const filled = expected.length / batch;
    const each = memory * width;
    const parts = Array.from({ length: batch }, (_, b) => [...data.subarray((b + 1) * each - filled, (b + 1) * each)]);
    return compare(`${prefix}${i}`, parts.flat(), expected);
  });
}

export async function certifyModel(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const config = golden.about.config as ModelConfig;
  const model = parModel(optionsOf(config));
  const { step, noise } = await openStep(golden, engine, model, config);
  const findings: Finding[] = [];
  for (let i = 0; i < config.segments; i++) {
    const [from, to] = [`input.segment${i}.`, `output.segment${i}.`];
    const batch = batchOf(model, config, noise, {
      ids: integers(golden, `${from}tokens`),
      targets: integers(golden, `${from}labels`),
      gumbel: floats(golden, `${from}gumbel`),
      temperature: temperaturesOf(golden),
      before: i,
    });
    const loss = await step.differentiate(step.inputsAmong<ArrayLike<number>>(batch));
    findings.push(compare(`${to}loss`, [loss], [(golden.about.losses as number[])[i]!]));
    for (const [name, { data }] of Object.entries(step.probes)) {
      findings.push(compare(`${to}${name}`, data, floats(golden, `${to}${name}`)));
    }
    findings.push(...compareMemories(golden, `${to}memory.block`, step.carried, config));
  }
  for (const parameter of model.parameters) {
    findings.push(...compareParameterGradient(golden, parameter, step.gradients.get(parameter.tensor)!));
  }
  findings.push(...(await compareWords(golden, engine, model, config)));
  await step.release();
  return findings;
}

/** Log-probabilities (or logits) of all words, from the stored hidden states of the last segment. */
async function compareWords(
  golden: GoldenCase,
  engine: Engine,
  model: ParModel,
  { batch, length, width, segments, cutoffs }: ModelConfig,
): Promise<Finding[]> {
  const prefix = `output.segment${segments - 1}.`;
  const hidden = graph.input("hidden", [batch * length, width]);
  const name = cutoffs.length > 0 ? `${prefix}log_probabilities` : `${prefix}logits`;
  const logs = model.words.logProbabilities(hidden);
  const values = cutoffs.length > 0 ? logs : (model.words as nn.PlainSoftmax).logits(hidden);
  const feeds = { hidden: floats(golden, `${prefix}hidden`) };
  const total = graph.sum(graph.exp(logs), { axes: [1] });
  const found = await evaluate(engine, { values, total }, feeds, weightsOf(golden, [...model.words.parameters]));
  return [
    compare(name, found.values!, floats(golden, name)),
    compare("sum of probabilities", found.total!, new Float32Array(batch * length).fill(1)),
  ];
}

/** README of the cases: weights in which Adam blows up rounding may drift; they are named in the JSON. */
const DRIFT_TOLERANCE = 5e-3;

export async function certifyTraining(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const config = golden.about.config as TrainingConfig;
  const { beta1, beta2, epsilon, learningRate, maxLearningRate, warmupSteps, clipValue } = config.optimiser;
  const model = parModel(optionsOf(config));
  const { parameters } = model;
  const optimiser = adam({ beta1, beta2, epsilon, correction: "rate" });
  const groups = [{ parameters: parameters.map(({ tensor }) => tensor), optimiser }];
  const clip = clipValue > 0 ? { clipValue } : {};
  const { step, noise } = await openStep(golden, engine, model, config, { groups, ...clip });
  const rateAt =
    maxLearningRate === undefined
      ? () => learningRate!
      : training.parSchedule({ rate: maxLearningRate, warmup: warmupSteps!, total: config.steps });
  const part = <T extends Float32Array | Int32Array>(values: T, i: number) => {
    const each = values.length / config.steps;
    return values.subarray(i * each, (i + 1) * each) as T;
  };
  const [ids, targets] = [integers(golden, "input.tokens"), integers(golden, "input.labels")];
  const [gumbel, temperature] = [floats(golden, "input.gumbel"), temperaturesOf(golden, config.steps)];
  const losses: number[] = [];
  const rates: number[] = [];
  for (let i = 0; i < config.steps; i++) {
    const given = { ids: part(ids, i), targets: part(targets, i), gumbel: part(gumbel, i), before: i };
    const batch = batchOf(model, config, noise, { ...given, temperature: part(temperature, i) });
    rates.push(rateAt(i));
    losses.push((await step.run(step.inputsAmong<ArrayLike<number>>(batch), rateAt(i))).loss);
  }
  const { weights = {} } = golden.about.float32Deviation as { weights?: Record<string, number> };
  const findings = [
    compare("output.losses", losses, golden.about.losses as number[]),
    compare("output.learning_rates", rates, floats(golden, "output.learning_rates")),
    ...compareMemories(golden, "output.memory.block", step.carried, config),
    ...parameters.map((parameter) => {
      const name = originalName(parameter.name);
      const tolerance = name in weights ? DRIFT_TOLERANCE : undefined;
      const expected = stored(golden, "output.weight.", parameter);
      return compare(`output.weight.${name}`, step.weights.get(parameter.tensor)!, expected, tolerance);
    }),
  ];
  await step.release();
  return findings;
}
