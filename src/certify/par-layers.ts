/** Certifies the parts of the PAR Transformer-XL: positions, attention, stochastic block, Gumbel-softmax, adaptive softmax. */
import { type Engine, type engines, graph, nn, searched } from "../index.ts";
import { compare, type Finding, floats, type GoldenCase, integers } from "./case.ts";
import {
  compareGradient,
  compareParameterGradient,
  evaluate,
  type LayerSizes,
  type SoftmaxConfig,
  weightsOf,
} from "./par-names.ts";

const { add, gradients, input, multiply, reshape, sum, transpose } = graph;
type Tensor = graph.Tensor;

interface LayerConfig extends LayerSizes {
  readonly padMask?: boolean;
  readonly feedForward: number;
  readonly trainedTemperature: boolean;
}

const configOf = <T>(golden: GoldenCase) => golden.about.config as T;

/** The inputs of a layer case, and the context they make. */
function layerInputs(config: LayerConfig, mode: nn.Mode) {
  const { batch, length, width, memory: past } = config;
  const x = input("x", [batch, length, width]);
  const memory = past > 0 ? input("memory", [batch, past, width]) : undefined;
  const where = { width, length, memory: past, compat: "original" as const };
  const mask = nn.segmentMask(where);
  const masked = config.padMask ? add(mask, nn.padMask(input("tokens", [batch, length], "int"), past)) : mask;
  const positions = nn.segmentPositions(where);
  const context: nn.SegmentContext = { rows: { batch, length }, mode, mask: masked, positions, memory };
  return { x, memory, context };
}

/** engines.Feeds by name for the stored inputs among those named. */
function feedsOf(golden: GoldenCase, names: readonly string[]): engines.Feeds {
  const present = names.filter((name) => golden.tensors.has(`input.${name}`));
  return Object.fromEntries(
    present.map((name) => [
      name,
      name === "tokens" ? integers(golden, "input.tokens") : floats(golden, `input.${name}`),
    ]),
  );
}

interface LayerCase {
  readonly outputs: Readonly<Record<string, Tensor>>;
  readonly y: Tensor;
  readonly x: Tensor;
  readonly memory: Tensor | undefined;
  readonly parameters: readonly nn.Parameter[];
  readonly feeds: engines.Feeds;
}

/** Outputs, loss = Σ y · cotangent, and all gradients. */
async function certifyLayer(golden: GoldenCase, engine: Engine, layer: LayerCase): Promise<Finding[]> {
  const { x, memory, parameters } = layer;
  const y = reshape(layer.y, x.shape);
  const loss = sum(multiply(y, input("cotangent", x.shape)));
  const given = memory ? [x, memory] : [x];
  const found = gradients(loss, [...given, ...parameters.map(({ tensor }) => tensor)]);
  const wanted: Record<string, Tensor> = {
    "output.y": y,
    ...layer.outputs,
    loss,
    ...Object.fromEntries(given.map((_, i) => [`grad.${i}`, found[i]!])),
    ...Object.fromEntries(parameters.map(({ name }, i) => [`grad ${name}`, found[given.length + i]!])),
  };
  const results = await evaluate(engine, wanted, layer.feeds, weightsOf(golden, parameters));
  const outputs = Object.keys({ "output.y": y, ...layer.outputs });
  return [
    ...outputs.map((name) => compare(name, results[name]!, floats(golden, name))),
    compare("loss", results.loss!, [golden.about.loss as number]),
    ...given.map((_, i) => {
      const name = ["x", "memory"][i]!;
      return compareGradient(golden, name, results[`grad.${i}`]!, floats(golden, `grad.${name}`));
    }),
    ...parameters.flatMap((parameter) =>
      compareParameterGradient(golden, parameter, results[`grad ${parameter.name}`]!),
    ),
  ];
}

const LAYER_INPUTS = ["x", "memory", "tokens", "cotangent"];
const batchFirst = (weights: Tensor) => transpose(weights, [1, 0, 2, 3]);

