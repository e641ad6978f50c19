/** The job of pre-training: masked words and the order of sentences, a training step per phase, one loop over all of them. */

import type { MeasuredCosts } from "../../analysis/latency.ts";
import { reject } from "../../base/errors.ts";
import { lazily } from "../../base/lazily.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Albert } from "../../model/albert/albert.ts";
import { type AlbertDescription, describedAlbert } from "../../model/albert/description.ts";
import type { MaskedBatches } from "../../text/masked/batches.ts";
import type { TrainEvent, TrainState } from "../../train/events.ts";
import type { Length } from "../../train/loop.ts";
import { type Stage, trainStages, type Weights } from "../../train/stages.ts";
import { outcomeOf } from "../../train/train.ts";
import { told } from "../../train/world.ts";
import { concludedFrom, type Outcome } from "../concluded.ts";
import { defaultEngine } from "../engine.ts";
import { engineFact, parametersFact, textFact } from "../facts.ts";
import type { Fact, Job, Rehearsal, Start } from "../job.ts";
import { type Given, textHash } from "../text-data.ts";
import { albertContent } from "./albert-run.ts";
import { pretrainingEvaluator } from "./evaluation.ts";
import { firstWeights } from "./first-weights.ts";
import { type Initial, originOf } from "./origin.ts";
import { describePretraining, isPlaced, openMaskedData } from "./parts.ts";
import { type Phase, phasedSchedule, phaseStarts, phasesOf } from "./phases.ts";
import type { PretrainingConfig } from "./settings.ts";
import { fed, type PretrainParts, type PretrainResult, phaseStage } from "./stage.ts";

export type { PretrainParts, PretrainResult } from "./stage.ts";

/** What a program hands over, and what is known already. */
export interface PretrainGiven extends Given {
  /** Costs of candidates that were measured before. Default: measured, for a budget. */
  readonly costs?: MeasuredCosts | undefined;
}

/** What `training.command` says in config.yaml. */
export const PRETRAIN_COMMAND = "pretrain";

/** Opens texts, tokenizer, model and engine. */
export async function openPretrain(settings: PretrainingConfig, given: PretrainGiven = {}): Promise<PretrainParts> {
  const long = settings.longLength;
  const first = describePretraining(settings, 1); // mistakes show before anything is opened
  if (typeof settings.depth === "string") describedAlbert(first);
  const data = await openMaskedData(settings, given);
  const plain = describePretraining(settings, data.tokenizer.tokenizer.size);
  if (long !== null && settings.distinctPasses !== null) {
    given.say?.(`the last phase draws texts of its own, of ${long} tokens`);
  }
  const engine = given.engine ?? (await defaultEngine(settings));
  const { description, costs } = await budgeted(settings, plain, engine, given.costs);
  return { settings, data, description, described: describedAlbert(description), engine, costs };
}

/** The description with a budget where one is asked for: candidates are measured first. */
async function budgeted(
  { budget, budgetWeight, latency, length: usual }: PretrainingConfig,
  description: AlbertDescription,
  engine: Engine,
  known: MeasuredCosts | undefined,
): Promise<{ description: AlbertDescription; costs: MeasuredCosts | null }> {
  if (budget === null) return { description, costs: null };
  const [batch, length] = (latency ?? `1x${usual}`).split("x").map(Number) as [number, number];
  const { measureEncoder } = await import("../../analysis/encoder-latency.ts");
  const { budgetOf } = await import("../search/budget.ts");
  const { model, heads } = description;
  if (length > model.length!) {
    const needed = `texts of at most ${model.length} tokens, the longest that the encoder takes`;
    reject({ who: "latency", needed, got: `${length}`, remedy: "shorten it, or give more --positions" }, 2);
  }
  const costs = known ?? (await told(engine.world, () => measureEncoder(engine, model, { batch, length })));
  const { choices } = describedAlbert(description).model.blocks!;
  const searched = { ...model.searched, budget: budgetOf(budget, budgetWeight, choices, costs) };
  return { description: { model: { ...model, searched }, heads }, costs };
}

/** The job that trains it, with drawn weights or with given ones. */
export async function pretrainJob(parts: PretrainParts, initial?: Initial): Promise<Job<PretrainResult>> {
  const { settings, data, description, described, engine } = parts;
  const [first] = phasesOf(settings);
  await data.batches("valid", first); // mistakes in the texts show before a folder is made
  const length = lengthOf(settings, await data.batches("train", first));
  const { tokenizer } = data;
  const training = { command: PRETRAIN_COMMAND, ...(initial ? originOf(initial) : {}), ...settings };
  const albert = { ...described, description, tokenizer };
  const job: Job<PretrainResult> = {
    ...albertContent({ description, training, tokenizer }),
    text: await textHash(data.corpus),
    engine,
    keep: settings.keep,
    length: { totalSteps: "steps" in length ? length.steps : null, minutes: settings.minutes },
    describe: () => describe(parts),
    events: async function* (start) {
      return { ...albert, ...(yield* events(parts, length, initial?.weights, start)) };
    },
    concluded: async (state, run) => ({ ...albert, ...(await concludedFrom(run, described.parameters, state)) }),
    rehearse: () => rehearsals(parts, length),
  };
  if (!settings.search || !("steps" in length)) return job;
  const { encoderSearchJob } = await import("./search.ts");
  return encoderSearchJob(parts, job, length.steps);
}

