/** Certifies ALBERT with fixed and with adaptive depth: outputs, halting decisions, every depth, loss and all gradients. */
import { rejectFile } from "../base/errors.ts";
import {
  type Albert,
  type AlbertOptions,
  adam,
  albert,
  type depth,
  type Engine,
  type Feed,
  graph,
  models,
  type nn,
  training,
} from "../index.ts";
import { compare, compareZero, type Finding, floats, type GoldenCase, integers, namesUnder } from "./case.ts";

const { add, crossEntropy, input, multiply, reshape, sum } = graph;
type Tensor = graph.Tensor;

/** Counts must be equal; the smallest wrong one is off by far more. */
const EXACT = 1e-9;

interface Config extends Readonly<Record<string, unknown>> {
  readonly model: string;
  readonly tau?: number;
  readonly pads?: string;
  readonly halt_at_cap?: boolean;
  readonly accumulate?: "blend" | "weightedSum";
  readonly halted_state?: string;
}

const configOf = (golden: GoldenCase) => golden.about.config as Config;
const shapeOf = (golden: GoldenCase, name: string) => golden.tensors.get(name)?.shape ?? [];

/** Rows of the classifier. */
const classes = (golden: GoldenCase) => shapeOf(golden, "weight.classifier.weight")[0] ?? 1;

function classKind(golden: GoldenCase): "single" | "multiple" | "regression" {
  const integral = golden.tensors.get("input.labels")?.dtype === "I64";
  if (integral && shapeOf(golden, "input.labels").length === 1 && classes(golden) > 1) return "single";
  return classes(golden) > 1 ? "multiple" : "regression";
}

/** The heads of each class of the original. */
const headsOf: Readonly<Record<string, (model: Albert, golden: GoldenCase) => models.Head[]>> = {
  AlbertModel: () => [],
  AlbertActModel: (model, golden) => (golden.tensors.has("input.masked_positions") ? pretrained(model, golden) : []),
  AlbertForMaskedLM: (model) => [models.maskedLanguageHead(model)],
  AlbertForPreTraining: (model) => [models.maskedLanguageHead(model), models.sentenceOrderHead(model)],
  AlbertForSequenceClassification: (model, golden) => [
    models.classificationHead(model, { labels: classes(golden), kind: classKind(golden) }),
  ],
  AlbertForTokenClassification: (model, golden) => [models.tokenClassificationHead(model, { labels: classes(golden) })],
  AlbertForQuestionAnswering: (model) => [models.questionAnsweringHead(model)],
  AlbertForMultipleChoice: (model, golden) => [
    models.multipleChoiceHead(model, { choices: shapeOf(golden, "input.input_ids")[1] ?? 1 }),
  ],
};

/** As the adaptive models were trained. */
function pretrained(model: Albert, golden: GoldenCase): models.Head[] {
  const predictions = shapeOf(golden, "input.masked_positions")[1]!;
  return [models.maskedLanguageHead(model, { predictions }), models.sentenceOrderHead(model, { epsilon: 1e-5 })];
}

export function covers(golden: GoldenCase): boolean {
  return configOf(golden).model in headsOf;
}

function optionsOf(golden: GoldenCase): AlbertOptions {
  const config = configOf(golden);
  const { halting, ...options } = models.albertOptionsFrom(config);
  const pooler = namesUnder(golden, "weight.").some((name) => name.endsWith("pooler.weight"));
  return { ...options, pooler, ...(halting ? { halting: { ...halting, ...haltingOf(config) } } : {}) };
}

function haltingOf(config: Config): Omit<depth.HaltingOptions, "width"> {
  return {
    ponder: config.tau ?? 0,
    ponderReduce: "sum",
    haltAtCap: config.halt_at_cap ?? false,
    accumulate: config.accumulate ?? "blend",
    halted: config.halted_state === "keeps running" ? "running" : "frozen",
    pads: config.pads === "run" ? "run" : "skip",
  };
}

/** The names of inputs there and here. */
const inputNames: Readonly<Record<string, string>> = {
  ids: "input_ids",
  mask: "attention_mask",
  types: "token_type_ids",
  order: "sentence_order_labels",
  maskedPositions: "masked_positions",
  maskedLabels: "masked_labels",
  maskedWeights: "masked_weights",
  starts: "start_positions",
  ends: "end_positions",
  cotangentPooled: "cotangent_pooled",
};

