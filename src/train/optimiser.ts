/** Optimisers: what one update does to a weight, its gradient and its moments, by the arena's kernels. */
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

export interface UpdateSettings {
  /** Learning rate of this update. */
  readonly rate: number;
  /** Number of this update, from 1. */
  readonly step: number;
  /** Factor of the gradient: clipping by norm, 1 / accumulated batches. */
  readonly gradientScale: number;
}

export interface Optimiser {
  readonly name: string;
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

export interface AdamOptions {
  beta1?: number;
  beta2?: number;
  epsilon?: number;
  weightDecay?: number;
  correction?: MomentSettings["correction"];
}

const adamDefaults = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, correction: "exact" } as const;

function adamLike(name: string, decoupled: boolean, options: AdamOptions): Optimiser {
  const fixed = { ...adamDefaults, ...options, decoupled };
  return {
    name,
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
  adamLike("adamw", true, { weightDecay: 0.01, ...options });

export interface LambOptions extends AdamOptions {
  /** Scale each step by |weight| / |direction|. Off for biases and norms. */
  adapt?: boolean;
}

/** LAMB as the adaptive-depth original has it: no bias correction unless asked, one trust ratio a tensor. */
export function lamb(options: LambOptions = {}): Optimiser {
  const fixed = {
    ...adamDefaults,
    epsilon: 1e-6,
    weightDecay: 0.01,
    correction: "none" as const,
    adapt: true,
    ...options,
  };
  const ratios = new WeakMap<Float32Array, number>();
  return {
    name: "lamb",
    moments: ["m", "v"],
    perTensor: true,
    update: (kernels, { weight, gradient, moments: [m, v] }, settings) => {
      ratios.set(weight, kernels.lamb(weight, gradient, m!, v!, { ...fixed, ...settings }));
    },
    lastRatio: (slot) => ratios.get(slot.weight),
  };
}

export interface SgdOptions {
  momentum?: number;
  /** What is left out of each gradient after the first, as PyTorch has it. */
  dampening?: number;
  weightDecay?: number;
  nesterov?: boolean;
}

/** Stochastic gradient descent with momentum. */
export function sgd(options: SgdOptions = {}): Optimiser {
  const { momentum = 0, dampening = 0, weightDecay = 0, nesterov = false } = options;
  return {
    name: "sgd",
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
