/** How a search trains: its length and turns, its temperature, and which optimiser moves which parameters. */
import { annealedTemperature } from "../../depth/searched.ts";
import type { Engine } from "../../engine/engine.ts";
import type { ParModel } from "../../model/par/par.ts";
import { sortParameters } from "../../train/grouping.ts";
import type { Group, ParameterTensor } from "../../train/memory.ts";
import { muon } from "../../train/muon.ts";
import { adam, adamw } from "../../train/optimiser.ts";
import { alternation, type Phases } from "../../train/phases.ts";
import { lengthOf, type SearchConfig } from "./settings.ts";

/** Length and turns of a search, once the number of updates is known. */
export interface Course {
  readonly total: number;
  /** Updates before the architecture moves. */
  readonly frozen: number;
  /** Who is trained when; undefined: all, always. */
  readonly phases: Phases | undefined;
  /** Whether weights and architecture take turns. */
  readonly alternates: boolean;
}

/** Part of the updates before the architecture moves: the paper's, where it moves by turns. */
const usualFreeze = { joint: 0, alternate: 0.2 } as const;

export function courseOf(config: SearchConfig, perEpoch: number): Course {
  const length = lengthOf(config);
  const total = "steps" in length ? length.steps : Math.max(1, Math.floor(length.epochs * perEpoch));
  const frozen = Math.floor((config.freeze ?? usualFreeze[config.procedure]) * total);
  if (config.procedure === "joint") {
    const phases = { weights: () => true, architecture: (step: number) => step > frozen };
    return { total, frozen, phases: frozen > 0 ? phases : undefined, alternates: false };
  }
  const period = Math.max(2, Math.min(perEpoch, Math.ceil((total - frozen) / 10)));
  return { total, frozen, phases: alternation({ freeze: frozen, period }), alternates: true };
}

export function temperatureOf({ temperatureStart, temperatureEnd, compat }: SearchConfig, total: number) {
  const formula = compat ? ("original" as const) : undefined;
  return annealedTemperature({ start: temperatureStart, end: temperatureEnd, total, compat: formula });
}

/** The paper's decay of the architecture, which has an optimiser of its own there. */
const ARCHITECTURE_DECAY = 5e-4;

/**
 * Matrices decay; biases and norms do not. The architecture has its own rate, and its own turns where they alternate. Groups may
 * become empty when candidates are cut, but never fewer: their updates are counted by place.
 */
export function groupsOf(
  model: ParModel,
  config: SearchConfig,
  { phases, alternates }: Course,
  engine: Engine,
): Group[] {
  const { weightDecay, rate, hiddenRate, architectureRate, beta2 } = config;
  const architecture = new Set(model.policy.architecture.map(({ tensor }) => tensor));
  const { hidden, matrices, rest } = sortParameters(model.parameters.filter(({ tensor }) => !architecture.has(tensor)));
  const moments = { beta1: 0.9, beta2 };
  const turn = (active?: (step: number) => boolean) => (active ? { active } : {});
  const weights = (parameters: readonly ParameterTensor[], decay: number): Group => ({
    ...{ parameters, optimiser: adamw({ ...moments, weightDecay: decay }) },
    ...turn(phases?.weights),
  });
  const own: Group = {
    ...{ parameters: hidden, optimiser: muon(engine, { weightDecay }) },
    rateFactor: (hiddenRate ?? rate) / rate,
    ...turn(phases?.weights),
  };
  const choice: Group = {
    parameters: [...architecture],
    optimiser: adam({ ...moments, weightDecay: alternates ? ARCHITECTURE_DECAY : 0 }),
    rateFactor: (architectureRate ?? rate) / rate,
    ...turn(phases?.architecture),
  };
  const decayed =
    config.optimiser === "muon"
      ? [own, weights(matrices, weightDecay)]
      : [weights([...hidden, ...matrices], weightDecay)];
  return [...decayed, weights(rest, 0), choice];
}
