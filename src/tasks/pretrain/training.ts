/** Carries out pre-training in a run folder: one training step a phase, one loop over all of them. */
import { median } from "../../base/median.ts";
import { clock } from "../../base/progress.ts";
import { formatNumber, table } from "../../base/table.ts";
import { stopOnSignals } from "../../cli/signals.ts";
import { Watch } from "../../cli/watch.ts";
import { ponderScale } from "../../depth/halting.ts";
import type { Engine } from "../../engine/engine.ts";
import { type AlbertDescription, type DescribedAlbert, describedAlbert } from "../../model/albert/description.ts";
import { albertObjective } from "../../model/albert/heads.ts";
import { countParameters } from "../../model/report.ts";
import { initialise } from "../../nn/index.ts";
import type { RunFolder } from "../../runs/folder.ts";
import type { MaskedBatches } from "../../text/masked/batches.ts";
import { pretrainingFeeds } from "../../text/masked/batches.ts";
import type { Batches } from "../../train/evaluate.ts";
import type { EndEvent, Measured, TrainState } from "../../train/events.ts";
import { type Length, trainLoop } from "../../train/loop.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import { TrainingStep } from "../../train/step.ts";
import type { Say } from "../job.ts";
import { PretrainingEvaluator, SHOWN } from "./evaluation.ts";
import { firstWeights } from "./first-weights.ts";
import { describePretraining, type MaskedData, openMaskedData, pretrainingGroups } from "./parts.ts";
import { lastPhaseFrom, type Phase, phasedSchedule, phasesOf } from "./phases.ts";
import type { PretrainingConfig } from "./settings.ts";

export interface PretrainingJob {
  readonly config: PretrainingConfig;
  readonly engine: Engine;
  readonly data: MaskedData;
  readonly description: AlbertDescription;
  readonly described: DescribedAlbert;
}

/** Opens texts, tokenizer and model; `kept` is the tokenizer file of an existing run. */
export async function openPretraining(
  config: PretrainingConfig,
  engine: Engine,
  say: Say,
  kept?: string,
): Promise<PretrainingJob> {
  const phases = phasesOf(config);
  const data = await openMaskedData(config, say, kept);
  const description = describePretraining(config, data.tokenizer.tokenizer.size);
  if (phases.length > 1 && config.distinctPasses !== null) {
    say(`the second phase draws texts of its own, of ${phases[1]!.length} tokens`);
  }
  return { config, engine, data, description, described: describedAlbert(description) };
}

async function newStep(
  { config, engine, described }: PretrainingJob,
  { batch, length, predictions, accumulate }: Phase,
  initial?: ReadonlyMap<ParameterTensor, Float32Array>,
  unitLearns: (step: number) => boolean = () => true,
): Promise<TrainingStep> {
  const { model, heads, parameters } = described;
  const shape = { batch, length, predictions, training: true };
  const { loss, inputs, noise } = albertObjective(model, Object.values(heads), shape);
  return TrainingStep.create({
    ...{ engine, loss, inputs, noise, accumulate, seed: config.seed },
    groups: pretrainingGroups(config, parameters, engine, unitLearns),
    initial: initial ?? initialise(parameters, config.seed),
    ...(config.clipNorm === null ? {} : { clipNorm: config.clipNorm }),
  });
}

/** Batches in the form the loop takes; `from` is the place of a phase's first batch among those of all phases. */
function fed(source: MaskedBatches, from: () => number): Batches {
  return {
    count: source.count,
    tokens: source.tokens,
    fresh: true,
    at: (place) => pretrainingFeeds(source.at(place - from())),
  };
}

function lengthOf({ steps, epochs, minutes, accumulate }: PretrainingConfig, batches: MaskedBatches): Length {
  if (steps !== null) return { steps };
  if (epochs !== null) return { steps: Math.max(1, Math.floor((epochs * batches.count) / accumulate)) };
  return { minutes: minutes ?? 1 };
}

export interface PretrainingOutcome {
  readonly end: EndEvent;
  readonly last: Measured | undefined;
}

/** Trains in a run folder, from the start, from given weights, or from a checkpoint. */
export async function pretrainIn(
  run: RunFolder,
  job: PretrainingJob,
  from: { resume?: TrainState | undefined; initial?: ReadonlyMap<ParameterTensor, Float32Array> | undefined },
  output: NodeJS.WriteStream,
): Promise<PretrainingOutcome> {
  const { config } = job;
  const phases = phasesOf(config);
  const length = lengthOf(config, await job.data.batches("train", phases[0]));
  const known = from.resume?.progress.totalSteps ?? ("steps" in length ? length.steps : null);
  const watch = new Watch(output, { totalSteps: known, minutes: config.minutes, shown: SHOWN });
  const stop = stopOnSignals(output);
  let [state, end, last]: [TrainState | undefined, EndEvent | undefined, Measured | undefined] = [
    from.resume,
    undefined,
    undefined,
  ];
  try {
    for (let i = phaseAt(config, state); i < phases.length && !end; i++) {
      const events = phaseEvents(job, phases, i, { length, initial: from.initial, state, signal: stop.signal });
      for (;;) {
        const { value: event, done } = await events.next();
        if (done) {
          state = event ?? undefined;
          break;
        }
        watch.see(event);
        if (event.type === "checkpoint") await run.writeCheckpoint(event.state, { best: event.best });
        else run.append(event);
        if (event.type === "evaluation") last = event;
        if (event.type === "end") end = event;
      }
    }
    return { end: end!, last };
  } finally {
    watch.wipe();
    stop.release();
  }
}

/** The phase in which a state stands. */
function phaseAt(config: PretrainingConfig, state: TrainState | undefined): number {
  const total = state?.progress.totalSteps ?? null;
  if (!state || total === null || config.longLength === null) return 0;
  return state.progress.step >= lastPhaseFrom(config, total) ? 1 : 0;
}

