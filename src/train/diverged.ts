/** The error of a training that went to infinity or NaN. */
import { LayerwiseError } from "../base/errors.ts";

/** What was seen when training diverged. */
export interface Divergence {
  /** The update that failed, counted from 1. */
  readonly step: number;
  readonly loss: number;
  /** The first parameter whose gradient is not finite, if one is. */
  readonly parameter: string | undefined;
  readonly learningRate: number;
}

/** Loss or gradients are not finite; the weights are still those before the step. */
export class Diverged extends LayerwiseError implements Divergence {
  readonly step: number;
  readonly loss: number;
  readonly parameter: string | undefined;
  readonly learningRate: number;

  constructor({ step, loss, parameter, learningRate }: Divergence) {
    const got = parameter === undefined ? "" : ` and the gradient of ${parameter} is not finite`;
    const where = `at step ${step}, the loss is ${loss}${got}`;
    const rate = `a lower learning rate (it was ${learningRate.toPrecision(3)})`;
    const remedy = `resume from it with ${rate}, a longer warm-up or tighter clipping`;
    super(`training: ${where}; the last checkpoint is good: ${remedy}`, 1, {
      code: "diverged",
      who: "training",
      needed: "a finite loss and finite gradients",
      got: where,
      remedy: `the last checkpoint is good: ${remedy}`,
    });
    this.name = "Diverged";
    this.step = step;
    this.loss = loss;
    this.parameter = parameter;
    this.learningRate = learningRate;
  }
}
