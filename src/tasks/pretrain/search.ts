/** The job of searching an encoder: masked words over drawn blocks, which are cut and settle as those of `search` do. */
import { candidateName } from "../../analysis/latency.ts";
import { lazily } from "../../base/lazily.ts";
import { EncoderSupernet } from "../../model/albert/supernet.ts";
import { loadStateDict } from "../../model/state-dict.ts";
import { COSTS_FILE, type RunFolder } from "../../runs/folder.ts";
import { sealedJson } from "../../runs/sealed.ts";
import { tokensIn } from "../../train/evaluate.ts";
import type { EvaluationEvent, TrainEvent, TrainState } from "../../train/events.ts";
import { adam } from "../../train/optimiser.ts";
import { trainStages, type Weights } from "../../train/stages.ts";
import { concludedFrom } from "../concluded.ts";
import { observers } from "../histograms.ts";
import type { Job, NoteEvent, Start } from "../job.ts";
import { costTable, expectedLatency, latencyOf } from "../search/budget.ts";
import { pacedBy } from "../search/fields.ts";
import { cutsIn, Narrowing, narrowedEvents } from "../search/narrowing.ts";
import { modelAt } from "../search/parts.ts";
import { ChoicePictures } from "../search/pictures.ts";
import { ARCHITECTURE_FILE } from "../search/result.ts";
import { choicesOf, patternOf, type SearchStage } from "../search/stage.ts";
import { pretrainingEvaluator } from "./evaluation.ts";
import { firstWeights } from "./first-weights.ts";
import { type EncoderFound, keptEncoder } from "./found.ts";
import { phasedSchedule, phasesOf } from "./phases.ts";
import { fed, type PretrainParts, type PretrainResult, phaseStage } from "./stage.ts";

/** A search, once the number of updates is known. */
interface EncoderSearch {
  readonly parts: PretrainParts;
  readonly total: number;
  /** Updates before π moves. */
  readonly frozen: number;
  readonly supernet: EncoderSupernet;
  readonly cutEvery: number;
  readonly architectureRate: number | null;
}

/** Pre-training's job, for a supernet of blocks; `job` is what it has in common with any. */
export function encoderSearchJob(parts: PretrainParts, job: Job<PretrainResult>, total: number): Job<PretrainResult> {
  const { settings, costs } = parts;
  const search: EncoderSearch = {
    parts,
    total,
    frozen: Math.floor((settings.freeze ?? 0) * total),
    supernet: new EncoderSupernet(parts.description),
    ...pacedBy(settings, total),
  };
  const { choices } = search.supernet;
  return {
    ...job,
    files: { ...job.files, ...(costs ? { [COSTS_FILE]: sealedJson(costs) } : {}) },
    events: (start) => searching(search, start),
    concluded: (state, run) => concluded(search, state, run),
    kept: ({ reason, found }): Record<string, string> =>
      reason === "stopped" || !found ? {} : { [ARCHITECTURE_FILE]: sealedJson(found) },
    attach: async (run) => {
      const names = [...new Set(choices.flat().map(candidateName))];
      return observers(await ChoicePictures.open(run, { names, totalSteps: total }), await job.attach?.(run));
    },
    rehearse: async () => [
      {
        name: "search",
        stage: await openSearchPhase(search, search.supernet),
        accumulate: 1,
        times: accumulated(search),
        updates: () => total,
      },
    ],
  };
}

const accumulated = ({ parts: { settings } }: EncoderSearch) => phasesOf(settings)[0].accumulate;

async function* searching(
  search: EncoderSearch,
  { resume, signal }: Start,
): AsyncGenerator<TrainEvent | NoteEvent, PretrainResult, void> {
  const { parts, total, supernet: model, cutEvery, frozen } = search;
  const { settings, costs } = parts;
  const { cut, settle, decide } = settings;
  const [phase] = phasesOf(settings);
  if (costs && !resume) yield { type: "note", text: costTable(costs, model.choices, "embedding and pooler") };
  const { rows, tokens } = await parts.data.batches("train", phase);
  const narrowing = new Narrowing(
    {
      model,
      course: { total, frozen, alternates: false },
      settings: { cut, settle, decide, cutEvery },
      tokens: phase.accumulate * tokensIn({ count: 1, rows, tokens, at: () => ({}) }),
      open: (narrowed) => openSearchPhase(search, narrowed),
    },
    resume,
  );
  const events = trainStages({
    open: (state) => narrowing.open(state),
    seed: settings.seed,
    length: { steps: total },
    schedule: (updates) => phasedSchedule(settings, [phase], updates),
    shuffle: false,
    accumulate: phase.accumulate,
    evaluateEvery: settings.evaluateEvery,
    checkpointEvery: settings.checkpointEvery,
    signal,
    resume,
  });
  const { end, weights, evaluation } = yield* narrowedEvents(events, narrowing);
  const ending = { reason: end.reason, steps: end.step, elapsedMs: end.elapsedMs, evaluation, weights };
  return resultOf(search, narrowing.model, { ...ending, best: undefined }, narrowing.cuts);
}

