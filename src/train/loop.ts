/** The training loop: one readable generator that yields what happened; terminal, run folder and tests consume it. */
import { LayerwiseError, reject } from "../base/errors.ts";
import { RandomStream } from "../base/random.ts";
import { Clock, PACE_STEPS } from "./clock.ts";
import { type Batches, checkBatches, tokensIn } from "./evaluate.ts";
import { type Measured, notFinite, type Progress, type TrainEvent, type TrainState } from "./events.ts";
import { judged } from "./judged-weights.ts";
import type { Pace } from "./pace.ts";
import type { Schedule } from "./schedule.ts";
import type { Step } from "./step-options.ts";
import type { Tell } from "./telling.ts";
import { anyOf, told } from "./world.ts";

/** How long to train: updates, passes over the data, or minutes, of which may be known about how many updates they are. */
export type Length = { steps: number } | { epochs: number } | { minutes: number; expected?: number };

/** How long, as options say it: one of them. */
export interface Lengths {
  /** Updates. */
  readonly steps?: number | undefined;
  /** Passes over the data. */
  readonly epochs?: number | undefined;
  readonly minutes?: number | undefined;
}

/** The one of the three that is given. */
export function lengthOf(given: { steps?: unknown; epochs?: unknown; minutes?: unknown }): Length {
  const lengths = (["steps", "epochs", "minutes"] as const).filter((key) => typeof given[key] === "number");
  const [key] = lengths;
  if (key !== undefined && lengths.length === 1 && Number(given[key]) > 0) return { [key]: given[key] } as Length;
  const got = lengths.map((each) => `${each} ${given[each]}`).join(" and ") || "none";
  return reject({ who: "train", needed: "one of steps, epochs and minutes, above 0", got }, 2);
}

/** What a training loop runs, and when it evaluates and stores. */
export interface LoopOptions {
  readonly step: Step;
  readonly batches: Batches;
  readonly seed: number;
  readonly length: Length;
  /** Makes the schedule once the number of updates is known. */
  readonly schedule: (totalSteps: number) => Schedule;
  /** Scalar inputs that follow the step, such as a temperature: made once the number of updates is known. */
  readonly scalars?: ((totalSteps: number) => (step: number) => Readonly<Record<string, number>>) | undefined;
  /** Take the batches of each epoch in a random order. Off for models with memory. */
  readonly shuffle: boolean;
  /** Batches for one update. */
  readonly accumulate: number;
  readonly evaluate?: ((tell?: Tell) => Promise<Measured>) | undefined;
  /** Evaluate every so many updates; also at the end. */
  readonly evaluateEvery: number;
  /** Ask for a checkpoint every so many updates; also at the end. */
  readonly checkpointEvery: number;
  /** Stop after so many evaluations without a new best. */
  readonly patience?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told how many updates there are as soon as that is known, and again where minutes are estimated again. */
  readonly onTotal?: ((totalSteps: number) => void) | undefined;
  /** Up to which share of it a run measured in minutes may become longer. Default: 0.5. */
  readonly growUntil?: number | undefined;
  /** Asked after each update: true ends the run for good, as patience does, with a last evaluation. */
  readonly enough?: ((step: number) => boolean) | undefined;
  /** Asked before each update: true ends the generator with the state, without an end event, so that another step can go on. */
  readonly pause?: ((step: number) => boolean) | undefined;
  /** What the caller keeps in every state beside the loop's own progress. */
  readonly notes?: (() => Readonly<Record<string, unknown>>) | undefined;
  /** Go on from here. */
  readonly resume?: TrainState | undefined;
  readonly now?: (() => number) | undefined;
}

/** Before the first update. */
export const firstProgress: Progress = {
  step: 0,
  groupUpdates: [],
  position: 0,
  streams: {},
  best: null,
  evaluationsWithoutBest: 0,
  elapsedMs: 0,
  totalSteps: null,
  finished: false,
};

/** Index of the batch at `position`: the epochs one after another, each in its own order. */
export function batchIndex(position: number, count: number, seed: number, shuffle: boolean): number {
  const epoch = Math.floor(position / count);
  return shuffle ? orderOf(epoch, count, seed)[position % count]! : position % count;
}

let lastOrder: { key: string; order: number[] } | undefined;

