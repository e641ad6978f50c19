/** Optimisers: what one update does to a weight, its gradient and its moments, by the arena's kernels. */
import { checkOptions, defined, number, oneOf, type Rules, truth } from "../base/options.ts";
import type { Kernels } from "../engine/kernels.ts";
import type { MomentSettings } from "../engine/updates.ts";

/** A stretch of the arena to update: one tensor, or several that lie side by side. */
export interface Slot {
  /** The tensor's shape; the length alone for a stretch of several. */
  readonly shape: readonly number[];
  readonly weight: Float32Array;
  readonly gradient: Float32Array;
  readonly moments: readonly Float32Array[];
}

/** What differs from update to update. */
export interface UpdateSettings {
  /** Learning rate of this update. */
  readonly rate: number;
  /** Number of this update, from 1. */
  readonly step: number;
  /** Factor of the gradient: clipping by norm, 1 / accumulated batches. */
  readonly gradientScale: number;
}

/** What the update of an optimiser does, as data: from it the update is written into a graph, where weights stay on a device. */
export type UpdateRule =
  | (Readonly<Required<AdamOptions>> & { readonly kind: "adam"; readonly decoupled: boolean })
  | (Readonly<Required<LambOptions>> & { readonly kind: "lamb" })
  | (Readonly<Required<SgdOptions>> & { readonly kind: "sgd" })
  | (Readonly<Required<MuonOptions>> & { readonly kind: "muon" });

/** A rule that turns gradients into updates. */
export interface Optimiser {
  readonly name: string;
  /** The rule as data. An optimiser without one is never part of a graph: gradients come to its `update`, whatever the device. */
  readonly rule?: UpdateRule;
  /** The optimiser's own numbers beside each weight, by name. */
  readonly moments: readonly string[];
  /** True when an update looks at a tensor as a whole, so that tensors must not be updated together. */
  readonly perTensor: boolean;
  update(kernels: Kernels, slot: Slot, settings: UpdateSettings): void | Promise<void>;
  /** The factor by which the last update of this slot was stretched, where the optimiser has one. */
  lastRatio?(slot: Slot): number | undefined;
  /** Gives back what the optimiser compiled. */
  release?(): Promise<void>;
}

/** Adam's numbers. */
export interface AdamOptions {
  beta1?: number;
  beta2?: number;
  epsilon?: number;
  weightDecay?: number;
  correction?: MomentSettings["correction"];
}

/** How much of a moment each update keeps: from 0 to below 1. */
const decay = number({ from: 0, below: 1 });
const notNegative = number({ from: 0 });

const adamRules: Rules<AdamOptions> = {
  beta1: decay,
  beta2: decay,
  epsilon: notNegative,
  weightDecay: notNegative,
  correction: oneOf(["exact", "rate", "none"]),
};

const adamDefaults = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, correction: "exact" } as const;

function adamLike(name: string, decoupled: boolean, options: AdamOptions): Optimiser {
  checkOptions(name, options, adamRules);
  const fixed = { ...adamDefaults, ...defined(options), decoupled };
  return {
    name,
    rule: { kind: "adam", ...fixed },
    moments: ["m", "v"],
    perTensor: false,
    update: (kernels, { weight, gradient, moments: [m, v] }, settings) => {
      kernels.adam(weight, gradient, m!, v!, { ...fixed, ...settings });
    },
  };
}

/** Adam; weight decay, where given, is added to the gradient. */
export const adam = (options: AdamOptions = {}): Optimiser => adamLike("adam", false, options);

/** Adam with decoupled weight decay. */
export const adamw = (options: AdamOptions = {}): Optimiser =>
  adamLike("adamw", true, { weightDecay: 0.01, ...defined(options) });

/** LAMB's numbers. */
export interface LambOptions extends AdamOptions {
  /** Scale each step by |weight| / |direction|. Off for biases and norms. */
  adapt?: boolean;
}

/** LAMB as the adaptive-depth original has it: no bias correction unless asked, one trust ratio per tensor. */
export function lamb(options: LambOptions = {}): Optimiser {
  checkOptions("lamb", options, { ...adamRules, adapt: truth });
  const fixed = {
    ...adamDefaults,
    epsilon: 1e-6,
    weightDecay: 0.01,
    correction: "none" as const,
    adapt: true,
    ...defined(options),
  };
  const ratios = new WeakMap<Float32Array, number>();
  return {
    name: "lamb",
    rule: { kind: "lamb", ...fixed },
    moments: ["m", "v"],
    perTensor: true,
    update: (kernels, { weight, gradient, moments: [m, v] }, settings) => {
      ratios.set(weight, kernels.lamb(weight, gradient, m!, v!, { ...fixed, ...settings }));
    },
    lastRatio: (slot) => ratios.get(slot.weight),
  };
}

/** Muon's numbers. */
export interface MuonOptions {
  /** Part of the momentum that each step keeps. */
  momentum?: number;
  /** Look one step ahead: mix the gradient into the direction once more. */
  nesterov?: boolean;
  weightDecay?: number;
  /** Newton–Schulz iterations. */
  iterations?: number;
}

/** Numbers of stochastic gradient descent. */
export interface SgdOptions {
  momentum?: number;
  /** What is left out of each gradient after the first, as PyTorch has it. */
  dampening?: number;
  weightDecay?: number;
  nesterov?: boolean;
}

const sgdRules: Rules<SgdOptions> = {
  momentum: decay,
  dampening: number({ from: 0, to: 1 }),
  weightDecay: notNegative,
  nesterov: truth,
};

/** Stochastic gradient descent with momentum. */
export function sgd(options: SgdOptions = {}): Optimiser {
  checkOptions("sgd", options, sgdRules);
  const { momentum = 0, dampening = 0, weightDecay = 0, nesterov = false } = options;
  return {
    name: "sgd",
    rule: { kind: "sgd", momentum, dampening, weightDecay, nesterov },
    moments: ["momentum"],
    perTensor: false,
    update: (kernels, { weight, gradient, moments: [velocity] }, { rate, step, gradientScale }) => {
      // The first velocity is the gradient itself, undamped; without momentum there is none to damp.
      const part = momentum === 0 || step === 1 ? 1 : 1 - dampening;
      const damped = { gradientScale: gradientScale * part, weightDecay: weightDecay * part };
      kernels.sgd(weight, gradient, velocity!, { momentum, nesterov, rate, ...damped });
    },
  };
}
