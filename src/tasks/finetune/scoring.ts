/** Texts on their way through a compiled model: batches in, scores and depths by text out, with the time that the program took. */
import { median } from "../../base/median.ts";
import type { Feed, Feeds } from "../../engine/engine.ts";
import { type EncodedExample, layOut } from "../../text/labelled/glue-batches.ts";

/** What a model says about examples. */
export interface Scored {
  /** [examples, classes], or one number each. */
  readonly scores: Float32Array;
  readonly classes: number;
  /** Mean depth of real tokens, where tokens halt by themselves. */
  readonly depth: number | undefined;
  /** The same of each token of each example. */
  readonly depths: readonly Float32Array[] | undefined;
}

/** A program with the sizes of its batches. */
export interface ScoringProgram {
  run(feeds: Feeds): Promise<Readonly<Record<string, Feed>>>;
  readonly rows: number;
  /** Longest text. */
  readonly length: number;
  readonly pad: number;
}

/** Scores examples, a batch of places at a time. */
export class Scoring {
  readonly #program: ScoringProgram;
  readonly #examples: readonly EncodedExample[];
  readonly #depths: Float32Array[] = [];
  #scores = new Float32Array();
  #classes = 1;
  #depth = 0;
  #tokens = 0;
  /** Milliseconds of each run of a batch, which its places name. */
  readonly #times = new Map<readonly number[], number[]>();

  constructor(program: ScoringProgram, examples: readonly EncodedExample[]) {
    [this.#program, this.#examples] = [program, examples];
  }

  /** Runs a batch, and counts its time. */
  async run(places: readonly number[]) {
    const { rows, length: most, pad } = this.#program;
    const taken = places.map((place) => this.#examples[place]!);
    const { ids, mask, types, length } = layOut(taken, { rows, length: most, pad, regression: false });
    const shaped = (data: Int32Array) => ({ data, shape: [rows, length] });
    const feeds = { ids: shaped(ids), mask: shaped(mask), types: shaped(types) };
    const began = performance.now();
    const found = await this.#program.run(feeds);
    this.#times.set(places, [...(this.#times.get(places) ?? []), performance.now() - began]);
    return { found, length };
  }

  /** Runs a batch, and keeps what the model says about it. */
  async take(places: readonly number[]): Promise<void> {
    const { found, length } = await this.run(places);
    const { data, shape } = found.classes!;
    const classes = shape[1]!;
    this.#classes = classes;
    if (this.#scores.length === 0) this.#scores = new Float32Array(this.#examples.length * classes);
    for (const [row, place] of places.entries()) {
      const { ids } = this.#examples[place]!;
      this.#scores.set(data.subarray(row * classes, (row + 1) * classes), place * classes);
      const own = found.updates?.data.slice(row * length, row * length + ids.length);
      if (own) this.#depths[place] = own as Float32Array;
      this.#tokens += ids.length;
    }
    // Rows that only fill the batch repeat the last text and do not count.
    const used = found.updates?.data.subarray(0, places.length * length) ?? [];
    this.#depth += Array.from(used).reduce((a, b) => a + b, 0);
  }

  /** Forgets the time of the runs so far: a program's first one is slower than the others. */
  restart(): void {
    this.#times.clear();
  }

  /** Of batches that ran several times the median counts: other work on the machine takes turns with some of the runs. */
  get msPerText(): number {
    const batches = [...this.#times];
    const texts = batches.reduce((sum, [places]) => sum + places.length, 0);
    return batches.reduce((sum, [, times]) => sum + median(times), 0) / texts;
  }

  get scored(): Scored {
    const halts = this.#depth > 0;
    return {
      scores: this.#scores,
      classes: this.#classes,
      depth: halts ? this.#depth / this.#tokens : undefined,
      depths: halts ? this.#depths : undefined,
    };
  }
}
