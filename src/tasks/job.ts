/** What every task opens to: a job, whose events fill a run folder and end with a result. */
import type { Engine } from "../engine/engine.ts";
import type { RunFolder } from "../runs/folder.ts";
import type { TrainEvent, TrainState } from "../train/events.ts";
import type { Stage } from "../train/stages.ts";

/** Something to tell a person that is no figure: what is being done, what was decided. */
export interface NoteEvent {
  readonly type: "note";
  readonly text: string;
}

/** Comes first: what is trained, how long, as far as it is known, and after which step it goes on. */
export interface BeginEvent {
  readonly type: "begin";
  readonly path: string | undefined;
  readonly totalSteps: number | null;
  readonly minutes: number | null;
  readonly step: number;
  /** Milliseconds spent in earlier sessions. */
  readonly elapsedMs: number;
  /** Text, model and cost, in a few rows. */
  readonly facts: readonly Fact[];
}

/** What a session of a task yields. */
export type TaskEvent = TrainEvent | NoteEvent | BeginEvent;

/** Says something to a person on the way. */
export type Say = (message: string) => void;

/** What a task may be handed: an engine, and who is told what a person should know. */
export interface Handed {
  /** Default: the best there is here; of a run that goes on, ONNX Runtime with as many threads as it began with. */
  readonly engine?: Engine | undefined;
  readonly say?: Say | undefined;
}

/** A row of a description. */
export interface Fact {
  readonly what: string;
  readonly value: string;
}

/** From where a job's events begin. */
export interface Start {
  readonly resume: TrainState | undefined;
  readonly signal: AbortSignal;
}

/** A step to be tried before a run is begun: for `--dry-run`. */
export interface Rehearsal {
  readonly name: string;
  readonly stage: Stage;
  readonly accumulate: number;
  /** How many updates of the stage make one of the run, where a whole one would take too long to try. Default: 1. */
  readonly times?: number | undefined;
  /** Updates of this part, where a step takes so long. */
  updates(stepMs: number): number;
}

/** What can be described and tried before it is begun. */
export interface Rehearsed {
  /** What it is, in a few rows: data, model, cost. */
  describe(): readonly Fact[];
  rehearse(): Promise<readonly Rehearsal[]>;
}

/** Sees the events of a run on the way into its folder, and adds files of its own, such as pictures. */
export interface Observer {
  see(event: TaskEvent): Promise<void>;
  /** Ends with what a person should know, such as what could not be drawn. */
  finish(): Promise<readonly string[]>;
}

/** A task, opened: data, model and engine are there, and mistakes in its settings have shown. */
export interface Job<R = unknown> extends Rehearsed {
  /** The text of config.yaml. */
  readonly config: string;
  readonly engine: Engine;
  /** A hash of the text that decides its results; null where only a program knows it. */
  readonly text: string | null;
  /** What the run folder needs besides, by file name. */
  readonly files: Readonly<Record<string, Uint8Array | string>>;
  /** Checkpoints to keep besides the best. */
  readonly keep: number;
  readonly length: { readonly totalSteps: number | null; readonly minutes: number | null };
  /** Trains, from the start or from a state, and ends with the result. */
  events(start: Start): AsyncGenerator<TrainEvent | NoteEvent, R, void>;
  /** The result of a run that has ended, out of its last state. */
  concluded(state: TrainState, run: RunFolder): Promise<R>;
  /** Files to keep of a result, by name. */
  kept?(result: R): Readonly<Record<string, string>>;
  attach?(run: RunFolder): Promise<Observer>;
}