function lengthOf({ steps, epochs, minutes, accumulate }: PretrainingConfig, batches: MaskedBatches): Length {
  if (steps !== null) return { steps };
  if (epochs !== null) return { steps: Math.max(1, Math.floor((epochs * batches.count) / accumulate)) };
  return { minutes: minutes ?? 1 };
}

async function* events(
  parts: PretrainParts,
  length: Length,
  initial: Weights | undefined,
  { resume, signal }: Start,
): AsyncGenerator<TrainEvent, Outcome, void> {
  const { settings } = parts;
  const phases = phasesOf(settings);
  let total = resume?.progress.totalSteps ?? Number.MAX_SAFE_INTEGER;
  const trained = yield* trainStages({
    open: async (state, before) => {
      await before?.release(); // one phase's programs at a time
      const index = phaseAt(settings, state);
      return { stage: await openPhase(parts, { index, length, initial, state, total: () => total }) };
    },
    seed: settings.seed,
    length,
    schedule: (updates) => {
      total = updates;
      return phasedSchedule(settings, phases, updates);
    },
    shuffle: false,
    accumulate: phases[0].accumulate,
    evaluateEvery: settings.evaluateEvery,
    checkpointEvery: settings.checkpointEvery,
    signal,
    resume,
  });
  return outcomeOf(trained);
}

/** The phase in which a state stands. */
function phaseAt(settings: PretrainingConfig, state: TrainState | undefined): number {
  const total = state?.progress.totalSteps ?? null;
  if (!state || total === null) return 0;
  return phaseStarts(settings, total).findLastIndex((from) => state.progress.step >= from);
}

interface PhaseStart {
  readonly index: number;
  readonly length: Length;
  readonly initial: Weights | undefined;
  readonly state: TrainState | undefined;
  /** Updates in all, as soon as they are known. */
  readonly total: () => number;
}

/** The step of a phase over its own texts, and their evaluation, which is compiled when it is first asked. */
async function openPhase(parts: PretrainParts, start: PhaseStart): Promise<Stage> {
  const { settings, data, described, engine } = parts;
  const phases = phasesOf(settings);
  const phase = phases[start.index]!;
  const startOf = (index: number) => phaseStarts(settings, start.total())[index] ?? Number.POSITIVE_INFINITY;
  const [training, valid] = [await data.batches("train", phase), await data.batches("valid", phase)];
  const guessed = phases.find(({ task }) => task !== "document")!;
  const first = async () => firstWeights(settings, described, await data.batches("train", guessed));
  const texts = { batches: valid, special: data.special, texts: settings.evaluateTexts };
  const evaluator = lazily(() => pretrainingEvaluator(engine, described, phase, texts));
  const stage = await phaseStage(parts, phase, {
    length: start.length,
    batches: fed(phase, settings, training, () =>
      isPlaced(settings, phase) ? 0 : startOf(start.index) * phases[0].accumulate,
    ),
    initial: start.initial ?? (start.state ? undefined : await first()),
    unitLearns: (step) => step > settings.ponderFrom * start.total(),
    evaluate: async (weights, tell) => (await evaluator()).measure(weights, { onBatch: tell }),
  });
  return {
    ...stage,
    accumulate: phase.accumulate,
    pause: (step) => step >= startOf(start.index + 1),
    release: async () => void (await Promise.all([stage.release(), evaluator.release()])),
  };
}

/** A step of each phase; an update may take hundreds of batches, so that one batch of it is tried. */
function rehearsals(parts: PretrainParts, length: Length): Promise<Rehearsal[]> {
  const { settings, data } = parts;
  const made = phasesOf(settings).map(async (phase, i): Promise<Rehearsal> => {
    const batches = fed(phase, settings, await data.batches("train", phase), () => 0);
    return {
      name: `phase ${i + 1}`,
      stage: await phaseStage(parts, { ...phase, accumulate: 1 }, { length, batches, unitLearns: () => true }),
      accumulate: 1,
      times: phase.accumulate,
      updates: (stepMs) => {
        const total = "steps" in length ? length.steps : Math.floor(((settings.minutes ?? 1) * 60_000) / stepMs);
        const starts = phaseStarts(settings, total);
        return (starts[i + 1] ?? total) - starts[i]!;
      },
    };
  });
  return Promise.all(made);
}

function phaseText({ task, batch, accumulate, length }: Phase): string {
  if (task === "document") return `words of ${batch} documents`;
  return `${batch}${accumulate > 1 ? ` × ${accumulate}` : ""} texts of ${length}${task === "next" ? " (next words)" : ""}`;
}

function depthText({ options: { halting, blocks, depth }, policy }: Albert, ponder: number): string {
  if (blocks !== undefined) return typeof blocks === "number" ? `${blocks} blocks, searched` : `blocks ${blocks}`;
  if (typeof depth === "string")
    return `${depth} (${policy.unique ?? policy.depth} own weights, at most ${policy.depth} run)`;
  return halting ? `at most ${depth}, τ ${ponder}` : `${depth}, fixed`;
}

function describe({ settings, data, described, engine }: PretrainParts): Fact[] {
  const { model, parameters } = described;
  const phases = phasesOf(settings).map(phaseText);
  const { ponder, optimiser, rate } = settings;
  return [
    textFact(data.corpus, data.tokenizer),
    { what: "updates of", value: phases.join(", then ") },
    parametersFact(parameters),
    { what: "depth", value: depthText(model, ponder) },
    { what: "optimiser", value: `${optimiser}, rate ${rate}` },
    engineFact(engine),
  ];
}
