/** Fine-tuning with a head of any kind: an ALBERT, a task and its examples in, a model that answers out. */
import { rejectData } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import { anything, checkOptions, number, required, whole } from "../../base/options.ts";
import { RandomStream } from "../../base/random.ts";
import { type Engine, type Feed, feedsFor } from "../../engine/engine.ts";
import { simplifyNamed } from "../../graph/index.ts";
import { type DescribedAlbert, describedAlbert } from "../../model/albert/description.ts";
import { albertObjective } from "../../model/albert/heads.ts";
import type { PieceTokenizer } from "../../text/masked/documents.ts";
import { specialIds } from "../../text/masked/documents.ts";
import type { Batches } from "../../train/evaluate.ts";
import { optimiserGroups } from "../../train/groups.ts";
import type { Weights } from "../../train/stages.ts";
import type { Tell } from "../../train/telling.ts";
import { train } from "../../train/train.ts";
import { defaultEngine } from "../engine.ts";
import type { Handed } from "../job.ts";
import { needTokenizer, type TrainedAlbert, transferred } from "../pretrain/albert-run.ts";
import { type AlbertSource, albertFrom } from "../pretrain/origin.ts";
import type { HeadExample, HeadScores, HeadTask } from "./head-tasks.ts";
import { withoutHead } from "./model.ts";

/** How a head is trained. */
export interface HeadTraining<X> extends Handed {
  readonly train: readonly X[];
  /** Judged by after each epoch; the best epoch is kept. */
  readonly dev: readonly X[];
  /** Default: 3. */
  readonly epochs?: number | undefined;
  /** Examples per batch. Default: 16. */
  readonly batch?: number | undefined;
  /** Highest learning rate. Default: 0.0001. */
  readonly rate?: number | undefined;
  /** Longest text in pieces. Default: 128, or the model's. */
  readonly length?: number | undefined;
  /** Default: 1. */
  readonly seed?: number | undefined;
}

/** A model with a trained head. */
export interface TunedHead<X, Y> extends TrainedAlbert {
  readonly task: HeadTask<X, Y>;
  /** Figures of the dev examples after each epoch. */
  readonly epochs: readonly Readonly<Record<string, number>>[];
  /** What the best epoch's weights say about examples. */
  predict(examples: readonly X[]): Promise<Y[]>;
  /** How well they agree with what is known. */
  evaluate(examples: readonly X[]): Promise<Record<string, number>>;
}

/** A head's task with its model, opened. */
export interface OpenedHead<X, Y> {
  readonly task: HeadTask<X, Y>;
  readonly described: DescribedAlbert;
  readonly tokenizer: PieceTokenizer;
  readonly engine: Engine;
  readonly length: number;
  readonly batch: number;
  readonly seed: number;
}

/** Trains a head on top of a pre-trained ALBERT, and the ALBERT with it. */
export async function finetuneHead<X, Y>(
  pre: AlbertSource,
  task: HeadTask<X, Y>,
  options: HeadTraining<X>,
): Promise<TunedHead<X, Y>> {
  checkOptions("finetuneHead", options, rules);
  const { epochs: count = 3, batch = 16, rate = 1e-4, seed = 1, say } = options;
  const from = await albertFrom(pre, { say });
  const kept = needTokenizer(from);
  const description = { model: withoutWarmup(from.description.model), heads: task.heads };
  const described = describedAlbert(description);
  const length = Math.min(options.length ?? 128, described.model.options.length);
  const engine = options.engine ?? (await defaultEngine());
  const opened = { task, described, tokenizer: kept.tokenizer, engine, length, batch, seed };
  const data = headBatches(opened, options.train, say);
  const epochs: Record<string, number>[] = [];
  const steps = count * data.count;
  const { best, weights: last } = await train(trainableHead(opened), {
    engine,
    data: { train: data },
    steps,
    rate,
    seed,
    schedule: "linear",
    warmup: Math.round(0.1 * steps),
    shuffle: false,
    groups: optimiserGroups(described.parameters, { optimiser: "adamw", weightDecay: 0.01, settings: {} }),
    initial: transferred(withoutHead(from), described, seed).weights,
    evaluateEvery: data.count,
    evaluate: async (weights, tell) => {
      const { loss, answers } = await answersOf(opened, weights, options.dev, tell);
      const scalars = task.figures(options.dev, answers);
      epochs.push(scalars);
      return { loss, scalars, decisive: task.decisive };
    },
  }).result;
  const weights = best?.weights ?? last;
  const predict = async (examples: readonly X[]) => (await answersOf(opened, weights, examples)).answers;
  return {
    ...described,
    description,
    weights,
    tokenizer: kept,
    task,
    epochs,
    predict,
    evaluate: async (examples) => task.figures(examples, await predict(examples)),
  };
}

const rules = {
  train: required(anything),
  dev: required(anything),
  epochs: whole(1),
  batch: whole(1, LARGEST.batch),
  rate: number({ above: 0 }),
  length: whole(5, LARGEST.length),
  seed: whole(),
  engine: anything,
  say: anything,
};

/** The penalty on depth counts from the first update on. */
const withoutWarmup = (model: TrainedAlbert["description"]["model"]) =>
  model.halting ? { ...model, halting: { ...model.halting, ponderFrom: 0, ponderWarmup: 0 } } : model;

