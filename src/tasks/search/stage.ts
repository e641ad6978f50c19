/** A stage of a search: the compiled step and evaluator of a model, until candidates are cut and the next stage begins. */

import { candidateName } from "../../analysis/latency.ts";
import { printPattern } from "../../depth/pattern.ts";
import { patternBlockOf } from "../../model/par/candidates.ts";
import type { ParModel } from "../../model/par/par.ts";
import { initialise } from "../../nn/index.ts";
import { type Batches, figures, tokensIn } from "../../train/evaluate.ts";
import type { Choice, Figures, Latency } from "../../train/events.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import { RecurrentEvaluator } from "../../train/recurrent.ts";
import { TrainingStep } from "../../train/step.ts";
import { latencyOf } from "./budget.ts";
import { chosenOf } from "./choice.ts";
import { type Course, groupsOf } from "./course.ts";
import { evaluationShape, type SearchSession } from "./job.ts";

/** Perplexities over the valid batches, without noise. */
export async function evaluateOn(
  evaluator: RecurrentEvaluator,
  weights: ReadonlyMap<ParameterTensor, Float32Array>,
  valid: Batches,
  temperature = 1,
): Promise<{ loss: number; meanBatchPerplexity: number }> {
  const losses = await evaluator.losses(weights, valid, { temperature: [temperature] });
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return { loss: mean(losses), meanBatchPerplexity: mean(losses.map(Math.exp)) };
}

/** What an evaluation of a search says besides its figures. */
export interface SearchFigures extends Figures {
  readonly meanBatchPerplexity: number;
  readonly choices: readonly Choice[];
  readonly latency?: Latency;
}

/** What every stage of a search trains on and is judged by. */
export interface Material {
  readonly training: Batches;
  readonly valid: Batches;
  readonly course: Course;
}

export class Stage {
  readonly model: ParModel;
  readonly step: TrainingStep;
  readonly #session: SearchSession;
  readonly #material: Material;
  readonly #evaluator: RecurrentEvaluator;

  static async open(session: SearchSession, model: ParModel, material: Material): Promise<Stage> {
    const { config, engine } = session;
    const { batch, length, seed, clipNorm } = config;
    const step = await TrainingStep.create({
      engine,
      ...model.objective({ batch, length, training: true }),
      probes: {},
      groups: groupsOf(model, config, material.course, engine),
      initial: (model === session.model && session.initial) || initialise(model.parameters, seed),
      ...{ seed, clipNorm },
    });
    const plain = model.objective({ ...evaluationShape(config), training: false });
    return new Stage(session, model, material, step, await RecurrentEvaluator.create(engine, plain));
  }

  private constructor(
    session: SearchSession,
    model: ParModel,
    material: Material,
    step: TrainingStep,
    evaluator: RecurrentEvaluator,
  ) {
    [this.#session, this.model, this.#material, this.step, this.#evaluator] = [
      session,
      model,
      material,
      step,
      evaluator,
    ];
  }

  get weights(): ReadonlyMap<ParameterTensor, Float32Array> {
    return this.step.weights;
  }

  get probabilities(): number[][] {
    return this.model.probabilities(this.weights);
  }

  get pattern(): string {
    const chosen = chosenOf(this.model, this.weights).map((k, i) => this.model.choices[i]![k]!);
    return printPattern(chosen.map(patternBlockOf));
  }

  get latency(): Latency | undefined {
    const { costs } = this.#session;
    return costs ? latencyOf(this.model, costs, this.weights) : undefined;
  }

  async evaluate(): Promise<SearchFigures> {
    const { valid } = this.#material;
    const { loss, meanBatchPerplexity } = await evaluateOn(this.#evaluator, this.weights, valid);
    const { probabilities, latency } = this;
    const choices = this.model.choices.map((block, i) => ({
      names: block.map(candidateName),
      probabilities: probabilities[i]!,
    }));
    return {
      ...figures(loss, valid.count * tokensIn(valid), this.#session.validSize),
      ...{ meanBatchPerplexity, choices, ...(latency ? { latency } : {}) },
    };
  }

  /** The mean of exp(batch loss) with noise, where blocks have a choice. */
  async noisyFigure(temperature: number): Promise<number | null> {
    if (this.model.policy.architecture.length === 0) return null;
    const { config, engine } = this.#session;
    const run = { ...evaluationShape(config), training: false, noisy: true };
    const evaluator = await RecurrentEvaluator.create(engine, this.model.objective(run));
    try {
      return (await evaluateOn(evaluator, this.weights, this.#material.valid, temperature)).meanBatchPerplexity;
    } finally {
      await evaluator.release();
    }
  }

  async release(): Promise<void> {
    await Promise.all([this.step.release(), this.#evaluator.release()]);
  }
}
