/** Certifies the adaptive softmax against torch's AdaptiveLogSoftmaxWithLoss: all log-probabilities, the loss, every gradient. */
import { type Engine, graph, nn } from "../index.ts";
import { compare, type Finding, floats, type GoldenCase, integers } from "./case.ts";

const { argMax, gradients, input, multiply, negate, simplify } = graph;

interface Config {
  readonly in_features: number;
  readonly n_classes: number;
  readonly cutoffs: readonly number[];
  readonly div_value: number;
  readonly head_bias: boolean;
}

export function covers(): boolean {
  return true;
}

/** softmax.tails.1.projection.weight → tail.1.0.weight */
function torchName(name: string): string {
  return name
    .replace("softmax.", "")
    .replace(/^tails\.(\d+)\./, "tail.$1.")
    .replace("projection", "0")
    .replace("output", "1");
}

export async function certify(golden: GoldenCase, engine: Engine): Promise<Finding[]> {
  const config = golden.about.config as Config;
  const softmax = new nn.AdaptiveSoftmax("softmax", {
    width: config.in_features,
    vocabulary: config.n_classes,
    cutoffs: config.cutoffs,
    factor: config.div_value,
    headBias: config.head_bias,
    tailBias: false,
  });
  const targets = integers(golden, "input.target");
  const x = input("x", [targets.length, config.in_features]);
  const ids = input("targets", [targets.length], "int");
  const parts = softmax.losses(x, ids);
  const all = softmax.logProbabilities(x);
  const loss = multiply(nn.totalLoss(parts), 1 / targets.length);
  const parameters = softmax.parameters;
  const found = gradients(loss, [x, ...parameters.map(({ tensor }) => tensor)]);
  const wanted = {
    "output.log_prob_of_target": negate(nn.tokenLosses(parts)),
    "output.log_prob": all,
    "output.predict": argMax(all),
    loss,
    "grad.input.x": found[0]!,
    ...Object.fromEntries(parameters.map(({ name }, i) => [`grad.${torchName(name)}`, found[i + 1]!])),
  };
  const names = Object.keys(wanted);
  const simple = simplify(Object.values(wanted));
  const weights = new Map(parameters.map(({ name, tensor }) => [tensor, floats(golden, `weight.${torchName(name)}`)]));
  const program = await engine.compile({
    outputs: Object.fromEntries(names.map((name, i) => [name, simple[i]!])),
    weights,
  });
  const rows = Object.entries(softmax.rowsOf(targets)).map(([name, data]) => [name, { data, shape: [data.length] }]);
  const results = await program.run({ x: floats(golden, "input.x"), targets, ...Object.fromEntries(rows) });
  await program.release();
  return names.map((name) => {
    if (name !== "output.predict") return compare(name, results[name]!.data, floats(golden, name));
    return compare(name, results[name]!.data, integers(golden, name), 1e-9);
  });
}
