/** Training in stages: one loop over steps that are compiled one after another, as candidates are cut or texts grow longer. */
import type { Weights } from "../graph/index.ts";
import type { Batches } from "./evaluate.ts";
import type { EndEvent, EvaluationEvent, Measured, StateTensor, TrainEvent, TrainState } from "./events.ts";
import { type LoopOptions, trainLoop } from "./loop.ts";
import { watched } from "./session.ts";
import type { Step } from "./step-options.ts";
import type { Tell } from "./telling.ts";

/** A compiled step, and what goes with it. */
export interface Stage {
  readonly step: Step;
  readonly batches: Batches;
  /** Batches for one update, where stages differ in it. */
  readonly accumulate?: number | undefined;
  readonly evaluate?: ((tell?: Tell) => Promise<Measured>) | undefined;
  readonly scalars?: LoopOptions["scalars"] | undefined;
  /** Asked before each update: true ends the stage, and another one is opened. */
  readonly pause?: ((step: number) => boolean) | undefined;
  /** Asked after each update: true ends training for good. */
  readonly enough?: ((step: number) => boolean) | undefined;
  /** What checkpoints keep beside the loop's own progress. */
  readonly notes?: (() => Readonly<Record<string, unknown>>) | undefined;
  /** Gives back what was compiled; called once or more. */
  release(): Promise<void>;
}

/** A stage, and the state it begins with where that differs from the one before ended with. */
export interface Opened {
  readonly stage: Stage;
  readonly state?: TrainState | undefined;
}

/** Stages that follow one another, and the loop that all of them share. */
export interface StagedOptions extends Omit<LoopOptions, Exclude<keyof Stage, "accumulate"> | "resume"> {
  /** Opens the first stage, or the one that follows `before`; it may release that first, to save memory. */
  open(state: TrainState | undefined, before: Stage | undefined): Promise<Opened>;
  readonly resume?: TrainState | undefined;
}

export type { Weights } from "../graph/index.ts";

/** What training comes to; everything in it is a copy. */
export interface Trained {
  readonly end: EndEvent;
  /** The last weights. */
  readonly weights: Weights;
  /** The best evaluation of this session, with its weights; none where its model had other parameters than the last. */
  readonly best: { readonly evaluation: EvaluationEvent; readonly weights: Weights } | undefined;
  /** The last evaluation of this session. */
  readonly evaluation: EvaluationEvent | undefined;
}

/** Trains through all stages and yields the loop's events. Stages are released however it ends. */
export async function* trainStages({
  open,
  resume,
  ...options
}: StagedOptions): AsyncGenerator<TrainEvent, Trained, void> {
  const watch = new Watch();
  let [stage, state]: [Stage | undefined, TrainState | undefined] = [undefined, resume];
  try {
    for (;;) {
      const began = performance.now();
      const opened: Opened = await open(state, stage);
      await stage?.release();
      stage = opened.stage;
      state = opened.state ?? state;
      // What changing stages takes is part of the run's time.
      if (watch.paused && state) state = later(state, performance.now() - began);
      const accumulate = stage.accumulate ?? options.accumulate;
      state = yield* watch.pass(trainLoop({ ...options, ...stage, accumulate, resume: state }));
      if (!state) return watch.conclude(stage.step.weights);
    }
  } finally {
    await stage?.release();
  }
}

const later = ({ progress, ...tensors }: TrainState, ms: number): TrainState => ({
  ...tensors,
  progress: { ...progress, elapsedMs: progress.elapsedMs + ms },
});

/** Remembers what the result needs of the events that pass. */
class Watch {
  paused = false;
  #end: EndEvent | undefined;
  #evaluation: EvaluationEvent | undefined;
  #best: Best | undefined;

  async *pass(
    events: AsyncGenerator<TrainEvent, TrainState | undefined, void>,
  ): AsyncGenerator<TrainEvent, TrainState | undefined, void> {
    const state = yield* watched(events, (event) => this.#see(event));
    this.paused = state !== undefined;
    return state;
  }

  #see(event: TrainEvent): void {
    if (event.type === "evaluation") this.#evaluation = event;
    if (event.type === "end") this.#end = event;
    const evaluation = this.#evaluation;
    if (event.type === "checkpoint" && event.best && evaluation?.step === event.step) {
      this.#best = { evaluation, weights: event.state.weights };
    }
  }

  conclude(last: Weights): Trained {
    const best = this.#best && bestFor(last, this.#best);
    const weights = new Map([...last].map(([parameter, data]) => [parameter, data.slice()]));
    return { end: this.#end!, weights, best, evaluation: this.#evaluation };
  }
}

type Best = { readonly evaluation: EvaluationEvent; readonly weights: ReadonlyMap<string, StateTensor> };

/** The best weights by the last model's parameters; none where an earlier stage had others. */
function bestFor(last: Weights, { evaluation, weights }: Best): Trained["best"] {
  const found = [...last].map(([key, { length }]) => [key, weights.get(key.attributes.name)?.data, length] as const);
  if (!found.every(([, data, length]) => data?.length === length)) return undefined;
  return { evaluation, weights: new Map(found.map(([key, data]) => [key, data!])) };
}
