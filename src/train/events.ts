/** What training tells the world: plain events, and the state from which it can go on exactly. */
import type { StreamState } from "../base/random.ts";

/** Where training stands, besides its tensors; plain JSON. */
export interface Progress {
  /** Updates made. */
  step: number;
  /** Updates that each group of parameters has had; a group that was frozen has fewer. */
  groupUpdates: readonly number[];
  /** Index of the next training batch, counted over all epochs. */
  position: number;
  /** Random streams by name. */
  streams: Record<string, StreamState>;
  /** The best evaluation so far: the lowest loss, or the highest score where one decides. */
  best: { step: number; loss: number; score?: number } | null;
  /** Evaluations in a row without a new best: for early stopping. */
  evaluationsWithoutBest: number;
  /** Milliseconds spent training, over all sessions. */
  elapsedMs: number;
  /** Length of the run in updates: fixed, or once it is known, for runs measured in minutes. */
  totalSteps: number | null;
  /** True once the run has come to its end. */
  finished: boolean;
  /** What the caller of the loop keeps with it. */
  notes?: Readonly<Record<string, unknown>>;
}

/** Everything that exact resumption needs. */
export interface TrainState {
  readonly progress: Progress;
  /** Weights by parameter name. */
  readonly weights: ReadonlyMap<string, StateTensor>;
  /** Optimiser moments and memories, by name (`m blocks.0.up.weight`). */
  readonly moments: ReadonlyMap<string, StateTensor>;
}

/** A tensor of a checkpoint. */
export interface StateTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** The first tensor of a state that holds a number which is not finite, if one does. */
export function notFinite({ weights, moments }: TrainState): string | undefined {
  const isBad = ([, { data }]: [string, StateTensor]) => !data.every(Number.isFinite);
  return [...weights, ...moments].find(isBad)?.[0];
}

/** An update was made. */
export interface StepEvent {
  readonly type: "step";
  readonly step: number;
  readonly loss: number;
  readonly learningRate: number;
  readonly gradientNorm: number;
  readonly tokensPerSecond: number;
  readonly epoch: number;
  /** Other scalars of the step: temperature, penalties. */
  readonly scalars?: Readonly<Record<string, number>>;
  /** π of each block after the step, now and then in a search. */
  readonly choices?: readonly Choice[];
  /** The network that a search would take then. */
  readonly pattern?: string;
}

/** Figures of a split under the present weights. */
export interface Figures {
  readonly loss: number;
  /** exp(mean loss) per piece. */
  readonly perplexity: number;
  readonly perplexityPerWord: number;
  readonly bitsPerByte: number;
  /** Pieces that were predicted. */
  readonly tokens: number;
}

/** Forward milliseconds: the mean over what π may draw, and those of the most probable network. */
export interface Latency {
  readonly expectedMs: number;
  readonly chosenMs: number;
}

/** What a block of a search chooses from, and how probable each candidate is. */
export interface Choice {
  readonly names: readonly string[];
  readonly probabilities: readonly number[];
}

/** What an evaluation gives: figures of running text as far as there is such text, and others by name. */
export interface Measured extends Partial<Figures> {
  readonly loss: number;
  /** Accuracies, parts of the loss, depths. */
  readonly scalars?: Readonly<Record<string, number>>;
  /** The scalar that decides which evaluation is best: the higher the better. Without one the loss does. */
  readonly decisive?: string;
}

/** The model was evaluated. */
export interface EvaluationEvent extends Measured {
  readonly type: "evaluation";
  readonly step: number;
  readonly split: string;
  /** True when this is the best so far. */
  readonly best: boolean;
  /** π of each block, in a search. */
  readonly choices?: readonly Choice[];
  /** What the network costs by measured latencies, in a search that measured them. */
  readonly latency?: Latency;
  /** The network that a search would take now. */
  readonly pattern?: string;
  /** The mean of exp(batch loss), where batches follow each other with memory. */
  readonly meanBatchPerplexity?: number;
}

/** An evaluation is under way, and takes a while; run folders do not keep this. */
export interface EvaluatingEvent {
  readonly type: "evaluating";
  readonly step: number;
  /** Batches or texts so far, and in all. */
  readonly done: number;
  readonly count: number;
}

/** Asks for the state to be stored; `state` is a copy. */
export interface CheckpointEvent {
  readonly type: "checkpoint";
  readonly step: number;
  readonly best: boolean;
  readonly state: TrainState;
}

/** Why training ended: all steps done, no new best for too long, or told to stop. */
export type EndReason = "finished" | "stopped early" | "stopped";

/** Training ended. */
export interface EndEvent {
  readonly type: "end";
  readonly step: number;
  readonly reason: EndReason;
  readonly elapsedMs: number;
}

/** What happens while a model trains. */
export type TrainEvent = StepEvent | EvaluatingEvent | EvaluationEvent | CheckpointEvent | EndEvent;
