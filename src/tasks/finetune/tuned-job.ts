/** The job of tuning an ALBERT with any head: a training step over its batches, judged after each epoch. */
import { formatNumber } from "../../base/table.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Dim } from "../../graph/index.ts";
import { adapterParts } from "../../model/albert/lora.ts";
import type { Parameter } from "../../nn/index.ts";
import type { TextTask } from "../../text/labelled/text-task.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Batches } from "../../train/evaluate.ts";
import type { EvaluationEvent } from "../../train/events.ts";
import { optimiserGroups } from "../../train/groups.ts";
import type { Group } from "../../train/memory.ts";
import type { Weights } from "../../train/stages.ts";
import { type TrainOptions, train } from "../../train/train.ts";
import { concludedFrom, type Outcome } from "../concluded.ts";
import { engineFact, parametersFact } from "../facts.ts";
import type { Fact, Job, NoteEvent } from "../job.ts";
import { albertContent, type TrainedAlbert } from "../pretrain/albert-run.ts";
import { type TrainableModel, trainJob } from "../trained-job.ts";
import { baseBytes } from "./adapter.ts";
import type { FinetuneModel } from "./model.ts";
import { type EpochResult, epochResult, RESULT_FILE, resultText, taskResult } from "./result.ts";
import { type GlueSettings, rateOf } from "./settings.ts";

/** What every head is tuned with. */
export interface TunedParts {
  readonly settings: GlueSettings;
  readonly model: FinetuneModel;
  readonly engine: Engine;
}

/** What tuning ends with, whatever the head. */
export interface TunedResult extends TrainedAlbert, Outcome {
  readonly tokenizer: OpenTokenizer;
  /** Its name and what decides, as results keep it. */
  readonly task: TextTask;
  /** Of all sessions. */
  readonly epochs: readonly EpochResult[];
}

/** How epochs are judged, with what rests below adapters among the weights. */
export interface Judging {
  readonly judge: NonNullable<TrainOptions["evaluate"]>;
  /** What is to be said at the end. */
  notes?(): Iterable<NoteEvent>;
  release?(): Promise<void>;
}

/** What a head brings: U is what can be done with it once it is tuned. */
export interface Tuning<U> {
  readonly objective: TrainableModel["objective"];
  readonly batches: Batches;
  readonly task: TextTask;
  /** What config.yaml keeps besides origin and settings. */
  readonly training: Readonly<Record<string, unknown>>;
  /** A hash of the examples. */
  readonly text: string;
  describe(): readonly Fact[];
  /** First weights that take work to find, and what is to be said of them; a run that goes on has its own. */
  begin?(): Promise<{ readonly weights: Weights; readonly said: string }>;
  judging(): Judging;
  /** With the best epoch's weights. */
  uses(weights: Weights): U;
}

/** The epochs of earlier sessions, and the best of them, where a run goes on. */
export interface Before {
  readonly evaluations: readonly EvaluationEvent[];
  best(): Promise<Outcome["best"]>;
}

/** The job that tunes a head. */
export function tunedJob<U>(parts: TunedParts, tuning: Tuning<U>, before?: Before): Job<TunedResult & U> {
  const { settings, model } = parts;
  const { description, described, tokenizer, origin } = model;
  const { batches, task, text, describe } = tuning;
  const head = { objective: tuning.objective, parameters: trainedOf(described) };
  const options = tuningOptions(parts, batches);
  const training = { ...tuning.training, ...origin, ...settings };
  const conclude = (outcome: Outcome, evaluations: readonly EvaluationEvent[]) => {
    const weights = withFrozen(model, outcome.best?.weights ?? outcome.weights);
    return {
      ...described,
      description,
      tokenizer,
      task,
      epochs: evaluations.map((event) => epochResult(event, batches.count)),
      ...outcome,
      weights: withFrozen(model, outcome.weights),
      best: outcome.best && { ...outcome.best, weights },
      ...tuning.uses(weights),
    };
  };
  return {
    ...trainJob(head, options, {
      ...albertContent({ description, training, tokenizer, base: baseOf(model) }),
      text,
      keep: settings.keep,
      describe,
    }),
    events: async function* ({ resume, signal }) {
      const evaluations = [...(before?.evaluations ?? [])];
      const { judge, notes, release } = tuning.judging();
      const evaluate: typeof judge = (weights, tell) => judge(withFrozen(model, weights), tell);
      try {
        const first = resume ? undefined : await tuning.begin?.();
        if (first) yield { type: "note", text: first.said } as const;
        const initial = new Map([...options.initial!, ...(first?.weights ?? [])]);
        const session = train(head, { ...options, initial, evaluate, resume, signal });
        for await (const event of session) {
          if (event.type === "evaluation") evaluations.push(event);
          yield event;
        }
        const { model: _, ...outcome } = await session.result;
        if (notes && outcome.reason !== "stopped") yield* notes();
        return conclude({ ...outcome, best: outcome.best ?? (await before?.best()) }, evaluations);
      } finally {
        await release?.();
      }
    },
    concluded: async (state, run) => {
      const evaluations = (await run.events()).filter((event) => event.type === "evaluation");
      return conclude(await concludedFrom(run, trainedOf(described), state), evaluations);
    },
    kept: ({ reason, epochs }): Record<string, string> =>
      reason === "stopped" ? {} : { [RESULT_FILE]: resultText(taskResult(task, epochs)) },
  };
}