function orderOf(epoch: number, count: number, seed: number): number[] {
  const key = `${seed} ${epoch} ${count}`;
  if (lastOrder?.key !== key) {
    const stream = new RandomStream(seed, `order of epoch ${epoch}`);
    lastOrder = { key, order: stream.shuffle(Array.from({ length: count }, (_, i) => i)) };
  }
  return lastOrder.order;
}

/** Updates in all, where that is known from the start. */
function knownTotal(length: Length, perEpoch: number, step: number): number | null {
  if ("steps" in length) return length.steps;
  if ("epochs" in length) return Math.max(1, Math.floor(length.epochs * perEpoch));
  return length.expected === undefined ? null : Math.max(length.expected, step + PACE_STEPS);
}

/**
 * Trains until the length is reached, patience ends or the signal comes. After a checkpoint event the consumer may have stored the
 * state; the same options with that state give the same events as never stopping. Returns a state where it was paused.
 */
export async function* trainLoop(options: LoopOptions): AsyncGenerator<TrainEvent, TrainState | undefined, void> {
  const { step, batches, length, accumulate, signal, now = () => performance.now() } = options;
  checkBatches(batches);
  const progress: Progress = structuredClone(options.resume?.progress ?? firstProgress);
  if (options.resume) restore(step, options.resume);
  progress.totalSteps ??= knownTotal(length, batches.count / accumulate, progress.step);
  const clock = new Clock(progress, now);
  const pace = await paceOf(options, progress, clock);
  if (progress.totalSteps !== null) options.onTotal?.(progress.totalSteps);
  let rateAt = options.schedule(progress.totalSteps ?? Number.MAX_SAFE_INTEGER);
  let scalarsAt = options.scalars?.(progress.totalSteps ?? Number.MAX_SAFE_INTEGER);
  let [evaluatedAt, storedAt, ended] = [-1, progress.step, false];

  const evaluate = async function* (): AsyncGenerator<TrainEvent, boolean> {
    if (!options.evaluate || evaluatedAt === progress.step) return false;
    evaluatedAt = progress.step;
    await step.fetch();
    const { evaluate: work } = options;
    const { telling } = await import("./telling.ts"); // a page fetches it when it first evaluates
    const figures = yield* clock.untimed(telling(progress.step, (tell) => told(step.world, () => work(tell))));
    const best = isBest(figures, progress.best);
    progress.best = best ? { step: progress.step, ...standing(figures) } : progress.best;
    progress.evaluationsWithoutBest = best ? 0 : progress.evaluationsWithoutBest + 1;
    const event = { type: "evaluation", step: progress.step, split: "valid", best, ...figures } as const;
    judged.set(event, () => step.weights);
    yield event;
    return best;
  };
  const state = () => stateOf(step, { ...progress, ...noted(options) }, clock.elapsedMs);
  let last = { loss: Number.NaN, learningRate: 0 };
  let aborted = signal?.aborted === true;
  const checkpoint = async (best: boolean): Promise<TrainEvent> => {
    await step.gather();
    const stored = state();
    const parameter = notFinite(stored);
    // What cannot be gone on from is not stored: the checkpoint before stays the last.
    if (parameter !== undefined) {
      const { Diverged } = await import("./diverged.ts");
      throw new Diverged({ step: progress.step, ...last, parameter, in: "state" });
    }
    storedAt = progress.step;
    return { type: "checkpoint", step: progress.step, best, state: stored };
  };

  while (progress.totalSteps === null || progress.step < progress.totalSteps) {
    aborted = await anyOf(step.world, signal?.aborted === true);
    if (aborted && step.isEven) break;
    if (options.pause?.(progress.step)) {
      await step.gather();
      return state();
    }
    const scalars = scalarsAt?.(progress.step);
    const taken = Array.from({ length: accumulate }, (_, i) => {
      const place = progress.position + i;
      const index = batches.fresh ? place : batchIndex(place, batches.count, options.seed, options.shuffle);
      return scalars ? { ...batches.at(index), ...step.inputsAmong(fed(scalars)) } : batches.at(index);
    });
    const learningRate = rateAt(progress.step);
    const started = now();
    const { loss, gradientNorm } = await step.run(taken, learningRate);
    last = { loss, learningRate };
    progress.step++;
    progress.position += accumulate;
    const tokensPerSecond = (1000 * accumulate * tokensIn(batches)) / (now() - started);
    const epoch = progress.position / batches.count;
    const seen = { step: progress.step, loss, learningRate, gradientNorm, tokensPerSecond, epoch };
    yield { type: "step", ...seen, ...(scalars ? { scalars } : {}) };
    // Each process has a clock of its own: the first one's counts.
    if (pace && (await anyOf(step.world, pace.settle() || pace.revise()))) {
      progress.totalSteps = await told(step.world, () => progress.totalSteps);
      rateAt = options.schedule(progress.totalSteps!);
      scalarsAt = options.scalars?.(progress.totalSteps!);
      options.onTotal?.(progress.totalSteps!);
    }
    const isLast = progress.step === progress.totalSteps || options.enough?.(progress.step) === true;
    let best = false;
    if (progress.step % options.evaluateEvery === 0 || isLast) best = yield* evaluate();
    const stop = options.patience !== undefined && progress.evaluationsWithoutBest >= options.patience;
    ended = stop || isLast;
    if (ended) break;
    if (progress.step % options.checkpointEvery === 0 || best) yield await checkpoint(best);
  }

  const stopped = aborted && !ended && progress.step !== progress.totalSteps;
  const best = progress.best?.step === progress.step;
  if (!stopped) progress.finished = true;
  if (!stopped || storedAt !== progress.step) yield await checkpoint(best);
  const reason = stopped ? "stopped" : progress.step === progress.totalSteps ? "finished" : "stopped early";
  yield { type: "end", step: progress.step, reason, elapsedMs: clock.elapsedMs };
  return undefined;
}

