/** A stage of a search: the compiled step and evaluation of a model, until candidates are cut and the next stage begins. */
import { candidateName } from "../../analysis/latency.ts";
import { lazily } from "../../base/lazily.ts";
import { printPattern } from "../../depth/pattern.ts";
import { patternBlockOf } from "../../model/par/candidates.ts";
import type { ParModel } from "../../model/par/par.ts";
import type { Supernet } from "../../model/supernet.ts";
import { type Batches, counted, figures, tokensIn } from "../../train/evaluate.ts";
import { Evaluator } from "../../train/evaluator.ts";
import type { Choice, Figures, Latency } from "../../train/events.ts";
import type { Stage, Weights } from "../../train/stages.ts";
import type { Tell } from "../../train/telling.ts";
import { openStage, type TrainOptions } from "../../train/train.ts";
import { expectedLatency, latencyOf } from "./budget.ts";
import { chosenOf } from "./choice.ts";
import { groupsOf } from "./course.ts";
import { evaluationShape, type SearchParts } from "./parts.ts";
import { lengthOf } from "./settings.ts";

/** What an evaluation of a search says. */
export interface SearchFigures extends Figures {
  /** The original's figure: the mean of exp(batch loss). */
  readonly meanBatchPerplexity: number;
  /** The network that would be taken now. */
  readonly pattern: string;
  readonly choices: readonly Choice[];
  readonly latency?: Latency;
}

/** A stage, and the model that it trains. */
export interface SearchStage<M extends Supernet = ParModel> extends Stage {
  readonly model: M;
}

/** The loss of batches in order, and the mean of their perplexities. */
export async function evaluateOn(
  evaluator: Evaluator,
  weights: Weights,
  batches: Batches,
  {
    temperature = 1,
    signal,
    tell,
  }: { temperature?: number; signal?: AbortSignal | undefined; tell?: Tell | undefined } = {},
): Promise<{ loss: number; meanBatchPerplexity: number }> {
  const losses = await evaluator.losses(weights, counted(batches, tell), {
    scalars: { temperature: [temperature] },
    signal,
  });
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return { loss: mean(losses), meanBatchPerplexity: mean(losses.map(Math.exp)) };
}

/** The most probable network or, under a budget, the most probable one that keeps to it. */
export function patternOf(model: Supernet, weights: Weights): string {
  const chosen = chosenOf(model, weights).map((k, i) => model.choices[i]![k]!);
  return printPattern(chosen.map(patternBlockOf));
}

/** How a search trains, whatever its candidates. */
export function trainOptions({ settings, engine, batches }: SearchParts): TrainOptions {
  return {
    ...lengthOf(settings),
    engine,
    data: { train: batches.train },
    seed: settings.seed,
    rate: settings.rate,
    schedule: settings.schedule,
    floor: settings.floor,
    warmup: settings.warmup,
    clipNorm: settings.clipNorm,
    clipValue: settings.clipValue,
    parts: settings.accumulate,
    shuffle: false,
    evaluateEvery: settings.evaluateEvery,
    checkpointEvery: settings.checkpointEvery,
  };
}

/** Compiles the step of a model; its evaluation when it is first asked for. */
export async function openSearchStage(parts: SearchParts, model: ParModel): Promise<SearchStage> {
  const noisy = parts.settings.noisyEvaluation;
  const evaluator = lazily(() => evaluatorOf(parts, model, noisy));
  let temperature = 1; // as it is after the last update
  const stage: Stage = await openStage(model, {
    ...trainOptions(parts),
    // π is looked at after every update: weights stay in this process.
    engine: { ...parts.engine, residence: undefined },
    groups: groupsOf(model, parts.settings, parts.course, parts.engine),
    initial: model === parts.model ? parts.initial : undefined,
    scalars: (total) => {
      const at = scalarsAt(parts, model, total, () => stage.step.weights);
      return (step) => {
        temperature = model.policy.scalars.temperature?.at(step + 1, total) ?? 1;
        return at(step);
      };
    },
    evaluate: async (weights, tell) => figuresBy(await evaluator(), parts, model, weights, { temperature, tell }),
  });
  return {
    ...stage,
    model,
    release: async () => void (await Promise.all([stage.release(), evaluator.release()])),
  };
}

/** The temperature and, under a budget, what the network would cost. */
function scalarsAt({ settings, costs }: SearchParts, model: ParModel, total: number, weights: () => Weights) {
  const expected = () => expectedLatency(model, costs!, weights()); // at every step: without the choices
  const { temperature } = model.policy.scalars;
  return (step: number) => ({
    ...(temperature ? { temperature: temperature.at(step, total) } : {}),
    ...(settings.budget === null ? {} : { expected_ms: expected() }),
  });
}

const evaluatorOf = ({ settings, engine }: SearchParts, model: ParModel, noisy = false): Promise<Evaluator> =>
  Evaluator.create(engine, model.objective({ ...evaluationShape(settings), training: false, noisy }));

/** Figures of the valid batches; where the evaluator draws noise, at a temperature. */
async function figuresBy(
  evaluator: Evaluator,
  { batches, validText, costs }: SearchParts,
  model: ParModel,
  weights: Weights,
  how: { temperature?: number; tell?: Tell | undefined } = {},
): Promise<SearchFigures> {
  const { loss, meanBatchPerplexity } = await evaluateOn(evaluator, weights, batches.valid, how);
  return {
    ...figures(loss, batches.valid.count * tokensIn(batches.valid), validText),
    meanBatchPerplexity,
    pattern: patternOf(model, weights),
    choices: choicesOf(model, weights),
    ...(costs ? { latency: latencyOf(model, costs, weights) } : {}),
  };
}

/** π of each block. */
export function choicesOf(model: Supernet, weights: Weights): Choice[] {
  const probabilities = model.probabilities(weights);
  return model.choices.map((block, i) => ({ names: block.map(candidateName), probabilities: probabilities[i]! }));
}

/** The figures of given weights, with a program of their own. */
export async function measureSearch(parts: SearchParts, model: ParModel, weights: Weights): Promise<SearchFigures> {
  const evaluator = await evaluatorOf(parts, model);
  return figuresBy(evaluator, parts, model, weights).finally(() => evaluator.release());
}

/** The mean of exp(batch loss) with Gumbel noise at the last temperature; null where no block has a choice. */
export async function noisyFigure(parts: SearchParts, model: ParModel, weights: Weights): Promise<number | null> {
  if (model.policy.architecture.length === 0) return null;
  const evaluator = await evaluatorOf(parts, model, true);
  const temperature = model.policy.scalars.temperature?.at(1, 1) ?? 1;
  const measured = evaluateOn(evaluator, weights, parts.batches.valid, { temperature });
  return (await measured.finally(() => evaluator.release())).meanBatchPerplexity;
}
