/** The error of a training that went to infinity or NaN. */
import { LayerwiseError } from "../base/errors.ts";

/** What was seen when training diverged. */
export interface Divergence {
  /** The update that failed, counted from 1. */
  readonly step: number;
  readonly loss: number;
  /** The first parameter (or moment) that is not finite, if one is. */
  readonly parameter: string | undefined;
  /** Whether that is its gradient (the weights are still those before the step), or what the step left. Default: gradient. */
  readonly in?: "gradient" | "state" | undefined;
  readonly learningRate: number;
  /** The run that keeps checkpoints, and the step of its last one, where it has one. Each that is stored is finite. */
  readonly kept?: { readonly run: string; readonly step: number | null } | undefined;
}

/** Loss, gradients or weights are not finite. The message says whether there is a checkpoint to go on from. */
export class Diverged extends LayerwiseError implements Divergence {
  readonly step: number;
  readonly loss: number;
  readonly parameter: string | undefined;
  readonly in: "gradient" | "state";
  readonly learningRate: number;

  constructor({ step, loss, parameter, in: place = "gradient", learningRate, kept }: Divergence) {
    const what = place === "gradient" ? `the gradient of ${parameter} is` : `numbers of ${parameter} are`;
    const where = `at step ${step}, the loss is ${loss}${parameter === undefined ? "" : ` and ${what} not finite`}`;
    const remedy = remedyFor(learningRate, kept);
    const details = { code: "diverged", who: "training", needed: "finite numbers", got: where, remedy } as const;
    super(`training: ${where}; ${remedy}`, 1, details);
    this.name = "Diverged";
    this.step = step;
    this.loss = loss;
    this.parameter = parameter;
    this.in = place;
    this.learningRate = learningRate;
  }
}

function remedyFor(learningRate: number, kept: Divergence["kept"]): string {
  const how = `a lower learning rate (it was ${learningRate.toPrecision(3)}), a longer warm-up or tighter clipping`;
  if (kept?.step === undefined || kept.step === null) return `no checkpoint was stored: begin again with ${how}`;
  const lower = Number((learningRate / 4).toPrecision(1));
  return `the checkpoint of step ${kept.step} is finite: go on from it with ${how}, such as \`layerwise resume ${kept.run} --set rate=${lower}\``;
}