interface PhaseStart {
  readonly length: Length;
  readonly initial: ReadonlyMap<ParameterTensor, Float32Array> | undefined;
  readonly state: TrainState | undefined;
  readonly signal: AbortSignal;
}

/** The loop's events of one phase; gives its state where another phase follows. */
async function* phaseEvents(job: PretrainingJob, phases: readonly Phase[], index: number, start: PhaseStart) {
  const { config, engine, described, data } = job;
  const phase = phases[index]!;
  let total = start.state?.progress.totalSteps ?? Number.MAX_SAFE_INTEGER;
  const boundary = () => lastPhaseFrom(config, total);
  const offset = () => (index === 0 ? 0 : boundary() * phases[0]!.accumulate);
  const [training, valid] = [await data.batches("train", phase), await data.batches("valid", phase)];
  const initial = start.initial ?? (start.state ? undefined : firstWeights(config, described, training));
  const step = await newStep(job, phase, initial, (at) => at > config.ponderFrom * total);
  const texts = { batches: valid, special: data.special, texts: config.evaluateTexts };
  const evaluator = await PretrainingEvaluator.create(engine, described, phase, texts);
  try {
    return yield* trainLoop({
      ...{ step, batches: fed(training, offset), seed: config.seed, length: start.length, shuffle: false },
      schedule: (updates) => {
        total = updates;
        return phasedSchedule(config, phases, updates);
      },
      ...(described.model.policy.scalars?.ponderScale ? { scalars: (updates) => scaled(config, updates) } : {}),
      accumulate: phase.accumulate,
      evaluate: () => evaluator.measure(step.weights),
      evaluateEvery: config.evaluateEvery,
      checkpointEvery: config.checkpointEvery,
      signal: start.signal,
      pause: (at) => index < phases.length - 1 && at >= boundary(),
      ...(start.state ? { resume: start.state } : {}),
    });
  } finally {
    await Promise.all([step.release(), evaluator.release()]);
  }
}

/** How much of the penalty counts at an update. */
function scaled({ ponderFrom, ponderWarmup }: PretrainingConfig, total: number) {
  const scale = ponderScale(ponderWarmup * total, ponderFrom * total);
  return (step: number) => ({ ponderScale: scale(step) });
}

const MEASURED_MS = 15_000;

/** The job in a few rows. */
export function describeJob({ config, data, described, engine }: PretrainingJob) {
  const { model, parameters } = described;
  const phases = phasesOf(config).map(({ batch, accumulate, length }) => {
    return `${batch}${accumulate > 1 ? ` × ${accumulate}` : ""} texts of ${length}`;
  });
  const { name, tokenizer } = data.tokenizer;
  const policy = model.options.halting ? `at most ${config.depth}, τ ${config.ponder}` : `${config.depth}, fixed`;
  return [
    { what: "corpus", value: `${data.corpus.name}, ${name} (${formatNumber(tokenizer.size)} pieces)` },
    { what: "updates of", value: phases.join(", then ") },
    { what: "distinct parameters", value: `${formatNumber(countParameters(parameters) / 1e6, 2)} M` },
    { what: "depth", value: policy },
    { what: "optimiser", value: `${config.optimiser}, rate ${config.rate}` },
    { what: "threads", value: `${engine.threads} on ${engine.device}` },
  ];
}

export const jobTable = (rows: readonly { what: string; value: string }[]) =>
  table(rows, [
    { key: "what", title: "" },
    { key: "value", title: "" },
  ]).trim();

/** What a run would be, and how long it would take, from a few measured batches of each phase. */
export async function dryPretraining(job: PretrainingJob): Promise<string> {
  const rows = describeJob(job);
  const phases = phasesOf(job.config);
  for (const [i, phase] of phases.entries()) {
    const batches = await job.data.batches("train", phase);
    const step = await newStep(job, { ...phase, accumulate: 1 });
    const batchMs = await medianMs(job.described, step, batches);
    await step.release();
    const length = lengthOf(job.config, batches);
    const updateMs = batchMs * phase.accumulate;
    const total = "steps" in length ? length.steps : "minutes" in length ? (length.minutes * 60_000) / updateMs : 0;
    const first = lastPhaseFrom(job.config, Math.floor(total));
    const updates = i === 0 ? first : Math.floor(total) - first;
    const name = phases.length > 1 ? `phase ${i + 1}: ` : "";
    rows.push(
      { what: `${name}memory for weights, moments`, value: `${formatNumber(step.memoryBytes / 2 ** 20, 1)} MiB` },
      {
        what: `${name}measured batch`,
        value: `${formatNumber(batchMs, 1)} ms, ${formatNumber((1000 * batches.tokens) / batchMs, 0)} tokens/s`,
      },
      { what: `${name}batches in a pass`, value: formatNumber(batches.count) },
      { what: `${name}updates`, value: `${formatNumber(updates)}, ${clock((updates * updateMs) / 1000)}` },
    );
  }
  return jobTable(rows);
}

/** Of up to five batches after two to warm up, for a while. */
async function medianMs({ model }: DescribedAlbert, step: TrainingStep, batches: MaskedBatches): Promise<number> {
  const scale = Object.fromEntries(Object.keys(model.policy.scalars ?? {}).map((name) => [name, [1]]));
  const times: number[] = [];
  const begin = performance.now();
  for (let i = 0; i < 7 && (i < 2 || performance.now() - begin < MEASURED_MS); i++) {
    const start = performance.now();
    await step.run({ ...pretrainingFeeds(batches.at(i)), ...scale }, 0);
    times.push(performance.now() - start);
  }
  return median(times.slice(times.length > 3 ? 2 : 1));
}
