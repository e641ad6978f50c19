/** A search over the blocks of a PAR Transformer-XL: trains weights and architecture, cuts what is decided, reports. */

import { candidateName, type MeasuredCosts } from "../../analysis/latency.ts";
import { median } from "../../base/median.ts";
import { formatNumber } from "../../base/table.ts";
import type { ParModel } from "../../model/par/par.ts";
import { heatMap } from "../../pictures/heat-map.ts";
import { tokensIn } from "../../train/evaluate.ts";
import type { Latency, StepEvent, TrainEvent, TrainState } from "../../train/events.ts";
import { type LoopOptions, restore, trainLoop } from "../../train/loop.ts";
import { Settled, type Standing } from "../../train/phases.ts";
import { schedule } from "../../train/schedule.ts";
import { expectedLatency } from "./budget.ts";
import { courseOf, temperatureOf } from "./course.ts";
import { narrowState, openBlocks, settleSurest, sizeOf, survivorsAt } from "./cutting.ts";
import { modelAt, type SearchSession } from "./job.ts";
import { lengthOf, type SearchConfig } from "./settings.ts";
import { type Material, type SearchFigures, Stage } from "./stage.ts";

/** A block that lost candidates. */
export interface Cut {
  readonly step: number;
  readonly block: number;
  readonly cut: readonly string[];
  readonly left: readonly string[];
}

/** What a search ends with. */
export interface Found {
  readonly pattern: string;
  /** π of everything each block could be; 0 for what was cut. */
  readonly probabilities: readonly (readonly number[])[];
  readonly steps: number;
  readonly elapsedMs: number;
  /** exp(mean loss) per piece. */
  readonly perplexity: number;
  /** The original's figure: the mean of exp(batch loss). */
  readonly meanBatchPerplexity: number;
  /** The same with Gumbel noise at the last temperature, as the original evaluates; null where nothing was to be drawn. */
  readonly noisyMeanBatchPerplexity: number | null;
  readonly cuts: readonly Cut[];
  /** By measured costs, where they were measured. */
  readonly latency: Latency | null;
  /** What the network was to cost at most, in ms. */
  readonly targetMs: number | null;
  readonly costs: MeasuredCosts | null;
}

/** π at an evaluation. */
export interface Milestone {
  readonly step: number;
  readonly probabilities: readonly (readonly number[])[];
  /** The candidates, row by row. */
  readonly names: readonly string[];
  readonly temperature: number;
  readonly perplexity: number;
}

/** Hears what a person should; a picture may take the place of the one before. */
export type Tell = (text: string, isPicture?: boolean) => void;

export interface SearchOptions {
  /** Stops after the step, with a checkpoint. */
  readonly signal?: AbortSignal | undefined;
  /** Called once an evaluation. */
  readonly onMilestone?: ((milestone: Milestone) => void | Promise<void>) | undefined;
}

/** What checkpoints of a search keep beside those of any training. */
interface Notes {
  readonly alive: ParModel["alive"];
  readonly standing: Standing;
  readonly cuts: readonly Cut[];
}

/** A session whose text is in batches. */
export interface PreparedSearch extends SearchSession {
  readonly material: Material;
}

/** Opens the batches; text that is too short for one shows here. */
export async function prepareSearch(session: SearchSession): Promise<PreparedSearch> {
  const { config } = session;
  const training = await session.batches("train", config.memory);
  const valid = await session.batches("valid", config.evaluationMemory ?? config.memory);
  return { ...session, material: { training, valid, course: courseOf(config, training.count) } };
}

