/** A process that carries out trials of a search for settings, one after another, on texts and an engine that it opens once. */
import { join } from "node:path";
import { messageOf } from "../base/errors.ts";
import { writeAtomically } from "../files/atomic.ts";
import { type FinetuneParts, finetuneJob, openFinetune } from "../tasks/finetune/job.ts";
import { failedResult, RESULT_FILE, resultText } from "../tasks/finetune/result.ts";
import type { GlueSettings } from "../tasks/finetune/settings.ts";
import type { Say } from "../tasks/job.ts";
import { newRun } from "../tasks/new-run.ts";
import { perform } from "../tasks/perform.ts";
import type { TextTask } from "../text/labelled/text-task.ts";
import { Diverged } from "../train/diverged.ts";
import { serveOrders } from "./processes.ts";

/** Makes this process a worker of the search that started it. */
export function serveTrials(task: TextTask, settings: GlueSettings, from: string | undefined, say: Say): void {
  let known: Partial<Pick<FinetuneParts, "examples" | "engine">> = {};
  serveOrders(async ({ out, ...own }, see) => {
    const parts = await openFinetune(task, { ...settings, ...own }, { ...known, from, trial: true, say });
    known = { examples: parts.examples, engine: parts.engine };
    try {
      for await (const event of perform(finetuneJob(parts), { into: await newRun(out) })) see(event);
    } catch (error) {
      // A trial that diverged is an answer too.
      if (!(error instanceof Diverged)) throw error;
      await writeAtomically(join(out, RESULT_FILE), resultText(failedResult(task, messageOf(error))));
    }
  });
}
