/** The runs of a tour one after another: each in its folder, begun or gone on with, its updates counted towards the whole. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../engine/engine.ts";
import type { Session } from "../../train/session.ts";
import type { TaskEvent } from "../job.ts";
import { type NewRun, newRun } from "../new-run.ts";
import { Run } from "../run.ts";
import { type Lap, laps, type PartName, type Sizes, stepsOf } from "./recipe.ts";

/** A part begins. */
export interface PartEvent {
  readonly type: "part";
  readonly part: PartName;
}

/** How far the tour is, after each update. */
export interface ProgressEvent {
  readonly type: "progress";
  readonly part: PartName;
  readonly run: string;
  readonly about: string;
  readonly step: number;
  readonly steps: number;
  /** Of the whole tour, from 0 to 1. */
  readonly done: number;
  readonly secondsLeft: number;
}

/** An event of a run of the tour. */
export interface RunEvent {
  readonly type: "run";
  readonly part: PartName;
  readonly run: string;
  readonly event: TaskEvent;
}

/** A part has ended: what was seen, in a sentence. */
export interface FindingEvent {
  readonly type: "finding";
  readonly part: PartName;
  readonly sentence: string;
}

/** What a tour tells on its way. */
export type TourEvent = PartEvent | ProgressEvent | RunEvent | FindingEvent;

const totalSeconds = laps.reduce((sum, { seconds }) => sum + seconds, 0);

/** Where a tour's runs lie, and how far they are. */
export class Course {
  readonly path: string;
  readonly sizes: Sizes;
  readonly engine: Engine;
  readonly signal: AbortSignal;
  readonly #start = performance.now();
  /** What was done when this tour began, which does not count in its pace. */
  #before: number | undefined;

  constructor(path: string, sizes: Sizes, engine: Engine, signal: AbortSignal) {
    [this.path, this.sizes, this.engine, this.signal] = [path, sizes, engine, signal];
  }

  /** The folder of a run. */
  folder(name: string): string {
    return join(this.path, name);
  }

  /** Carries a run out, or goes on with it where an earlier tour began it. */
  async *run<R>(name: string, begin: (into: NewRun) => Session<TaskEvent, R>): AsyncGenerator<TourEvent, R, void> {
    const path = this.folder(name);
    const { engine, signal } = this;
    const begun = existsSync(join(path, "config.yaml"));
    const session = begun ? (Run.resume(path, { engine, signal }) as Session<TaskEvent, R>) : begin(await newRun(path));
    let lap = laps.find((each) => each.name === name)!;
    for await (const event of session) {
      if (event.type === "begin") {
        lap = laps.find((each) => this.folder(each.name) === event.path) ?? lap;
        this.#before ??= this.#share(lap, event.step);
      }
      yield { type: "run", part: lap.part, run: lap.name, event };
      if (event.type === "step") yield this.#progress(lap, event.step);
    }
    return session.result;
  }

  #share(lap: Lap, step: number): number {
    const before = laps.slice(0, laps.indexOf(lap)).reduce((sum, { seconds }) => sum + seconds, 0);
    return (before + (lap.seconds * step) / stepsOf(lap.name, this.sizes)) / totalSeconds;
  }

  #progress(lap: Lap, step: number): ProgressEvent {
    const done = this.#share(lap, step);
    const seconds = (performance.now() - this.#start) / 1000;
    const secondsLeft = (seconds * (1 - done)) / Math.max(done - (this.#before ?? 0), 1e-6);
    const { name: run, part, about } = lap;
    return { type: "progress", part, run, about, step, steps: stepsOf(run, this.sizes), done, secondsLeft };
  }
}
