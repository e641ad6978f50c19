/** Where a reproduction runs: its folder, its size and seeds, the sweeps in it, and figures that are worked out once and kept. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomically } from "../../files/atomic.ts";
import { readSealed, sealedJson } from "../../runs/sealed.ts";
import type { Values } from "../../runs/settings.ts";
import { summarise } from "../../runs/summary.ts";
import type { Block } from "../../tasks/papers/report.ts";
import { relayed } from "../../train/session.ts";
import type { Launcher, SweepEvent } from "../launcher.ts";
import type { SingleOrder } from "../orders.ts";
import { type SweepResult, sweep } from "../sweep.ts";
import type { SweepSpec } from "../sweep-plan.ts";
import type { Claim } from "./claims.ts";
import type { Need } from "./needs.ts";

/** Sizes of a reproduction: seconds on embedded texts, to see that everything runs; or hours on a laptop. */
export const reproducePresets = ["tiny", "laptop"] as const;
/** A size of a reproduction. */
export type ReproducePreset = (typeof reproducePresets)[number];

/** A training that is tried to say how long all of them take. */
export interface Expected {
  readonly order: SingleOrder;
  /** How often it is carried out, or what takes as long. */
  readonly count: number;
}

/** How long a part took. */
export interface PartTime {
  readonly part: string;
  readonly trainings: number;
  readonly seconds: number;
}

/** What an experiment came to, as far as it is done. */
export interface Outcome<F> {
  readonly reason: SweepResult["reason"];
  readonly figures: F;
  readonly times: readonly PartTime[];
}

/** A paper's experiment: its own file has the paper's table, our settings, and the claims. */
export interface Experiment<F extends object> {
  readonly title: string;
  /** The paper, and where its figures were taken from. */
  readonly source: string;
  /** What differs from the paper, whatever the figures are. */
  differences(preset: ReproducePreset): readonly string[];
  /** What the tiny size has instead of datasets and training. */
  readonly tiny: string;
  /** Of any other size. */
  readonly needs: readonly Need[];
  /** Trainings whose time is measured, and seconds that are known. */
  expected(course: Course): Promise<{ readonly tried: readonly Expected[]; readonly seconds: number }>;
  carryOut(course: Course): AsyncGenerator<SweepEvent, Outcome<F>, void>;
  claims(figures: F): readonly Claim[];
  /** The paper's table and ours, and pictures. */
  tables(figures: F): readonly Block[];
}

/** What a course is made of. */
export interface CourseOptions {
  readonly path: string;
  readonly preset: ReproducePreset;
  readonly seeds: number;
  readonly data: string | null;
  readonly threads: number | null;
  readonly on: string | Launcher;
  readonly signal: AbortSignal;
}

/** A reproduction on its way. */
export class Course {
  readonly path: string;
  readonly preset: ReproducePreset;
  readonly seeds: readonly number[];
  readonly data: string | null;
  readonly threads: number | null;
  readonly on: string | Launcher;
  readonly signal: AbortSignal;

  constructor(options: CourseOptions) {
    [this.path, this.preset, this.data] = [options.path, options.preset, options.data];
    [this.threads, this.on, this.signal] = [options.threads, options.on, options.signal];
    this.seeds = Array.from({ length: options.seeds }, (_, i) => i + 1);
  }

  /** A folder or file of it. */
  at(...names: readonly string[]): string {
    return join(this.path, ...names);
  }

  /** Settings that hold for every training. */
  get shared(): Values {
    return { data: this.data, ...(this.threads === null ? {} : { threads: this.threads }) };
  }

  /** Carries a sweep out in a folder of its own, or goes on with it. */
  async *sweep(name: string, spec: SweepSpec): AsyncGenerator<SweepEvent, SweepResult, void> {
    const { on, signal } = this;
    return yield* relayed(sweep({ ...spec, into: this.at(name), on, signal }));
  }

  /** Figures that are in the folder, or are worked out and kept there. */
  async remembered<T extends object>(name: string, work: () => Promise<T>): Promise<T> {
    const file = this.at("measured", `${name}.json`);
    const remedy = "delete it: the same command works it out again";
    if (existsSync(file)) return readSealed(await readFile(file, "utf8"), file, remedy).value as T;
    const found = await work();
    await writeAtomically(file, sealedJson(found));
    return found;
  }
}

/** What to tell a person. */
export const note = (text: string): SweepEvent => ({ type: "note", text });

/** How long the trainings of these runs took. */
export async function partTime(part: string, runs: readonly string[]): Promise<PartTime> {
  let milliseconds = 0;
  const begun = runs.filter((run) => existsSync(join(run, "config.yaml")));
  for (const run of begun) milliseconds += (await summarise(run)).elapsedMs ?? 0;
  return { part, trainings: begun.length, seconds: milliseconds / 1000 };
}
