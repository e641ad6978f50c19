/** Optimiser groups of a task's settings: matrices decay, biases and norms do not. */
import type { Engine } from "../engine/engine.ts";
import type { Parameter } from "../nn/index.ts";
import { type OptimiserName, optimiserGroups } from "../train/groups.ts";
import type { Group } from "../train/memory.ts";

interface Settings {
  readonly optimiser: OptimiserName;
  readonly weightDecay: number;
  readonly momentum: number;
}

const MOMENTS = { beta1: 0.9, beta2: 0.99 };
const shared = ({ weightDecay, momentum }: Settings) => ({
  weightDecay,
  settings: { adam: MOMENTS, adamw: MOMENTS, sgd: { momentum } },
});

/** Of a language model; a halting unit with a rate or a beginning of its own has a group of its own. */
export function languageGroups(
  settings: Settings & { readonly haltRate: number; readonly ponderFrom: number },
  parameters: readonly Parameter[],
  engine: Engine,
): Group[] {
  const { optimiser, haltRate, ponderFrom } = settings;
  const unit = { rateFactor: haltRate, active: (step: number) => step > ponderFrom };
  const byRole = haltRate === 1 && ponderFrom === 0 ? {} : { halting: unit };
  return optimiserGroups(parameters, { ...shared(settings), optimiser, engine, matricesFirst: true, byRole });
}

/** Of a translation model. */
export function translationGroups(settings: Settings, parameters: readonly Parameter[], engine: Engine): Group[] {
  return optimiserGroups(parameters, { ...shared(settings), optimiser: settings.optimiser, engine });
}
