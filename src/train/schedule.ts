/** Learning-rate schedules as functions of the update's index; the originals' formulas under their own names. */
import { rejectOption } from "../base/errors.ts";
import { check, checkOptions, fraction, number, oneOf, type Rules, required, whole } from "../base/options.ts";

/** Learning rate of update `step`, counted from 0. */
export type Schedule = (step: number) => number;

/** The schedules there are. */
export const scheduleNames = ["constant", "cosine", "linear", "inverse-sqrt", "par-original"] as const;
/** Names of schedules. */
export type ScheduleName = (typeof scheduleNames)[number];

/** Sizes of a schedule. */
export interface ScheduleOptions {
  /** Highest rate, reached at the end of the warm-up. */
  rate: number;
  /** Updates of linear warm-up. */
  warmup: number;
  /** Updates in all. */
  total: number;
  /** What is left of the highest rate at the end, as a fraction of it (cosine and linear). */
  floor?: number | undefined;
}

const notNegative = number({ from: 0 });

const rules: Rules<ScheduleOptions> = {
  rate: required(notNegative),
  warmup: required(notNegative),
  total: required(notNegative),
  floor: fraction,
};

/** How far the decay has come, from 0 at the end of the warm-up to 1 at the end. */
function decayed(step: number, { warmup, total }: ScheduleOptions): number {
  return Math.min(1, Math.max(0, (step - warmup) / Math.max(1, total - warmup)));
}

const shapes: Record<Exclude<ScheduleName, "par-original">, (step: number, options: ScheduleOptions) => number> = {
  constant: () => 1,
  cosine: (step, options) => 0.5 * (1 + Math.cos(Math.PI * decayed(step, options))),
  linear: (step, options) => 1 - decayed(step, options),
  "inverse-sqrt": (step, { warmup }) => Math.sqrt(Math.max(1, warmup) / Math.max(step + 1, warmup, 1)),
};

/** Linear warm-up to `rate`, then the named shape. The first update already has a rate, rate / warmup, but with `par-original`. */
export function schedule(name: ScheduleName, options: ScheduleOptions): Schedule {
  check("schedule", name, oneOf(scheduleNames));
  checkOptions(`schedule ${name}`, options, rules);
  const { rate, warmup, total, floor = 0 } = options;
  if (name === "par-original") return parSchedule({ rate, warmup, total });
  if (warmup > total) {
    rejectOption({
      who: "schedule",
      needed: `a warm-up of at most ${total} steps`,
      got: `${warmup}`,
      remedy: "train longer or warm up less",
    });
  }
  const settles = name === "cosine" || name === "linear";
  return (step) => {
    if (step < warmup) return (rate * (step + 1)) / warmup;
    const part = shapes[name](step, options);
    return rate * (settles ? floor + (1 - floor) * part : part);
  };
}

/**
 * The PAR Transformer-XL original: min(max·step/warmup, ½·max·(1 + cos(π·max(step − warmup, 0)/(total − warmup)))). Its first update
 * has rate 0; a total equal to the warm-up would divide by zero and is refused.
 */
export function parSchedule(options: Omit<ScheduleOptions, "floor">): Schedule {
  const { floor: _, ...known } = rules;
  checkOptions("PAR schedule", options, known);
  const { rate, warmup, total } = options;
  if (total === warmup) {
    rejectOption({ who: "schedule", needed: `another length than the warm-up's`, got: `${total} steps for both` });
  }
  return (step) => {
    const cosine = 0.5 * rate * (1 + Math.cos((Math.PI * Math.max(step - warmup, 0)) / (total - warmup)));
    return Math.min((rate * step) / warmup, cosine);
  };
}

/** d^−½ · min(s^−½, s·w^−1.5), the second schedule of the PAR original; s counts from 1. */
export function transformerSchedule(options: { width: number; warmup: number }): Schedule {
  checkOptions("transformer schedule", options, { width: required(whole(1)), warmup: required(number({ above: 0 })) });
  const { width, warmup } = options;
  return (step) => width ** -0.5 * Math.min((step + 1) ** -0.5, (step + 1) * warmup ** -1.5);
}

/** The adaptive-depth original: linear warm-up from 0, then rate·(1 − min(s, S)/S)^power, not shifted by the warm-up. */
export function polynomialSchedule(options: ScheduleOptions & { power?: number }): Schedule {
  checkOptions("polynomial schedule", options, { ...rules, power: notNegative });
  const { rate, warmup, total, power = 1 } = options;
  return (step) => (step < warmup ? (rate * step) / warmup : rate * (1 - Math.min(step, total) / total) ** power);
}
