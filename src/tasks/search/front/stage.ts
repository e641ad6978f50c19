/** The training of a supernet by paths: each update runs and trains one network, embedding and softmax always. */
import { lazily } from "../../../base/lazily.ts";
import { parPieces } from "../../../model/par/pieces.ts";
import { initialise } from "../../../nn/index.ts";
import { type Batches, figures, tokensIn } from "../../../train/evaluate.ts";
import type { Measured } from "../../../train/events.ts";
import type { Group } from "../../../train/memory.ts";
import { PathEvaluator } from "../../../train/path-evaluator.ts";
import { PATH, PathProgram } from "../../../train/path-program.ts";
import type { Weights } from "../../../train/stages.ts";
import { TrainingStep } from "../../../train/step.ts";
import { clippingOf, weightGroups } from "../course.ts";
import { evaluationShape, type SearchParts } from "../parts.ts";
import type { SearchStage } from "../stage.ts";
import { pathAt, patternOfPath, turnsOf } from "./paths.ts";

/** Compiles the pieces of a supernet into a step that trains one path per update. */
export async function openPathStage(parts: SearchParts): Promise<SearchStage> {
  const { model, settings, engine, batches } = parts;
  const { batch, length, memory, seed } = settings;
  const pieces = parPieces(model, { batch, length, memory, training: true });
  const program = await PathProgram.create(engine, pieces);
  const step = await TrainingStep.around(
    {
      engine,
      inputs: { ...pieces.inputs, [PATH]: program.pathInput },
      noise: program.noise,
      carried: program.carried,
      sizes: pieces.sizes,
      groups: pathGroups(parts),
      initial: parts.initial ?? initialise(model.parameters, seed),
      seed,
      ...clippingOf(settings),
    },
    program.plan,
    program,
  );
  const evaluator = lazily(() => openRanking(parts, step.weights));
  return {
    step,
    model,
    batches: withPaths(batches.train, parts),
    evaluate: async () => evaluated(parts, await evaluator(), step.weights),
    release: async () => void (await Promise.all([step.release(), evaluator.release()])),
  };
}

/** Batches that bring the path of their update. */
function withPaths(batches: Batches, { model, settings }: SearchParts): Batches {
  return {
    ...batches,
    fresh: true,
    at: (place) => ({ ...batches.at(place % batches.count), [PATH]: pathAt(model.choices, settings.seed, place) }),
  };
}

/** Every candidate rests, with its moments, while others are on the path; π is not trained at all. */
function pathGroups({ model, settings, engine }: SearchParts): Group[] {
  const { seed } = settings;
  let last: { step: number; path: number[] } | undefined;
  const path = (step: number) => {
    if (last?.step !== step) last = { step, path: pathAt(model.choices, seed, step - 1) };
    return last.path;
  };
  const { embedding, head } = model.outer;
  const blocks = model.policy.blocks.flatMap((candidates, i) =>
    candidates.flatMap(({ parameters }, k) =>
      parameters.length === 0 ? [] : weightGroups(parameters, settings, engine, (step) => path(step)[i] === k),
    ),
  );
  const architecture = weightGroups(model.policy.architecture, settings, engine, () => false);
  return [...weightGroups([...embedding, ...head], settings, engine), ...blocks, ...architecture];
}

/** Opens the programs by which networks are ranked on held-out text. */
export async function openRanking(parts: SearchParts, weights: Weights): Promise<PathEvaluator> {
  const { model, engine, settings, batches } = parts;
  const count = Math.min(batches.valid.count, FINE * settings.rankBatches);
  const pieces = parPieces(model, { ...evaluationShape(settings), training: false });
  return PathEvaluator.create(engine, pieces, weights, { ...batches.valid, count });
}

/** The best networks are measured again on so many times the text. */
export const FINE = 4;

/** How the network of candidates by turns does with the supernet's weights, on the text by which networks are ranked. */
async function evaluated(parts: SearchParts, evaluator: PathEvaluator, weights: Weights): Promise<Measured> {
  const { model, settings, batches, validText } = parts;
  const path = turnsOf(model.choices);
  evaluator.load(weights);
  const count = Math.min(batches.valid.count, settings.rankBatches);
  const [loss] = await evaluator.losses([path], count);
  const measured = { ...figures(loss!, count * tokensIn(batches.valid), validText) };
  return { ...measured, ...{ pattern: patternOfPath(model.choices, path), meanBatchPerplexity: Math.exp(loss!) } };
}