/** What `train` takes of it. */
export const trainableHead = <X, Y>({ task, described, batch, length }: OpenedHead<X, Y>) => ({
  parameters: described.parameters,
  objective: () => objectiveOf(described, batch * task.rows, length, true),
});

const objectiveOf = ({ model, heads }: DescribedAlbert, batch: number, length: number, training: boolean) =>
  albertObjective(model, Object.values(heads), { batch, length, training });

/** Batches drawn again each epoch; the last one is filled up with examples of its beginning. */
export function headBatches<X, Y>(
  opened: OpenedHead<X, Y>,
  examples: readonly X[],
  say?: (text: string) => void,
): Batches {
  const { task, tokenizer, batch, length, seed } = opened;
  const encoded = examples.map((each) => task.encode(each, tokenizer, length));
  const usable = encoded.filter(({ targets }) => targets !== undefined);
  if (usable.length === 0) {
    rejectData({
      who: task.name,
      needed: "an example to learn from",
      got: "none that fits",
      remedy: "give a greater length",
    });
  }
  const lost = encoded.length - usable.length;
  if (lost > 0)
    say?.(`${task.name}: ${lost} of ${encoded.length} examples are left out: nothing in ${length} pieces to learn`);
  const count = Math.ceil(usable.length / batch);
  let drawn: { epoch: number; order: HeadExample[] } | undefined;
  return {
    count,
    tokens: batch * task.rows * length,
    fresh: true,
    at: (place) => {
      const epoch = Math.floor(place / count);
      if (drawn?.epoch !== epoch) {
        drawn = { epoch, order: new RandomStream(seed, `${task.name} epoch ${epoch}`).shuffle([...usable]) };
      }
      const { order } = drawn;
      const first = (place % count) * batch;
      return laidOut(
        opened,
        Array.from({ length: batch }, (_, i) => order[(first + i) % order.length]!),
      );
    },
  };
}

/** Rows padded to the length, and targets by name; those of examples without any are padding. */
function laidOut<X, Y>({ task, described, tokenizer, length }: OpenedHead<X, Y>, examples: readonly HeadExample[]) {
  const rows = examples.flatMap((example) => example.rows);
  const ids = new Int32Array(rows.length * length).fill(specialIds(tokenizer).pad);
  const [mask, types] = [new Int32Array(rows.length * length), new Int32Array(rows.length * length)];
  for (const [i, row] of rows.entries()) {
    const [start, end] = [i * length, i * length + row.ids.length];
    ids.set(row.ids, start);
    mask.fill(1, start, end);
    types.fill(1, start + row.second, end);
  }
  const [head] = Object.values(described.heads);
  const names = Object.keys(head!.targets({ batch: rows.length, length }));
  const targets = names.map((name) => [name, targetOf(name, task.padding, examples, length)] as const);
  return { ids, mask, types, ...Object.fromEntries(targets) };
}

function targetOf(name: string, padding: number | undefined, examples: readonly HeadExample[], length: number) {
  const size = padding === undefined ? 1 : length;
  const values = new Int32Array(examples.length * size).fill(padding ?? 0);
  for (const [i, { targets }] of examples.entries()) values.set(targets?.[name] ?? [], i * size);
  return values;
}

/** What a model says about examples, and its mean loss over the batches whose examples all have something to learn. */
export async function answersOf<X, Y>(
  opened: OpenedHead<X, Y>,
  weights: Weights,
  examples: readonly X[],
  tell?: Tell,
): Promise<{ loss: number; answers: Y[] }> {
  const { task, described, tokenizer, engine, length, batch } = opened;
  const encoded = examples.map((each) => task.encode(each, tokenizer, length));
  const { losses, logits } = objectiveOf(described, batch * task.rows, length, false);
  // Outputs are named apart from inputs, and an answer's places have the names of its scores.
  const named = Object.entries(logits).map(([name, scores]) => [SCORES + name, scores] as const);
  const outputs = simplifyNamed({ loss: losses[0]!, ...Object.fromEntries(named) });
  const program = await engine.compile({ outputs, weights });
  const [answers, found]: [Y[], number[]] = [[], []];
  try {
    for (let first = 0; first < encoded.length; first += batch) {
      tell?.(first, encoded.length);
      // Rows that only fill the batch repeat the last example.
      const taken = Array.from({ length: batch }, (_, i) => encoded[Math.min(first + i, encoded.length - 1)]!);
      const { loss, ...scores } = await program.run(feedsFor(program, laidOut(opened, taken)));
      if (taken.every(({ targets }) => targets)) found.push(Number(loss!.data[0]));
      for (const [i, example] of examples.slice(first, first + batch).entries()) {
        answers.push(task.read(partOf(scores, i, batch), taken[i]!, example));
      }
    }
  } finally {
    await program.release();
  }
  return { answers, loss: found.reduce((a, b) => a + b, 0) / Math.max(1, found.length) };
}

const SCORES = "scores ";

/** The scores of one example of a batch, by the head's names. */
function partOf(scores: Readonly<Record<string, Feed>>, i: number, batch: number): HeadScores {
  const part = ({ data }: Feed) =>
    (data as Float32Array).slice((i * data.length) / batch, ((i + 1) * data.length) / batch);
  return Object.fromEntries(Object.entries(scores).map(([name, all]) => [name.slice(SCORES.length), part(all)]));
}