export async function certifyAttention(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const config = configOf<LayerConfig>(golden);
  const attention = new nn.RelativeAttention("attention", { ...config, compat: "original" });
  const { x, memory, context } = layerInputs(config, nn.inference);
  const rows = reshape(x, [config.batch * config.length, config.width]);
  return certifyLayer(golden, engine, {
    x,
    memory,
    y: attention.apply(rows, context),
    outputs: { "output.attention_weights": batchFirst(attention.attend(rows, context).weights) },
    parameters: attention.parameters,
    feeds: feedsOf(golden, LAYER_INPUTS),
  });
}

export async function certifyBlock(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const config = configOf<LayerConfig>(golden);
  const options = {
    ...config,
    hidden: config.feedForward,
    dropout: 0,
    activation: "relu",
    compat: "original",
  } as const;
  const attention = nn.attentionCandidate("blocks.0.attention", options);
  const dense = nn.feedForwardCandidate("blocks.0.dense", options);
  const temperature = config.trainedTemperature ? ("trained" as const) : ("annealed" as const);
  const { straightThrough } = config;
  const policy = searched("blocks", [[attention, dense, nn.identity]], {
    compat: "original",
    straightThrough,
    temperature,
  });
  const mode = new nn.Training();
  const { x, memory, context } = layerInputs(config, mode);
  const rows = reshape(x, [config.batch * config.length, config.width]);
  const { hidden, probes } = policy.apply(rows, context);
  const noise = mode.noise[0]!.tensor.attributes.name;
  return certifyLayer(golden, engine, {
    x,
    memory,
    y: hidden,
    outputs: {
      "output.mixture": probes["mixture.0"]!,
      "output.attention_candidate": reshape(attention.apply(rows, context), x.shape),
      "output.dense_candidate": reshape(dense.apply(rows, context), x.shape),
    },
    parameters: policy.parameters,
    feeds: {
      ...feedsOf(golden, LAYER_INPUTS),
      [noise]: floats(golden, "input.gumbel"),
      ...(config.trainedTemperature ? {} : { temperature: floats(golden, "input.tau") }),
    },
  });
}

/** Row by row draws, soft and straight-through, with their gradients. */
export async function certifyGumbel(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const { rows, categories } = configOf<{ rows: number; categories: number }>(golden);
  const pi = input("pi", [rows, categories]);
  const tau = input("tau", [rows]);
  const noise = input("gumbel", [rows, categories]);
  const cotangent = input("cotangent", [rows, categories]);
  const soft = nn.gumbelSoftmax(nn.clippedLog(pi), noise, reshape(tau, [rows, 1]));
  const wanted: Record<string, Tensor> = {};
  for (const [name, sample] of Object.entries({ soft, straight_through: nn.straightThrough(soft) })) {
    const [byPi, byTau] = gradients(sum(multiply(sample, cotangent)), [pi, tau]);
    Object.assign(wanted, {
      [`output.${name}`]: sample,
      [`grad.${name}.pi`]: byPi!,
      [`grad.${name}.tau`]: byTau!,
    });
  }
  const results = await evaluate(engine, wanted, feedsOf(golden, ["pi", "gumbel", "tau", "cotangent"]));
  return Object.keys(wanted).map((name) => compare(name, results[name]!, floats(golden, name)));
}

