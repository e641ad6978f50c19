/** Optimiser groups of a task's settings: matrices decay, biases and norms do not. */
import type { Engine } from "../engine/engine.ts";
import type { Parameter } from "../nn/index.ts";
import { sortParameters } from "../train/grouping.ts";
import type { Group } from "../train/memory.ts";
import { adam, adamw, lamb, type Optimiser, sgd } from "../train/optimiser.ts";

export interface OptimiserSettings {
  readonly optimiser: "muon" | "adamw" | "adam" | "lamb" | "sgd";
  readonly weightDecay: number;
  readonly momentum: number;
}

/** Matrices decay, biases and norms do not. */
export async function groupsOf(
  config: OptimiserSettings,
  parameters: readonly Parameter[],
  engine: Engine,
): Promise<Group[]> {
  const { hidden, matrices, rest } = sortParameters(parameters);
  const others = { parameters: rest, optimiser: optimiserOf(config, false) };
  if (config.optimiser !== "muon") {
    return [{ parameters: [...hidden, ...matrices], optimiser: optimiserOf(config, true) }, others];
  }
  const { muon } = await import("../train/muon.ts");
  return [
    { parameters: hidden, optimiser: muon(engine, { weightDecay: config.weightDecay }) },
    { parameters: matrices, optimiser: optimiserOf(config, true) },
    others,
  ];
}

function optimiserOf(config: OptimiserSettings, matrix: boolean): Optimiser {
  const weightDecay = matrix ? config.weightDecay : 0;
  const moments = { beta1: 0.9, beta2: 0.99, weightDecay };
  switch (config.optimiser) {
    case "adam":
      return adam({ ...moments, weightDecay: 0 });
    case "sgd":
      return sgd({ momentum: config.momentum, weightDecay });
    case "lamb":
      return lamb({ weightDecay, adapt: matrix });
    default:
      return adamw(moments);
  }
}