/** A batch of the case's numbers; what it leaves out is all tokens, of the first segment. */
function batchOf(golden: GoldenCase, inputs: models.Tensors): Record<string, Feed> {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, tensor]) => {
      const shape = tensor.shape as readonly number[];
      const stored = `input.${inputNames[name] ?? name}`;
      if (golden.tensors.has(stored)) return [name, { shape, data: numbers(golden, stored, tensor) }];
      if (name !== "mask" && name !== "types") rejectFile({ who: golden.name, needed: stored, got: "nothing" });
      return [name, { shape, data: new Int32Array(shape[0]! * shape[1]!).fill(name === "mask" ? 1 : 0) }];
    }),
  );
}

function numbers(golden: GoldenCase, name: string, { dtype }: Tensor): Float32Array | Int32Array {
  if (dtype === "int") return integers(golden, name);
  return golden.tensors.get(name)?.dtype === "F32" ? floats(golden, name) : Float32Array.from(integers(golden, name));
}

/** The objective of a case without heads: outputs times fixed cotangents, plus the penalty. */
function bareObjective(model: Albert, shape: { batch: number; length: number }): models.AlbertObjective {
  const { width } = model.options;
  const texts = models.textInputs(shape);
  const encoded = model.encode(texts);
  const cotangent = input("cotangent", [shape.batch, shape.length, width]);
  const inputs: Record<string, Tensor> = { ids: texts.ids, mask: texts.mask, types: texts.types, cotangent };
  const terms: Tensor[] = [sum(multiply(encoded.sequence, reshape(cotangent, encoded.sequence.shape)))];
  if (encoded.pooled) {
    inputs.cotangentPooled = input("cotangentPooled", [shape.batch, width]);
    terms.push(sum(multiply(encoded.pooled, inputs.cotangentPooled)));
  }
  if (encoded.penalty) terms.push(encoded.penalty);
  return { loss: terms.reduce((a, b) => add(a, b)), inputs, noise: [], encoded, logits: {}, losses: [] };
}

/** Everything a case may hold under `output.`, by that name. */
function outputsOf(
  objective: models.AlbertObjective,
  model: Albert,
  heads: readonly models.Head[],
): Record<string, Tensor> {
  const { encoded, logits, losses, inputs } = objective;
  const found: Record<string, Tensor> = { ...encoded.probes, sequence: encoded.sequence };
  if (encoded.pooled) found.pooled = encoded.pooled;
  if (encoded.penalty) found.time_loss = encoded.penalty;
  if (!model.options.halting) Object.assign(found, layersOf(model, inputs));
  const main = logits.words ?? logits.classes ?? logits.tokens ?? logits.choices;
  if (main) found.logits = main;
  if (logits.starts) Object.assign(found, { start_logits: logits.starts, end_logits: logits.ends });
  if (heads.length === 2) {
    Object.assign(found, {
      mlm_logits: logits.words,
      sop_logits: logits.order,
      mlm_loss: losses[0],
      sop_loss: losses[1],
    });
    found.sop_per_row_loss = crossEntropy(logits.order!, inputs.order!);
    if (inputs.maskedLabels) {
      const labels = reshape(inputs.maskedLabels, [logits.words!.shape[0]!]);
      found.mlm_per_slot_loss = crossEntropy(logits.words!, labels);
    }
  }
  return found;
}

/** The state before the first layer and after each. */
function layersOf(model: Albert, inputs: models.Tensors): Record<string, Tensor> {
  const { rows, context } = model.start({ ids: inputs.ids!, mask: inputs.mask, types: inputs.types });
  const states = [rows];
  for (const i of model.plan) states.push(model.layers[i]!.apply(states.at(-1)!, context));
  return Object.fromEntries(states.map((state, i) => [`layer${i}`, state]));
}

export async function certify(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const model = albert(optionsOf(golden));
  const heads = headsOf[configOf(golden).model]!(model, golden);
  const parameters = [...model.parameters, ...heads.flatMap((head) => [...head.parameters])];
  const { weights } = models.loadAlbert(parameters, weightsOf(golden), golden.name);
  const ids = shapeOf(golden, "input.input_ids");
  const shape = { batch: ids.slice(0, -1).reduce((a, b) => a * b, 1), length: ids.at(-1)! };
  const objective =
    heads.length > 0
      ? models.albertObjective(model, heads, { ...shape, training: false })
      : bareObjective(model, shape);
  const feeds = batchOf(golden, objective.inputs);
  return [
    ...(await certifyOutputs(golden, engine, outputsOf(objective, model, heads), weights, feeds)),
    ...(await certifyGradients(golden, engine, objective, parameters, weights, feeds)),
  ];
}