/** Trains weights and architecture, together or by turns, and yields the loop's events on the way. Gives nothing where it was stopped. */
export async function* search(
  session: PreparedSearch,
  tell: Tell,
  resume?: TrainState,
  options: SearchOptions = {},
): AsyncGenerator<TrainEvent, Found | undefined, void> {
  const { material } = session;
  const journey = new Journey(session, tell, options, resume);
  let stage = await Stage.open(session, modelAt(session, resume), material);
  try {
    let state = resume;
    if (journey.ended) restore(stage.step, resume!);
    while (!journey.ended) {
      state = yield* journey.go(stage, state);
      if (!state) break;
      const pausedAt = performance.now();
      const model = journey.cut(stage, state.progress.step);
      const narrow = narrowState(state, stage.model, model);
      await stage.release();
      stage = await Stage.open(session, model, material);
      const progress = { ...narrow.progress, elapsedMs: narrow.progress.elapsedMs + performance.now() - pausedAt };
      state = { ...narrow, progress };
      tell(`  compiled anew in ${((performance.now() - pausedAt) / 1000).toFixed(1)} s`);
    }
    return journey.ended ? await journey.found(stage) : undefined;
  } finally {
    await stage.release();
  }
}

/** What lasts from stage to stage of one search. */
class Journey {
  readonly #session: PreparedSearch;
  readonly #tell: Tell;
  readonly #options: SearchOptions;
  readonly #settled: Settled;
  readonly #cuts: Cut[];
  #last: SearchFigures | undefined;
  #stepMs: number[] = [];
  #end: { steps: number; elapsedMs: number } | undefined;

