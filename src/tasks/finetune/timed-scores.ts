/** One set of texts under several depths: scores of each, and milliseconds per text, measured in turns so that all meet the same machine. */
import { encodeGlue } from "../../text/labelled/glue-batches.ts";
import type { TextExample } from "../../text/labelled/text-task.ts";
import { specialIds } from "../../text/masked/documents.ts";
import type { Classifier } from "./classifier.ts";
import type { EarlyExit } from "./early-exit.ts";
import { classifierFor, type ScoringOptions, type Tuned } from "./predictions.ts";
import type { Scored, Scoring } from "./scoring.ts";

/** Scores under one depth. */
export interface TimedScores extends Scored {
  /** Of the model alone: without reading and encoding the text. */
  readonly msPerText: number;
}

/** Runs of every depth that are timed at least: a few batches are run several times. */
const LEAST_RUNS = 20;

/** Scores of examples under each of the depths, in their order. */
export async function timedScores(
  tuned: Tuned,
  examples: readonly TextExample[],
  exits: readonly EarlyExit[],
  { batch, onText }: Pick<ScoringOptions, "batch" | "onText"> = {},
): Promise<TimedScores[]> {
  const { tokenizer } = tuned.tokenizer;
  const encoded = encodeGlue(examples, tokenizer, tuned.length);
  const classifiers: Classifier[] = [];
  try {
    for (const exit of exits) classifiers.push(await classifierFor(tuned, { batch, ...exit }));
    const scorings = classifiers.map((each) => each.scoring(tuned.weights, encoded, specialIds(tokenizer).pad));
    await inTurns(scorings, classifiers[0]!.batches(encoded), (done) => onText?.(done, encoded.length));
    return scorings.map(({ scored, msPerText }) => ({ ...scored, msPerText }));
  } finally {
    for (const each of classifiers) await each.release();
  }
}

/** Every batch through every program, which begin in turn; a few batches go through them again for their time alone. */
async function inTurns(scorings: readonly Scoring[], batches: readonly number[][], tell: (done: number) => void) {
  for (const each of scorings) {
    await each.run(batches[0]!);
    each.restart();
  }
  let done = 0;
  for (const [i, places] of batches.entries()) {
    tell(done);
    for (const each of turned(scorings, i)) await each.take(places);
    done += places.length;
  }
  for (let i = batches.length; i < LEAST_RUNS; i++) {
    for (const each of turned(scorings, i)) await each.run(batches[i % batches.length]!);
  }
}

const turned = <T>(list: readonly T[], by: number): T[] => list.map((_, i) => list[(i + by) % list.length]!);