function weightsOf(golden: GoldenCase) {
  return new Map(
    namesUnder(golden, "weight.").map((name) => {
      return [name, { shape: shapeOf(golden, `weight.${name}`), data: floats(golden, `weight.${name}`) }];
    }),
  );
}

async function certifyOutputs(
  golden: GoldenCase,
  engine: Engine,
  outputs: Readonly<Record<string, Tensor>>,
  weights: ReadonlyMap<Tensor, Float32Array>,
  feeds: Record<string, Feed>,
): Promise<Finding[]> {
  const wanted = namesUnder(golden, "output.").filter((name) => name in outputs);
  const extra = ["updates", "remainders", "ran"].filter((name) => name in outputs && !wanted.includes(name));
  const named = Object.fromEntries([...wanted, ...extra].map((name) => [`output.${name}`, outputs[name]!]));
  const program = await engine.compile({ outputs: named, weights });
  const fed = Object.fromEntries(program.inputs.map(({ name }) => [name, feeds[name]!]));
  const results = await program.run(fed);
  await program.release();
  const found = Object.fromEntries(Object.entries(results).map(([name, { data }]) => [name, Array.from(data)]));
  return namesUnder(golden, "output.").map((name) => outputFinding(golden, name, found, feeds.mask!.data));
}

function outputFinding(
  golden: GoldenCase,
  name: string,
  found: Record<string, number[]>,
  mask: ArrayLike<number>,
): Finding {
  const tensor = `output.${name}`;
  const actual = found[tensor] ?? derived(golden, name, found);
  if (!actual) return rejectFile({ who: golden.name, needed: "an output that is built here", got: tensor });
  if (name === "iterations") return compare(tensor, actual, integers(golden, tensor), EXACT);
  const expected = floats(golden, tensor);
  if (name.endsWith("updates")) return compare(tensor, actual, expected, EXACT);
  const realOnly = String(golden.about.compare ?? "").startsWith("Real tokens only");
  if (!realOnly || (name !== "sequence" && name !== "halting")) return compare(tensor, actual, expected);
  const width = expected.length / mask.length;
  const real = (values: ArrayLike<number>) => Array.from(values).filter((_, i) => mask[Math.floor(i / width)] !== 0);
  return compare(tensor, real(actual), real(expected));
}

/** Figures that follow from the counters: the ponder cost a text, and how many depths ran at all. */
function derived(golden: GoldenCase, name: string, found: Record<string, number[]>): number[] | undefined {
  const { "output.updates": updates, "output.remainders": remainders, "output.ran": ran } = found;
  // Without a factor there is no penalty.
  if (name === "time_loss") return [0];
  if (name === "iterations" && ran) return [Math.max(...ran)];
  if (name !== "ponder" || !updates || !remainders) return undefined;
  const batch = floats(golden, "output.ponder").length;
  const length = updates.length / batch;
  return Array.from({ length: batch }, (_, b) =>
    updates.slice(b * length, (b + 1) * length).reduce((total, n, t) => total + n + remainders[b * length + t]!, 0),
  );
}

async function certifyGradients(
  golden: GoldenCase,
  engine: Engine,
  { loss, inputs, noise }: models.AlbertObjective,
  parameters: readonly nn.Parameter[],
  initial: ReadonlyMap<graph.Tensor<"parameter">, Float32Array>,
  feeds: Record<string, Feed>,
): Promise<Finding[]> {
  const groups = [{ parameters: parameters.map(({ tensor }) => tensor), optimiser: adam() }];
  const step = await training.TrainingStep.create({ engine, loss, inputs, noise, groups, initial, seed: 1 });
  const batch = Object.fromEntries(Object.entries(feeds).map(([name, { data }]) => [name, data]));
  const findings = [compare("loss", [await step.differentiate(step.inputsAmong(batch))], floats(golden, "loss"))];
  const stored = new Map(namesUnder(golden, "grad.").map((name) => [models.ownName(name), `grad.${name}`]));
  for (const [{ attributes }, gradient] of step.gradients) {
    findings.push(gradientFinding(golden, stored.get(attributes.name) ?? `grad.${attributes.name}`, gradient));
  }
  await step.release();
  return findings;
}

function gradientFinding(golden: GoldenCase, tensor: string, gradient: Float32Array): Finding {
  const zero = golden.about.zero_gradients as { tensors: string[]; scale: number } | undefined;
  if (zero?.tensors.includes(tensor)) return compareZero(tensor, gradient, zero.scale);
  return compare(tensor, gradient, floats(golden, tensor));
}
