/** Certifies the optimisers: ten steps on given gradients, every value after every step. */
import { rejectFile } from "../base/errors.ts";
import { adam, adamw, lamb, sgd, training } from "../index.ts";
import { compare, type Finding, floats, type GoldenCase, namesUnder } from "./case.ts";

/** Ten steps leave no room for more. */
const VALUE_TOLERANCE = 2e-6;

interface Config {
  readonly optimiser: string;
  readonly steps: number;
  readonly lr: number | readonly number[];
  readonly betas?: readonly [number, number];
  readonly b1?: number;
  readonly b2?: number;
  readonly eps?: number;
  readonly weight_decay?: number;
  readonly wd?: number;
  readonly exclude?: readonly string[];
  readonly momentum?: number;
  readonly dampening?: number;
  readonly nesterov?: boolean;
}

type Build = (config: Config, excluded: boolean) => training.Optimiser;

function moments(config: Config) {
  const [beta1 = 0.9, beta2 = 0.999] = config.betas ?? [config.b1, config.b2];
  return { beta1, beta2, ...(config.eps === undefined ? {} : { epsilon: config.eps }) };
}

/** Excluded names get no decay and, in LAMB, ratio 1. */
const builders: Readonly<Record<string, Build>> = {
  Adam: (config) => adam({ ...moments(config), weightDecay: config.weight_decay ?? 0 }),
  AdamW: (config) => adamw({ ...moments(config), weightDecay: config.weight_decay ?? 0.01 }),
  "AdamW-no-bias-correction": (config, excluded) =>
    adamw({ ...moments(config), weightDecay: excluded ? 0 : (config.wd ?? 0), correction: "none" }),
  LAMB: (config, excluded) =>
    lamb({ ...moments(config), weightDecay: excluded ? 0 : (config.wd ?? 0), adapt: !excluded }),
  SGD: ({ momentum = 0, dampening = 0, nesterov = false, weight_decay = 0 }) =>
    sgd({ momentum, dampening, nesterov, weightDecay: weight_decay }),
};

const configOf = (golden: GoldenCase) => golden.about.config as Config;

export function covers(golden: GoldenCase): boolean {
  return Object.hasOwn(builders, configOf(golden).optimiser);
}

async function certifyTensor(golden: GoldenCase, name: string): Promise<Finding[]> {
  const config = configOf(golden);
  const excluded = config.exclude?.some((part) => name.includes(part)) ?? false;
  const optimiser = builders[config.optimiser]!(config, excluded);
  const start = floats(golden, `weight.${name}`);
  const tensor = new training.LoneTensor(start, golden.tensors.get(`weight.${name}`)!.shape, optimiser);
  const given = floats(golden, `input.grad.${name}`);
  if (!(config.steps * start.length <= given.length)) {
    const needed = `at most ${given.length / start.length} steps, as there are gradients`;
    rejectFile({ who: `${golden.folder}/${golden.name}.json / config.steps`, needed, got: `${config.steps}` });
  }
  const values = new Float32Array(given.length);
  const ratios = new Float32Array(config.steps);
  for (let i = 0; i < config.steps; i++) {
    const rate = typeof config.lr === "number" ? config.lr : config.lr[i]!;
    await tensor.update(given.subarray(i * start.length, (i + 1) * start.length), rate);
    values.set(tensor.value, i * start.length);
    ratios[i] = tensor.lastRatio;
  }
  const found: [string, Float32Array, number?][] = [
    [`value.${name}`, values, VALUE_TOLERANCE],
    ...optimiser.moments.map((moment, i): [string, Float32Array] => [`final_${moment}.${name}`, tensor.moments[i]!]),
    [`ratio.${name}`, ratios],
  ];
  return found
    .filter(([output]) => golden.tensors.has(`output.${output}`))
    .map(([output, actual, tolerance]) => compare(output, actual, floats(golden, `output.${output}`), tolerance));
}

export async function certify(golden: GoldenCase): Promise<Finding[]> {
  const findings = await Promise.all(namesUnder(golden, "weight.").map((name) => certifyTensor(golden, name)));
  return findings.flat();
}