/** How many updates fit into minutes; a page fetches it where they are asked for. */
async function paceOf({ length, growUntil }: LoopOptions, progress: Progress, clock: Clock): Promise<Pace | undefined> {
  if (!("minutes" in length)) return undefined;
  const { Pace: Minutes } = await import("./pace.ts");
  return new Minutes(length.minutes, progress, clock, growUntil);
}

/** What an evaluation is compared by. */
const standing = ({ loss, scalars, decisive }: Measured) =>
  decisive === undefined ? { loss } : { loss, score: scalars![decisive]! };

const areFinite = ({ loss, score = 0 }: { loss: number; score?: number | undefined }) =>
  Number.isFinite(loss) && Number.isFinite(score);

/** Whether an evaluation is the best so far, by its decisive scalar or else by its loss; one that is not finite never is. */
function isBest(figures: Measured, before: Progress["best"]): boolean {
  const { loss, score } = standing(figures);
  if (!areFinite({ loss, score })) return false;
  if (before === null || !areFinite(before)) return true;
  return score === undefined ? loss < before.loss : score > (before.score ?? Number.NEGATIVE_INFINITY);
}

const noted = ({ notes }: LoopOptions) => (notes ? { notes: notes() } : {});

/** Scalars as a batch holds them. */
export const fed = (scalars: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(scalars).map(([name, value]) => [name, [value]]));

/** Makes a step what it was when the state was stored. */
export function restore(step: Step, { progress, weights, moments }: TrainState): void {
  const noise = progress.streams.noise;
  const comesFromElsewhere = !noise && progress.step === 0 && moments.size === 0;
  if (comesFromElsewhere) {
    step.restore({ ...step.state, weights }); // moments and noise begin anew
    return;
  }
  if (!noise) throw new LayerwiseError("checkpoint: expected the state of the noise stream, got none; it is damaged");
  step.restore({ weights, moments, noise, updates: progress.step, groupUpdates: progress.groupUpdates });
}

/** A copy of everything: training goes on while somebody keeps it. */
function stateOf(step: Step, progress: Progress, elapsedMs: number): TrainState {
  const { weights, moments, noise, groupUpdates } = step.state;
  const copied = { ...structuredClone(progress), groupUpdates, streams: { noise }, elapsedMs };
  return { weights: copyOf(weights), moments: copyOf(moments), progress: copied };
}

const copyOf = (tensors: TrainState["weights"]): TrainState["weights"] =>
  new Map([...tensors].map(([name, { shape, data }]) => [name, { shape, data: data.slice() }]));
