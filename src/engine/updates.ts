/** Settings of the optimiser kernels, and the constants that bias correction makes of them. */

/** What Adam and LAMB share. */
export interface MomentSettings {
  /** Learning rate of this step. */
  rate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay?: number;
  /** Number of this update, from 1; only bias correction looks at it. */
  step: number;
  /**
   * `exact`: moments divided by 1 - beta^step, epsilon added to sqrt(v / (1 - beta2^step)), as PyTorch has it. `rate`: the learning rate
   * takes both corrections, epsilon is added to sqrt(v), as Keras has it. `none`: no correction.
   */
  correction: "exact" | "rate" | "none";
  /** Factor of the gradient, in the same pass: for clipping by global norm, or 1 / accumulated batches. */
  gradientScale?: number;
}

/** One update of Adam or AdamW. */
export interface AdamSettings extends MomentSettings {
  /** Decay the weight itself by rate * weightDecay (AdamW) instead of adding weightDecay * weight to the gradient. */
  decoupled: boolean;
}

/** One update of LAMB. */
export interface LambSettings extends MomentSettings {
  /** Scale the step by |weight| / |direction|; false for biases and norms. */
  adapt: boolean;
}

/** One update of stochastic gradient descent. */
export interface SgdSettings {
  rate: number;
  momentum: number;
  /** Added to the gradient, times the weight. */
  weightDecay?: number;
  nesterov?: boolean;
  gradientScale?: number;
}

export interface AdamConstants {
  /** Factor of m. */
  correction: number;
  /** Factor of sqrt(v). */
  root: number;
  weightDecay: number;
  gradientScale: number;
}

/** The direction of a step is correction * m / (root * sqrt(v) + epsilon). */
export function adamConstants(settings: MomentSettings): AdamConstants {
  const { beta1, beta2, step, weightDecay = 0, gradientScale = 1 } = settings;
  const first = 1 - beta1 ** step;
  const second = Math.sqrt(1 - beta2 ** step);
  switch (settings.correction) {
    case "exact":
      return { correction: 1 / first, root: 1 / second, weightDecay, gradientScale };
    case "rate":
      return { correction: second / first, root: 1, weightDecay, gradientScale };
    case "none":
      return { correction: 1, root: 1, weightDecay, gradientScale };
  }
}