export async function certifyAdaptive(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const config = configOf<SoftmaxConfig>(golden);
  const { projectionFactor: factor, projectionSizes } = config;
  const sizes = projectionSizes.length > 0 ? projectionSizes : undefined;
  const softmax = new nn.AdaptiveSoftmax("softmax", { ...config, factor, sizes });
  const count = config.batch * config.length;
  const hidden = input("hidden", [count, config.width]);
  const labels = input("labels", [count], "int");
  const parts = softmax.losses(hidden, labels);
  const counted = graph.cast(graph.not(graph.equal(labels, 0)), "float");
  const loss = multiply(nn.totalLoss(parts, counted), 1 / count);
  const { parameters } = softmax;
  const found = gradients(loss, [hidden, ...parameters.map(({ tensor }) => tensor)]);
  const logs = softmax.logProbabilities(hidden);
  const wanted: Record<string, Tensor> = {
    "output.token_loss": multiply(nn.tokenLosses(parts), counted),
    "output.log_probabilities": logs,
    loss,
    "grad.hidden": found[0]!,
    total: sum(graph.exp(logs), { axes: [1] }),
    ...Object.fromEntries(parameters.map(({ name }, i) => [`grad ${name}`, found[i + 1]!])),
  };
  const targets = integers(golden, "input.labels");
  const rows = Object.entries(softmax.rowsOf(targets, 0)).map(([name, data]) => [name, { data, shape: [data.length] }]);
  const feeds = { hidden: floats(golden, "input.hidden"), labels: targets, ...Object.fromEntries(rows) };
  const results = await evaluate(engine, wanted, feeds, weightsOf(golden, parameters));
  return [
    ...["output.token_loss", "output.log_probabilities"].map((name) =>
      compare(name, results[name]!, floats(golden, name)),
    ),
    compare("sum of probabilities", results.total!, new Float32Array(count).fill(1)),
    compare("loss", results.loss!, [golden.about.loss as number]),
    compareGradient(golden, "hidden", results["grad.hidden"]!, floats(golden, "grad.hidden")),
    ...parameters.flatMap((parameter) =>
      compareParameterGradient(golden, parameter, results[`grad ${parameter.name}`]!),
    ),
  ];
}

type Shape4 = readonly [number, number, number, number];

interface PositionsConfig {
  readonly tables: readonly (readonly [number, number])[];
  readonly shifts: readonly Shape4[];
  readonly logits: readonly (readonly [...Shape4, number])[];
}

/** Sinusoid tables, shifts both ways, masks, and position logits in all directions. */
export async function certifyPositions(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const { tables, shifts, logits } = configOf<PositionsConfig>(golden);
  const found = tables.flatMap(([count, width], i) => {
    const table = nn.sinusoids(
      Array.from({ length: count }, (_, p) => p),
      width,
    );
    const reversed = nn.reverseFeatures(table, width);
    return [
      compare(`output.table${i}`, table, floats(golden, `output.table${i}`)),
      compare(`output.table${i}.feature_reversed`, reversed, floats(golden, `output.table${i}.feature_reversed`)),
    ];
  });
  const wanted: Record<string, Tensor> = {};
  shifts.forEach((shape, i) => {
    const x = input(`shift${i}`, shape);
    const left = nn.shiftLeft(x);
    const [, , length, keys] = shape;
    wanted[`output.shift${i}.left`] = left;
    wanted[`output.shift${i}.right`] = nn.shiftRight(x);
    wanted[`grad.shift${i}`] = gradients(left, [x], input(`shift${i}.cotangent`, shape))[0]!;
    const mask = nn.segmentMask({ width: 1, length, memory: keys - length });
    wanted[`output.shift${i}.lookahead_mask`] = multiply(mask, -1e-9);
  });
  logits.forEach(([batch, heads, length, keys, width], i) => {
    const query = input(`logits${i}.query`, [batch, heads, length, width]);
    const positions = input(`logits${i}.position`, [1, heads, keys, width]);
    for (const direction of ["left", "right", "both"] as const) {
      wanted[`output.logits${i}.${direction}`] = nn.relativeLogits(query, positions, direction);
    }
  });
  const names = [...golden.tensors.keys()].filter((name) => name.startsWith("input."));
  const feeds = Object.fromEntries(names.map((name) => [name.slice("input.".length), floats(golden, name)]));
  const results = await evaluate(engine, wanted, feeds);
  return [...found, ...Object.keys(wanted).map((name) => compare(name, results[name]!, floats(golden, name)))];
}
