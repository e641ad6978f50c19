/** What a fine-tuned model says about texts: labels with their probabilities or numbers, and how deep each token ran. */
import type { Engine } from "../../engine/engine.ts";
import type { DescribedAlbert } from "../../model/albert/description.ts";
import { type EncodedExample, encodeGlue } from "../../text/labelled/glue-batches.ts";
import { type PlainText, type TextExample, type TextTask, textsIn } from "../../text/labelled/text-task.ts";
import { specialIds } from "../../text/masked/documents.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Weights } from "../../train/stages.ts";
import { Classifier, guessesOf, type Scored } from "./classifier.ts";

/** What is said about one text. */
export interface Prediction {
  /** The name of the likeliest class, or the number. */
  readonly label: string | number;
  /** Probabilities by class; none where the label is a number. */
  readonly scores: Readonly<Record<string, number>>;
  /** How many iterations each token took, where tokens halt by themselves. */
  readonly depths: readonly { readonly piece: string; readonly depth: number }[] | undefined;
}

/** A fine-tuned model. */
export interface Tuned {
  readonly engine: Engine;
  readonly described: DescribedAlbert;
  readonly weights: Weights;
  readonly tokenizer: OpenTokenizer;
  /** Longest text in pieces. */
  readonly length: number;
}

/** Who is told how far scoring is. */
export interface ScoringOptions {
  /** Told how many texts are done, of how many. */
  readonly onText?: ((done: number, count: number) => void) | undefined;
}

/** Scores of examples, in their order. */
export async function scoresOf(
  { engine, described, weights, tokenizer: { tokenizer }, length }: Tuned,
  examples: readonly TextExample[],
  { onText }: ScoringOptions = {},
): Promise<Scored & { readonly encoded: readonly EncodedExample[] }> {
  const encoded = encodeGlue(examples, tokenizer, length);
  const classifier = await Classifier.create(engine, described);
  try {
    const onBatch = (done: number) => onText?.(done, encoded.length);
    return { encoded, ...(await classifier.score(weights, encoded, { pad: specialIds(tokenizer).pad, onBatch })) };
  } finally {
    await classifier.release();
  }
}

/** Labels, scores and depths of texts. */
export async function predictTexts(
  tuned: Tuned,
  task: TextTask,
  texts: readonly (string | PlainText)[],
  options?: ScoringOptions,
): Promise<Prediction[]> {
  if (texts.length === 0) return [];
  const examples = texts.map((each) => ({
    texts: typeof each === "string" ? ([each] as const) : textsIn(each),
    label: 0,
  }));
  const { encoded, ...scored } = await scoresOf(tuned, examples, options);
  const { tokenizer } = tuned.tokenizer;
  return Array.from(guessesOf(scored, task), (guess, i) => {
    const row = scored.scores.subarray(i * scored.classes, (i + 1) * scored.classes);
    const depths = scored.depths?.[i];
    return {
      label: task.labels ? task.labels[guess]! : guess,
      scores: task.labels ? probabilities(row, task.labels) : {},
      depths: depths && Array.from(depths, (depth, k) => ({ piece: tokenizer.pieceOf(encoded[i]!.ids[k]!), depth })),
    };
  });
}

function probabilities(scores: Float32Array, labels: readonly string[]): Record<string, number> {
  const most = Math.max(...scores);
  const powers = Array.from(scores, (score) => Math.exp(score - most));
  const total = powers.reduce((a, b) => a + b, 0);
  return Object.fromEntries(labels.map((label, i) => [label, powers[i]! / total]));
}
