/** Certifies the optimisers: ten steps on given gradients, every value after every step. */
import { Arena } from "../engine/arena.ts";
import { parameter } from "../graph/index.ts";
import { allocateGroup, memoryBytes } from "../train/memory.ts";
import { adam, adamw, lamb, type Optimiser, type Slot, sgd } from "../train/optimiser.ts";
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

type Build = (config: Config, excluded: boolean) => Optimiser;

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
  return configOf(golden).optimiser in builders;
}

/** The state's name in the file: torch calls SGD's velocity `momentum`. */
const stateOf = (golden: GoldenCase, moment: string, name: string) =>
  golden.tensors.has(`output.final_${moment}.${name}`);

function certifyTensor(golden: GoldenCase, name: string): Finding[] {
  const config = configOf(golden);
  const excluded = config.exclude?.some((part) => name.includes(part)) ?? false;
  const optimiser = builders[config.optimiser]!(config, excluded);
  const start = floats(golden, `weight.${name}`);
  const slot = slotFor(optimiser, start);
  const given = floats(golden, `input.grad.${name}`);
  const values = new Float32Array(given.length);
  const ratios = new Float32Array(config.steps);
  for (let i = 0; i < config.steps; i++) {
    slot.slot.gradient.set(given.subarray(i * start.length, (i + 1) * start.length));
    const rate = typeof config.lr === "number" ? config.lr : config.lr[i]!;
    optimiser.update(slot.arena.kernels, slot.slot, { rate, step: i + 1, gradientScale: 1 });
    values.set(slot.slot.weight, i * start.length);
    ratios[i] = optimiser.lastRatio?.(slot.slot) ?? 1;
  }
  const findings = [compare(`value.${name}`, values, floats(golden, `output.value.${name}`), VALUE_TOLERANCE)];
  optimiser.moments.forEach((moment, i) => {
    if (!stateOf(golden, moment, name)) return;
    findings.push(
      compare(`final_${moment}.${name}`, slot.slot.moments[i]!, floats(golden, `output.final_${moment}.${name}`)),
    );
  });
  if (golden.tensors.has(`output.ratio.${name}`)) {
    findings.push(compare(`ratio.${name}`, ratios, floats(golden, `output.ratio.${name}`)));
  }
  return findings;
}

function slotFor(optimiser: Optimiser, start: Float32Array): { arena: Arena; slot: Slot } {
  const tensor = parameter("weight", [start.length]);
  const group = { parameters: [tensor], optimiser };
  const arena = new Arena(memoryBytes([group], []));
  const slot = allocateGroup(arena, group).slots.get(tensor)!;
  slot.weight.set(start);
  return { arena, slot };
}

export async function certify(golden: GoldenCase): Promise<Finding[]> {
  return namesUnder(golden, "weight.").flatMap((name) => certifyTensor(golden, name));
}
