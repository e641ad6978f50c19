/** What lasts from stage to stage of a search: candidates are cut, and the next stage is compiled without them. */
import { candidateName } from "../../analysis/latency.ts";
import { median } from "../../base/median.ts";
import { formatNumber } from "../../base/table.ts";
import type { Supernet } from "../../model/supernet.ts";
import type { StepEvent, TrainEvent, TrainState } from "../../train/events.ts";
import { Settled, type Standing } from "../../train/phases.ts";
import type { Opened, Trained } from "../../train/stages.ts";
import type { NoteEvent } from "../job.ts";
import { chosenOf } from "./choice.ts";
import type { Course } from "./course.ts";
import type { Cut } from "./cut.ts";
import { narrowState, openBlocks, settleSurest, sizeOf, survivorsAt } from "./cutting.ts";
import { modelAt, type Narrowable } from "./parts.ts";
import type { SearchConfig } from "./settings.ts";
import { choicesOf, patternOf, type SearchStage } from "./stage.ts";

/** What checkpoints of a search keep beside those of any training. */
interface Notes extends Readonly<Record<string, unknown>> {
  readonly alive: Supernet["alive"];
  readonly standing: Standing;
  readonly cuts: readonly Cut[];
}

/** What a stored search had cut by then. */
export const cutsIn = (state: TrainState | undefined): readonly Cut[] =>
  (state?.progress.notes as Notes | undefined)?.cuts ?? [];

/** How often in a search π is written down. */
const LOOKS = 100;

/** The events of training with what narrowing says between them; π is added to some steps. Stages are released however it ends. */
export async function* narrowedEvents<M extends Narrowable<M>>(
  events: AsyncGenerator<TrainEvent, Trained, void>,
  narrowing: Narrowing<M>,
): AsyncGenerator<TrainEvent | NoteEvent, Trained, void> {
  try {
    for (;;) {
      const { value, done } = await events.next();
      for (const text of narrowing.told()) yield { type: "note", text };
      if (done) return value;
      yield value.type === "step" ? narrowing.see(value) : value;
    }
  } finally {
    await events.return(undefined as never);
  }
}

/** What is narrowed: a supernet with all its candidates, when it is looked at, and how a stage of it is opened. */
export interface NarrowingOptions<M extends Narrowable<M>> {
  readonly model: M;
  readonly course: Pick<Course, "total" | "frozen" | "alternates">;
  readonly settings: Pick<SearchConfig, "cut" | "settle" | "decide"> & { readonly cutEvery: number };
  /** Tokens of an update, by which speed is told. */
  readonly tokens: number;
  open(model: M): Promise<SearchStage<M>>;
}

export class Narrowing<M extends Narrowable<M>> {
  readonly cuts: Cut[];
  readonly #parts: NarrowingOptions<M>;
  readonly #settled: Settled;
  readonly #told: string[] = [];
  #stage: SearchStage<M> | undefined;
  #total: number;
  #stepMs: number[] = [];

  constructor(parts: NarrowingOptions<M>, resume: TrainState | undefined) {
    this.#parts = parts;
    const { frozen: from, total } = parts.course;
    this.#total = total;
    this.#settled = new Settled({ from, total }, (resume?.progress.notes as Notes | undefined)?.standing);
    this.cuts = [...cutsIn(resume)];
  }

  /** Takes note of how many updates there are, as far as that is known by now. */
  expect(total: number): void {
    this.#total = total;
  }

  /** The model of the present stage. */
  get model(): M {
    return this.#stage!.model;
  }

  /** Lines for a person since this was last asked. */
  told(): string[] {
    return this.#told.splice(0);
  }

  /** Takes note of a step, and adds π to it now and then: some hundred times in all. */
  see(event: StepEvent): StepEvent {
    this.#stepMs.push((1000 * this.#parts.tokens) / event.tokensPerSecond);
    const every = Math.max(1, Math.round(this.#total / LOOKS));
    if (event.step % every !== 0) return event;
    const { model, step } = this.#stage!;
    return { ...event, choices: choicesOf(model, step.weights), pattern: patternOf(model, step.weights) };
  }

  /** Opens the first stage, or the next one without the candidates that are given up. */
  async open(state: TrainState | undefined): Promise<Opened> {
    const before = this.#stage;
    if (!before) return { stage: await this.#begin(modelAt(this.#parts.model, state)) };
    const began = performance.now();
    const model = this.#cut(before, state!.progress.step);
    const narrow = narrowState(state!, before.model, model);
    await before.release();
    const stage = await this.#begin(model);
    this.#told.push(`  compiled again in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    return { stage, state: narrow };
  }

  async #begin(model: M): Promise<SearchStage<M>> {
    const { course } = this.#parts;
    const opened = await this.#parts.open(model);
    const stage: SearchStage<M> = {
      ...opened,
      enough: (step) => course.alternates && this.#settled.see(step, `${model.chosen(opened.step.weights)}`),
      pause: (step) => this.#isDue(stage, step),
      notes: (): Notes => ({ alive: model.alive, standing: this.#settled.standing, cuts: this.cuts }),
    };
    this.#stage = stage;
    this.#stepMs = [];
    return stage;
  }

  #isDue(stage: SearchStage<M>, step: number): boolean {
    const { settings, course } = this.#parts;
    const { cut, cutEvery } = settings;
    if (cut === null || step === 0 || step % cutEvery !== 0 || step <= course.frozen) return false;
    return sizeOf(this.#survivors(stage, step).alive) < sizeOf(stage.model.alive);
  }

  /** What survives π, and whether the search decides now what π left open. */
  #survivors({ model, step: { weights } }: SearchStage<M>, step: number): { alive: number[][]; atEnd: boolean } {
    const { cut, settle, decide } = this.#parts.settings;
    const part = step / this.#total;
    if (decide !== null && part >= decide) return { alive: chosenOf(model, weights).map((k) => [k]), atEnd: true };
    const alive = survivorsAt(part, model, weights, cut!);
    if (!settle) return { alive, atEnd: false };
    return { alive: settleSurest(alive, model, weights, openBlocks(model.alive.length, settle, part)), atEnd: false };
  }

  /** The model without the candidates that are given up; tells which they are. */
  #cut(stage: SearchStage<M>, step: number): M {
    const { model } = stage;
    const probabilities = model.probabilities(stage.step.weights);
    const { alive, atEnd } = this.#survivors(stage, step);
    for (const [block, places] of alive.entries()) {
      const dead = model.alive[block]!.filter((k) => !places.includes(k));
      if (dead.length === 0) continue;
      const names = (list: readonly number[]) => list.map((k) => candidateName(model.choices[block]![k]!));
      const likeliest = (list: readonly number[]) => Math.max(...list.map((k) => probabilities[block]![k]!));
      const margin = likeliest(places) - likeliest(dead);
      const share = likeliest(places);
      const isOpen = atEnd && share < this.#parts.settings.cut!;
      this.cuts.push({
        step,
        block,
        cut: names(dead),
        left: names(places),
        margin,
        ...(isOpen ? { openAt: share } : {}),
      });
      const shares = dead.map((k) => `${names([k])} (${probabilities[block]![k]!.toFixed(3)})`).join(" and ");
      const kept = names(places).join(" and ");
      this.#told.push(`step ${formatNumber(step)}  block ${block + 1} loses ${shares}, keeps ${kept}`);
    }
    this.#told.push(`  a step took ${formatNumber(median(this.#stepMs), 1)} ms with ${sizeOf(model.alive)} candidates`);
    return model.narrowed(alive);
  }
}
