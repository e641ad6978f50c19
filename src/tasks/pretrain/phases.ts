/** The phases of pre-training: short texts first, then, where asked, long ones; sizes, rates and where one ends. */
import { polynomialSchedule, type Schedule, schedule } from "../../train/schedule.ts";
import type { PretrainingConfig } from "./settings.ts";

/** Texts and batches of one phase. */
export interface Phase {
  readonly length: number;
  readonly batch: number;
  readonly accumulate: number;
  /** Masked places a text. */
  readonly predictions: number;
  readonly rate: number;
  /** A part of the phase's updates, or from 1 on a number of them. */
  readonly warmup: number;
}

const slots = ({ predictions, maskShare }: PretrainingConfig, length: number) =>
  predictions ?? Math.max(1, Math.ceil(maskShare * length));

/** One phase, or two. The second has as many texts an update as the first, in batches of as many tokens unless told otherwise. */
export function phasesOf(config: PretrainingConfig): [Phase, ...Phase[]] {
  const { length, batch, accumulate, rate, warmup, longLength } = config;
  const first = { length, batch, accumulate, predictions: slots(config, length), rate, warmup };
  if (longLength === null) return [first];
  const long = config.longBatch ?? Math.max(1, Math.round((batch * length) / longLength));
  const second = {
    length: longLength,
    batch: long,
    accumulate: Math.max(1, Math.round((batch * accumulate) / long)),
    predictions: slots(config, longLength),
    rate: config.longRate,
    warmup: config.longWarmup,
  };
  return [first, second];
}

/** The update with which the last phase begins, or the end where there is one phase only. */
export function lastPhaseFrom({ longLength, longShare }: PretrainingConfig, total: number): number {
  return longLength === null ? total : total - Math.round(longShare * total);
}

/** Rates of all phases one after another, each with a warm-up of its own. */
export function phasedSchedule(config: PretrainingConfig, phases: readonly Phase[], total: number): Schedule {
  const start = lastPhaseFrom(config, total);
  const [first, second] = phases.map((phase, i) => rateOf(config, phase, i === 0 ? start : total - start));
  return (step) => (step < start || !second ? first!(step) : second(step - start));
}

/** A run measured in minutes does not know its updates at first; nothing warms up over more than these. */
const LONGEST = 20_000;

function rateOf(config: PretrainingConfig, { rate, warmup }: Phase, total: number): Schedule {
  const updates = Math.min(total, warmup < 1 ? Math.round(warmup * Math.min(total, LONGEST)) : warmup);
  const options = { rate, warmup: updates, total };
  return config.schedule === "polynomial" ? polynomialSchedule(options) : schedule(config.schedule, options);
}
