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
  const byDepth: Float32Array[][] = [];
  for (const cap of depths ?? [undefined]) byDepth.push(await vectorsAt(parts, cap, pad));
  // The states of a text stand together: what is left out while the penalty is chosen are whole texts.
  const vectors = train.flatMap((_, i) => byDepth.map((each) => each[i]!));
  const targets = train.flatMap((example) => byDepth.map(() => targetOf(task)(example)));
  const { map, decay, loss } = fitChosen({ vectors, targets, kind: kindOf(task), together: byDepth.length });
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

/** The vector of every text where its tokens halt at the latest at a depth. */
async function vectorsAt(
  { settings, model: { described, weights }, examples: { train }, engine }: Fitted,
  cap: number | undefined,
  pad: number,
): Promise<Float32Array[]> {
  const { pooling: vectors, length } = settings;
  const skips = cap !== undefined && cap < described.model.policy.depth;
  const classifier = await Classifier.create(engine, described, { vectors, length, cap, skips });
  try {
    const { scores, classes: width } = await classifier.score(weights, train, { pad });
    return train.map((_, i) => scores.subarray(i * width, (i + 1) * width));
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
