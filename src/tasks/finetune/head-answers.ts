/** What a model with a head of any kind says about examples: answers, their probabilities, and how deep tokens ran. */
import { type Feed, feedsFor } from "../../engine/engine.ts";
import { add, multiply, simplifyNamed, type Tensor } from "../../graph/index.ts";
import { type AlbertDescription, describedAlbert } from "../../model/albert/description.ts";
import { albertObjective, textInputs } from "../../model/albert/heads.ts";
import { encodeRunning } from "../../model/albert/running.ts";
import { inference } from "../../nn/index.ts";
import type { Weights } from "../../train/stages.ts";
import type { Tell } from "../../train/telling.ts";
import { underNamesOf } from "./classifier.ts";
import { capFed, checkEarlyExit, type EarlyExit, earlyDescription, exitsEarly } from "./early-exit.ts";
import { laidOut, type OpenedHead } from "./head-batches.ts";
import type { HeadExample, HeadProbabilities, HeadScores } from "./head-tasks.ts";

/** How examples are answered, and who is told how far it is. */
export interface AnsweringHow extends EarlyExit {
  readonly tell?: Tell | undefined;
}

/** What is said about one example. */
export interface Answered<Y> {
  readonly answer: Y;
  /** Probabilities by name, where the task has such. */
  readonly scores: HeadProbabilities | undefined;
  /** Mean over tokens, null where none halt. */
  readonly depth: number | null;
}

/** Answers of examples in their order. */
export interface Answers<Y> {
  /** The mean over the batches whose examples all have something to learn. */
  readonly loss: number;
  readonly answers: readonly Y[];
  readonly each: readonly Answered<Y>[];
  readonly msPerText: number;
}

/** What a model says about examples, with a threshold that is its own by now. */
export async function answersOf<X, Y>(
  opened: OpenedHead<X, Y>,
  weights: Weights,
  examples: readonly X[],
  { tell, ...exit }: AnsweringHow = {},
): Promise<Answers<Y>> {
  const { task, tokenizer, engine, length, batch } = opened;
  const encoded = examples.map((each) => task.encode(each, tokenizer, length));
  const program = await engine.compile({ outputs: outputsOf(opened, exit), weights });
  const [each, losses]: [Answered<Y>[], number[]] = [[], []];
  let elapsedMs = 0;
  try {
    for (let first = 0; first < encoded.length; first += batch) {
      tell?.(first, encoded.length);
      // Rows that only fill the batch repeat the last example.
      const taken = Array.from({ length: batch }, (_, i) => encoded[Math.min(first + i, encoded.length - 1)]!);
      const feeds = feedsFor(program, laidOut(opened, taken));
      const began = performance.now();
      const found = await program.run(feeds);
      elapsedMs += performance.now() - began;
      if (taken.every(({ targets }) => targets)) losses.push(Number(found.loss!.data[0]));
      for (const [i, example] of examples.slice(first, first + batch).entries()) {
        each.push(answered(opened, partOf(found, i, batch), taken[i]!, example));
      }
    }
  } finally {
    await program.release();
  }
  const loss = losses.reduce((a, b) => a + b, 0) / Math.max(1, losses.length);
  return { loss, each, answers: each.map(({ answer }) => answer), msPerText: elapsedMs / examples.length };
}

/** The same, where tokens may halt earlier than in training: what the model does not take is refused. */
export async function answersAt<X, Y>(
  description: AlbertDescription,
  opened: OpenedHead<X, Y>,
  weights: Weights,
  examples: readonly X[],
  how: AnsweringHow = {},
): Promise<Answers<Y>> {
  const { tell: _, ...exit } = how;
  checkEarlyExit(description.model, exit, "predict");
  if (!exitsEarly(exit)) return answersOf(opened, weights, examples, how);
  const described = describedAlbert(earlyDescription(description, exit));
  return answersOf({ ...opened, described }, underNamesOf(described.parameters, weights), examples, how);
}

// Outputs are named apart from inputs, and an answer's places have the names of its scores.
const [SCORES, DEPTHS] = ["scores ", "depths"];

/** Loss, scores and depths; where tokens exit early, what halted ones would compute is left out. */
function outputsOf<X, Y>(opened: OpenedHead<X, Y>, exit: EarlyExit): Record<string, Tensor> {
  const { loss, logits, updates } = exitsEarly(exit) ? early(opened, exit) : whole(opened);
  const named = Object.entries(logits).map(([name, scores]) => [SCORES + name, scores] as const);
  return simplifyNamed({ loss, ...Object.fromEntries(named), ...(updates ? { [DEPTHS]: updates } : {}) });
}

function whole<X, Y>({ task, described: { model, heads }, batch, length }: OpenedHead<X, Y>) {
  const shape = { batch: batch * task.rows, length, training: false };
  const { losses, logits, encoded } = albertObjective(model, Object.values(heads), shape);
  return { loss: losses[0]!, logits, updates: encoded.probes.updates };
}

function early<X, Y>({ task, described: { model, heads }, batch, length }: OpenedHead<X, Y>, exit: EarlyExit) {
  const shape = { batch: batch * task.rows, length };
  const texts = textInputs(shape);
  const cap = capFed(model.options, exit);
  const inputs = cap === undefined ? texts : { ...texts, caps: add(multiply(texts.ids, 0), cap) };
  const encoded = encodeRunning(model, inputs);
  const [head] = Object.values(heads);
  const targets = head!.targets(shape);
  const logits = head!.logits(encoded, targets, inference);
  return { loss: head!.loss(logits, targets), logits, updates: encoded.probes.updates };
}

function answered<X, Y>(
  { task, length }: OpenedHead<X, Y>,
  part: HeadScores,
  encoded: HeadExample,
  example: X,
): Answered<Y> {
  const answer = task.read(part, encoded, example);
  const scores = task.probabilities?.(part, encoded, answer);
  return { answer, scores, depth: part[DEPTHS] ? meanDepth(part[DEPTHS], encoded, length) : null };
}

/** The mean over the tokens of an example's rows; padding has no depth. */
function meanDepth(depths: Float32Array, { rows }: HeadExample, length: number): number {
  const each = rows.flatMap(({ ids }, row) => [...depths.subarray(row * length, row * length + ids.length)]);
  return each.reduce((a, b) => a + b, 0) / each.length;
}

/** What the program says of one example of a batch: scores by the head's names, and depths. */
function partOf({ loss: _, ...found }: Readonly<Record<string, Feed>>, i: number, batch: number): HeadScores {
  const part = ({ data }: Feed) =>
    (data as Float32Array).slice((i * data.length) / batch, ((i + 1) * data.length) / batch);
  return Object.fromEntries(Object.entries(found).map(([name, all]) => [name.replace(SCORES, ""), part(all)]));
}
