/** Compiles a training step where its engine keeps weights: on the device, or in this process. */
import { TrainingStep } from "./step.ts";
import type { Step, StepOptions } from "./step-options.ts";

/**
 * A step on its engine. Weights stay on a device that has room for them, unless a batch is divided or an optimiser has no rule to
 * write into a graph: then gradients come back, and are applied here.
 */
export async function compileStep(options: StepOptions): Promise<Step> {
  const { engine, groups, share, parts } = options;
  if (!engine.residence || share || parts || groups.some(({ optimiser }) => !optimiser.rule))
    return TrainingStep.create(options);
  const { DeviceStep } = await import("./device-step.ts");
  return DeviceStep.create(options);
}