/** What is trained: all, or with adapters only those and the head. */
export const trainedOf = (described: FinetuneModel["described"]): readonly Parameter[] =>
  described.model.options.lora ? adapterParts(described).trained : described.parameters;

/** The model's weights with what rests. */
function withFrozen(model: FinetuneModel, weights: Weights): Weights {
  return new Map([...frozenOf(model), ...weights]);
}

/** What rests below adapters. */
function frozenOf({ described, weights }: FinetuneModel): Weights {
  if (!described.model.options.lora) return new Map();
  return new Map(adapterParts(described).frozen.map(({ tensor }) => [tensor, weights.get(tensor)!]));
}

/** The file of what rests, where something does. */
const baseOf = ({ described, weights }: FinetuneModel): Uint8Array | undefined =>
  described.model.options.lora ? baseBytes(described, weights) : undefined;

/** Tables that rest are not gone through at all. */
const tablesAt = (rate: number) => (rate === 0 ? { active: () => false } : { rateFactor: rate });

/** One group for everything; tables have their own where their rate differs. */
function tuningGroups({ optimiser, weightDecay, tableRate }: GlueSettings, { described }: FinetuneModel): Group[] {
  return optimiserGroups(trainedOf(described), {
    optimiser,
    weightDecay,
    settings: { adamw: { epsilon: 1e-6 } },
    ...(tableRate === 1 ? {} : { byRole: { table: tablesAt(tableRate) } }),
  }).filter(({ parameters }) => parameters.length > 0);
}

/** The rate rises over a fraction of the updates, then falls along a line to 0. */
function tuningOptions({ settings, model, engine }: TunedParts, batches: Batches): TrainOptions {
  const steps = settings.steps ?? settings.epochs * batches.count;
  return {
    engine,
    data: { train: batches },
    steps,
    groups: tuningGroups(settings, model),
    initial: new Map(trainedOf(model.described).map(({ tensor }) => [tensor, model.weights.get(tensor)!])),
    frozen: frozenOf(model),
    seed: settings.seed,
    rate: rateOf(settings, model.origin.from === null),
    schedule: "linear",
    warmup: Math.min(steps, settings.warmupSteps ?? Math.round(settings.warmup * steps)),
    clipNorm: settings.clipNorm,
    shuffle: false,
    evaluateEvery: batches.count,
    checkpointEvery: settings.checkpointEvery,
  };
}

/** What a job is: its task and how many examples it has, the model, what is the head's own, and how it is trained. */
export function tunedFacts(
  { settings, model, engine }: TunedParts,
  { task, what, train, dev }: { task: string; what: string; train: readonly unknown[]; dev: readonly unknown[] },
  own: readonly Fact[] = [],
): Fact[] {
  const { from } = model.origin;
  return [
    { what: "task", value: task },
    { what, value: `${formatNumber(train.length)} to learn from, ${formatNumber(dev.length)} to judge by` },
    { what: "weights", value: from ?? "new" },
    parametersFact(model.described.parameters),
    ...adapterFacts(model),
    ...own,
    { what: "optimiser", value: `${settings.optimiser}, rate ${rateOf(settings, from === null)}` },
    engineFact(engine),
  ];
}

/** How much adapters train. */
function adapterFacts({ described }: FinetuneModel): Fact[] {
  const { lora } = described.model.options;
  if (!lora) return [];
  const count = trainedOf(described).reduce((sum, { tensor }) => sum + tensor.shape.reduce<number>(times, 1), 0);
  return [{ what: "trained", value: `adapters of rank ${lora.rank} and the head: ${formatNumber(count)} parameters` }];
}

const times = (product: number, dim: Dim) => product * Number(dim);
