/** The phases of pre-training: where asked, words of documents and next words first and long texts last; sizes, rates and where one ends. */
import { polynomialSchedule, type Schedule, schedule } from "../../train/schedule.ts";
import type { PretrainingConfig } from "./settings.ts";

/** What is predicted: masked pieces from all others, the next piece at every place from those before it, or the words of a document from half of them. */
export type PhaseTask = "masked" | "next" | "document";

/** Texts and batches of one phase. */
export interface Phase {
  readonly length: number;
  readonly batch: number;
  readonly accumulate: number;
  /** Places a text in which something is to be predicted. */
  readonly predictions: number;
  readonly task: PhaseTask;
  readonly rate: number;
  /** A part of the phase's updates, or from 1 on a number of them. */
  readonly warmup: number;
}

const slots = ({ predictions, maskShare }: PretrainingConfig, length: number) =>
  predictions ?? Math.max(1, Math.ceil(maskShare * length));

/** One phase to four: words of documents, next words, masked words, masked words of long texts. The last has as many texts an update as the others, in batches of as many tokens unless told otherwise. */
export function phasesOf(config: PretrainingConfig): [Phase, ...Phase[]] {
  const { length, batch, accumulate, rate, warmup, longLength } = config;
  const masked = {
    length,
    batch,
    accumulate,
    predictions: slots(config, length),
    rate,
    warmup,
    task: "masked",
  } as const;
  const before: Phase[] = [
    ...(config.documentShare > 0 ? [documentPhase(config, masked)] : []),
    ...(config.causalShare > 0 ? [{ ...masked, predictions: length - 1, task: "next" } as const] : []),
  ];
  const [first, ...others] = [...before, masked];
  if (longLength === null) return [first!, ...others];
  const long = config.longBatch ?? Math.max(1, Math.round((batch * length) / longLength));
  const last = {
    ...masked,
    length: longLength,
    batch: long,
    accumulate: Math.max(1, Math.round((batch * accumulate) / long)),
    predictions: slots(config, longLength),
    rate: config.longRate,
    warmup: config.longWarmup,
  };
  return [first!, ...others, last];
}

/** Documents are bags of words there, and as many make a batch as the table alone can take. */
function documentPhase({ documentBatch, documentRate }: PretrainingConfig, masked: Phase): Phase {
  return { ...masked, task: "document", batch: documentBatch, accumulate: 1, rate: documentRate };
}

/** The update with which each phase begins. */
export function phaseStarts(config: PretrainingConfig, total: number): [number, ...number[]] {
  const { documentShare, causalShare } = config;
  const document = documentShare > 0 ? [Math.round(documentShare * total)] : [];
  const causal = causalShare > 0 ? [Math.round((documentShare + causalShare) * total)] : [];
  return [0, ...document, ...causal, ...(config.longLength === null ? [] : [longFrom(config, total)])];
}

/** The update with which long texts begin, or the end where there are none. */
export function longFrom({ longLength, longShare }: PretrainingConfig, total: number): number {
  return longLength === null ? total : total - Math.round(longShare * total);
}

/** Rates of documents, of short texts and of long ones, each with a warm-up of its own. */
export function phasedSchedule(config: PretrainingConfig, phases: readonly Phase[], total: number): Schedule {
  const [words, long] = [Math.round(config.documentShare * total), longFrom(config, total)];
  const document = rateOf(config, phases[0]!, words);
  const short = rateOf(config, phases.find(({ task }) => task !== "document")!, long - words);
  const last = rateOf(config, phases.at(-1)!, total - long);
  return (step) => {
    if (step < words) return document(step);
    return step < long ? short(step - words) : last(step - long);
  };
}

/** A run measured in minutes does not know its updates at first; nothing warms up over more than these. */
const LONGEST = 20_000;

function rateOf(config: PretrainingConfig, { rate, warmup }: Phase, total: number): Schedule {
  const updates = Math.min(total, warmup < 1 ? Math.round(warmup * Math.min(total, LONGEST)) : warmup);
  const options = { rate, warmup: updates, total };
  return config.schedule === "polynomial" ? polynomialSchedule(options) : schedule(config.schedule, options);
}
