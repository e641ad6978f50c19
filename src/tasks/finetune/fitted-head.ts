/** A head to begin with: the linear map that says most about the labels while the model below it rests. */
import { fitChosen } from "../../analysis/linear-fit.ts";
import type { Parameter } from "../../nn/index.ts";
import type { EncodedExample } from "../../text/labelled/glue-batches.ts";
import type { TextTask } from "../../text/labelled/text-task.ts";
import type { Weights } from "../../train/stages.ts";
import { Classifier } from "./classifier.ts";
import type { Examples } from "./examples.ts";
import { kindOf } from "./settings.ts";
import type { TunedParts } from "./tuned-job.ts";

/** A model with its task and texts. */
interface Fitted extends TunedParts {
  readonly task: TextTask;
  readonly examples: Examples;
}

/** Weights of the classifier, and what is to be said of them. */
export async function fittedHead(
  { task, settings, model: { described, weights }, examples: { train }, engine }: Fitted,
  pad: number,
): Promise<{ weights: Weights; said: string }> {
  const { pooling: vectors, length } = settings;
  const classifier = await Classifier.create(engine, described, { vectors, length });
  try {
    const { scores, classes: width } = await classifier.score(weights, train, { pad });
    const vectors = train.map((_, i) => scores.subarray(i * width, (i + 1) * width));
    const { map, decay, loss } = fitChosen({ vectors, targets: train.map(targetOf(task)), kind: kindOf(task) });
    const [weight, bias] = described.heads.classification!.parameters as [Parameter, Parameter];
    const said = `head fitted to ${train.length} texts: penalty ${decay}, loss ${loss.toFixed(4)} on texts left out`;
    return {
      weights: new Map([
        [weight.tensor, Float32Array.from(map.weights.flatMap((own) => [...own]))],
        [bias.tensor, Float32Array.from(map.biases)],
      ]),
      said,
    };
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
