/** Fine-tuning from a program: an ALBERT, a task and labelled texts in, a model that predicts out. */
import type { Engine } from "../../engine/engine.ts";
import type { TextFiles } from "../../text/files/labelled.ts";
import type { LabelledText, TextTask } from "../../text/labelled/text-task.ts";
import type { Session } from "../../train/session.ts";
import type { TaskEvent } from "../job.ts";
import { type Performing, performOpened } from "../perform.ts";
import type { AlbertSource } from "../pretrain/origin.ts";
import { type FinetuneResult, finetuneJob, openFinetune } from "./job.ts";
import { finetuneSettings, type GlueSettings } from "./settings.ts";

/** How to fine-tune. Every setting of `layerwise glue` may be given by name. */
export interface FinetuneOptions extends Partial<GlueSettings>, Performing {
  /** `classification({ labels })`, `multiLabel({ labels })`, `regression()`, or a task of GLUE by `glueTask(name)`. */
  readonly task: TextTask;
  /** Texts to learn from. Default: those of GLUE's task, in the folder `glue`. */
  readonly train?: readonly LabelledText[] | undefined;
  /** Texts to judge by, after each epoch. */
  readonly dev?: readonly LabelledText[] | undefined;
  /** Where they came from: `readTextFiles` gives it with them, and the run is resumed without them then. */
  readonly files?: TextFiles | undefined;
  /** Default: the best there is here. */
  readonly engine?: Engine | undefined;
}

/**
 * Fine-tunes a pre-trained ALBERT: a result of `pretrain`, an opened run, or a run folder; null: new weights, in a model of the
 * settings' sizes or `like` another run's. Iterate the session, or await its result.
 */
export function finetune(
  pre: AlbertSource | null,
  { task, train, dev, files, engine, into, signal, ...values }: FinetuneOptions,
): Session<TaskEvent, FinetuneResult> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const settings = { ...finetuneSettings.defaults, ...finetuneSettings.check(Object.fromEntries(given), "finetune") };
  return performOpened(
    async (say) =>
      finetuneJob(await openFinetune(task, settings, { from: pre ?? undefined, train, dev, files, engine, say })),
    { into, signal },
  );
}