type Ending = Pick<PretrainResult, "reason" | "steps" | "elapsedMs" | "evaluation" | "weights" | "best">;

/** The found network, with the weights that it has in the supernet. */
function resultOf(
  { parts }: EncoderSearch,
  model: EncoderSupernet,
  ending: Ending,
  cuts: EncoderFound["cuts"],
  known?: EncoderFound,
): PretrainResult {
  const { costs, data } = parts;
  const { weights, evaluation, steps, elapsedMs } = ending;
  const pattern = known?.pattern ?? patternOf(model, weights);
  const { described, description, weights: own } = model.found(weights, pattern);
  const found: EncoderFound = known ?? {
    pattern,
    probabilities: model.probabilities(weights),
    steps,
    elapsedMs,
    perplexity: evaluation?.perplexity ?? Number.NaN,
    maskedAccuracy: evaluation?.scalars?.mlm_accuracy ?? Number.NaN,
    cuts: [...cuts],
    latency: costs ? latencyOf(model, costs, weights) : null,
    targetMs: model.options.budget?.target ?? null,
    costs,
  };
  return { ...described, ...ending, description, weights: own, tokenizer: data.tokenizer, found };
}

/** What a search that has ended found; where it was killed before it could write that down, it is worked out now. */
async function concluded(search: EncoderSearch, state: TrainState, run: RunFolder): Promise<PretrainResult> {
  const model = modelAt(search.supernet, state);
  const weights = loadStateDict(model.parameters, state.weights, run.path);
  const { best: _, ...outcome } = await concludedFrom(run, [], { ...state, weights: new Map() });
  const ending = { ...outcome, weights, best: undefined };
  return resultOf(search, model, ending, cutsIn(state), await keptEncoder(run.path));
}

/** A stage of the search: the compiled step of a supernet, and its evaluation with blocks mixed by π. */
async function openSearchPhase(search: EncoderSearch, model: EncoderSupernet): Promise<SearchStage<EncoderSupernet>> {
  const { parts, total, frozen } = search;
  const { settings, data, engine, costs } = parts;
  const { described } = model;
  const [phase] = phasesOf(settings);
  const [training, valid] = [await data.batches("train", phase), await data.batches("valid", phase)];
  const texts = { batches: valid, special: data.special, texts: settings.evaluateTexts };
  const evaluator = lazily(() => pretrainingEvaluator(engine, described, phase, texts));
  const looks = (weights: Weights): Pick<EvaluationEvent, "pattern" | "choices" | "latency"> => ({
    pattern: patternOf(model, weights),
    choices: choicesOf(model, weights),
    ...(costs ? { latency: latencyOf(model, costs, weights) } : {}),
  });
  const stage = await phaseStage({ ...parts, described }, phase, {
    length: { steps: total },
    batches: fed(phase, settings, training, () => 0),
    initial: model === search.supernet ? firstWeights(settings, described, training) : undefined,
    unitLearns: () => true,
    architecture: {
      optimiser: adam({ beta1: 0.9, beta2: 0.98 }),
      rateFactor: (search.architectureRate ?? settings.rate) / settings.rate,
      active: (step) => step > frozen,
    },
    evaluate: async (weights, tell) => ({
      ...(await (await evaluator()).measure(weights, { onBatch: tell })),
      ...looks(weights),
    }),
  });
  const expected = () => (costs ? { expected_ms: expectedLatency(model, costs, stage.step.weights) } : {});
  return {
    ...stage,
    model,
    accumulate: phase.accumulate,
    scalars: (updates) => (step) => ({ ...stage.scalars?.(updates)(step), ...expected() }),
    release: async () => void (await Promise.all([stage.release(), evaluator.release()])),
  };
}
