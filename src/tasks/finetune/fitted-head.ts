/** A head to begin with: the linear map that says most about the labels while the model below it rests. */
import { fitChosen } from "../../analysis/linear-fit.ts";
import type { Parameter } from "../../nn/index.ts";
import type { EncodedExample } from "../../text/labelled/glue-batches.ts";
import type { TextTask } from "../../text/labelled/text-task.ts";
import type { Weights } from "../../train/stages.ts";
import { Classifier } from "./classifier.ts";
import type { Examples } from "./examples.ts";
import { exitDepths } from "./exit-depths.ts";
import { kindOf } from "./settings.ts";
import type { TunedParts } from "./tuned-job.ts";

/** A model with its task and texts. */
interface Fitted extends TunedParts {
  readonly task: TextTask;
  readonly examples: Examples;
}

/** Weights of the classifier, and what is to be said of them. */
export async function fittedHead(parts: Fitted, pad: number): Promise<{ weights: Weights; said: string }> {
  const { task, examples, settings, model } = parts;
  const { train } = examples;
  const depths = exitDepths(model.description.model, settings);
  const states = await statesOf(parts, depths ?? [undefined], pad);
  const targets = states.flatMap((own, i) => own.map(() => targetOf(task)(train[i]!)));
  // What is left out while the penalty is chosen are whole texts.
  const together = states[0]!.length;
  const { map, decay, loss } = fitChosen({ vectors: states.flat(), targets, kind: kindOf(task), together });
  const [weight, bias] = model.described.heads.classification!.parameters as [Parameter, Parameter];
  const at = depths ? ` at depths ${depths.join(", ")}` : "";
  return {
    weights: new Map([
      [weight.tensor, Float32Array.from(map.weights.flatMap((own) => [...own]))],
      [bias.tensor, Float32Array.from(map.biases)],
    ]),
    said: `head fitted to ${train.length} texts${at}: penalty ${decay}, loss ${loss.toFixed(4)} on texts left out`,
  };
}

/** With more texts than this, each is read at one of the depths, in turn: reading and fitting then take as long as for one depth. */
const MANY = 5000;

/** The vectors of every text: one for each depth at which its tokens may stop. */
async function statesOf(parts: Fitted, caps: readonly (number | undefined)[], pad: number): Promise<Float32Array[][]> {
  const { train } = parts.examples;
  const states: Float32Array[][] = train.map(() => []);
  for (const [turn, cap] of caps.entries()) {
    const places = [...train.keys()].filter((i) => train.length <= MANY || i % caps.length === turn);
    const texts = places.map((i) => train[i]!);
    for (const [k, vector] of (await vectorsAt(parts, cap, texts, pad)).entries()) states[places[k]!]!.push(vector);
  }
  return states;
}

/** The vector of every text where its tokens halt at the latest at a depth. */
async function vectorsAt(
  { settings, model: { described, weights }, engine }: Fitted,
  cap: number | undefined,
  texts: readonly EncodedExample[],
  pad: number,
): Promise<Float32Array[]> {
  const { pooling: vectors, length } = settings;
  const skips = cap !== undefined && cap < described.model.policy.depth;
  const classifier = await Classifier.create(engine, described, { vectors, length, cap, skips });
  try {
    const { scores, classes: width } = await classifier.score(weights, texts, { pad });
    return texts.map((_, i) => scores.subarray(i * width, (i + 1) * width));
  } finally {
    await classifier.release();
  }
}

const targetOf =
  ({ labels, several }: TextTask) =>
  ({ label, classes = [] }: EncodedExample): number[] => {
    if (!labels) return [label];
    return labels.map((_, k) => Number(several ? classes.includes(k) : k === label));
  };