  constructor(session: PreparedSearch, tell: Tell, options: SearchOptions, resume?: TrainState) {
    [this.#session, this.#tell, this.#options] = [session, tell, options];
    const { frozen, total } = session.material.course;
    const notes = resume?.progress.notes as Notes | undefined;
    this.#settled = new Settled({ from: frozen, total }, notes?.standing);
    this.#cuts = [...(notes?.cuts ?? [])];
    const { finished, step, elapsedMs } = resume?.progress ?? { finished: false, step: 0, elapsedMs: 0 };
    this.#end = finished ? { steps: step, elapsedMs } : undefined;
  }

  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** Trains a stage; gives a state when candidates are to be cut. */
  async *go(stage: Stage, resume: TrainState | undefined): AsyncGenerator<TrainEvent, TrainState | undefined, void> {
    const events = trainLoop({ ...this.#loop(stage), ...(resume ? { resume } : {}) });
    this.#stepMs = [];
    for (;;) {
      const { value, done } = await events.next();
      if (done) return value;
      yield value;
      if (value.type === "step") this.#stepMs.push(this.#duration(value));
      if (value.type === "evaluation") await this.#report(stage, value.step);
      if (value.type === "end" && value.reason !== "stopped")
        this.#end = { steps: value.step, elapsedMs: value.elapsedMs };
    }
  }

  #loop(stage: Stage): LoopOptions {
    const { config } = this.#session;
    const { training, course } = this.#session.material;
    return {
      ...{ step: stage.step, batches: training, seed: config.seed, length: lengthOf(config) },
      schedule: (total) => scheduleOf(config, total),
      scalars: (total) => this.#scalars(stage, total),
      ...{ shuffle: false, accumulate: 1 },
      evaluate: async () => {
        this.#last = await stage.evaluate();
        return this.#last;
      },
      ...{ evaluateEvery: config.evaluateEvery, checkpointEvery: config.checkpointEvery },
      enough: (step) => course.alternates && this.#settled.see(step, `${stage.model.chosen(stage.weights)}`),
      pause: (step) => this.#due(stage, step),
      notes: (): Readonly<Record<string, unknown>> & Notes => ({
        ...{ alive: stage.model.alive, standing: this.#settled.standing, cuts: this.#cuts },
      }),
      ...(this.#options.signal ? { signal: this.#options.signal } : {}),
    };
  }

  /** The temperature and, under a budget, what the network would cost. */
  #scalars(stage: Stage, total: number): (step: number) => Record<string, number> {
    const { config, costs } = this.#session;
    const expected = () => expectedLatency(stage.model, costs!, stage.weights); // at every step: without the choices
    const temperatureAt = temperatureOf(config, total);
    return (step) => ({
      ...(stage.model.policy.temperature ? { temperature: temperatureAt(step) } : {}),
      ...(config.budget === null ? {} : { expected_ms: expected() }),
    });
  }

  #due(stage: Stage, step: number): boolean {
    const { cut, cutEvery } = this.#session.config;
    if (cut === null || step === 0 || step % cutEvery !== 0 || step <= this.#session.material.course.frozen)
      return false;
    return sizeOf(this.#survivors(stage, step)) < sizeOf(stage.model.alive);
  }

  #survivors({ model, weights }: Stage, step: number): number[][] {
    const { cut, settle } = this.#session.config;
    const part = step / this.#session.material.course.total;
    const alive = survivorsAt(part, model, weights, cut!);
    if (!settle) return alive;
    const open = openBlocks(model.alive.length, settle, part);
    return settleSurest(alive, model, weights, open);
  }

  /** The model without its dead candidates; says which they are. */
  cut(stage: Stage, step: number): ParModel {
    const { model, probabilities } = stage;
    const alive = this.#survivors(stage, step);
    for (const [block, places] of alive.entries()) {
      const dead = model.alive[block]!.filter((k) => !places.includes(k));
      if (dead.length === 0) continue;
      const names = (list: readonly number[]) => list.map((k) => candidateName(model.choices[block]![k]!));
      this.#cuts.push({ step, block, cut: names(dead), left: names(places) });
      const shares = dead.map((k) => `${names([k])} (${probabilities[block]![k]!.toFixed(3)})`).join(" and ");
      this.#tell(
        `step ${formatNumber(step)}  block ${block + 1} loses ${shares}, keeps ${names(places).join(" and ")}`,
      );
    }
    this.#tell(`  a step took ${formatNumber(median(this.#stepMs), 1)} ms with ${sizeOf(model.alive)} candidates`);
    return model.narrowed(alive);
  }

  #duration({ tokensPerSecond }: StepEvent): number {
    return (1000 * tokensIn(this.#session.material.training)) / tokensPerSecond;
  }

  async #report(stage: Stage, step: number): Promise<void> {
    const { probabilities, pattern, model } = stage;
    const last = this.#last!;
    const names = model.choices.reduce((a, b) => (b.length > a.length ? b : a)).map(candidateName);
    const map = model.policy.architecture.length > 0 ? `\n${heatMap(probabilities, names)}` : "";
    const latency = last.latency
      ? `  ${last.latency.expectedMs.toFixed(2)} ms expected, ${last.latency.chosenMs.toFixed(2)} ms chosen`
      : "";
    const figures = `perplexity ${formatNumber(last.perplexity, 2)} (mean of batches ${formatNumber(last.meanBatchPerplexity, 2)})`;
    this.#tell(`step ${formatNumber(step)}  ${figures}${latency}  ${pattern}${map}`, map !== "");
    const temperature = temperatureOf(this.#session.config, this.#session.material.course.total)(step);
    await this.#options.onMilestone?.({ step, probabilities, names, temperature, perplexity: last.perplexity });
  }

  async found(stage: Stage): Promise<Found> {
    const { config, costs, model } = this.#session;
    const { perplexity, meanBatchPerplexity } = this.#last ?? (await stage.evaluate());
    const noisy = await stage.noisyFigure(temperatureOf(config, 1)(1));
    const searched = model.policy.architecture.length > 0;
    return {
      ...{ pattern: stage.pattern, probabilities: stage.probabilities, ...this.#end!, perplexity, meanBatchPerplexity },
      noisyMeanBatchPerplexity: noisy ?? (searched ? meanBatchPerplexity : null),
      ...{ cuts: this.#cuts, latency: stage.latency ?? null, targetMs: model.options.budget?.target ?? null, costs },
    };
  }
}

function scheduleOf({ schedule: name, rate, floor, warmup }: SearchConfig, total: number) {
  return schedule(name, { rate, floor, total, warmup: Math.min(warmup, total) });
}
