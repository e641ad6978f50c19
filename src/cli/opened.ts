/** Runs of any kind for the commands that use them. */
import { startProgress } from "../base/progress.ts";
import type { CheckpointChoice } from "../runs/folder.ts";
import { type FinishedRun, refuseCorpus, refuseSegmentChoices } from "../tasks/kind.ts";

const say = (text: string) => void process.stderr.write(`${text}\n`);

/** Opens a run. */
export async function openAny(path: string, checkpoint?: CheckpointChoice): Promise<FinishedRun> {
  const { kindOf, Run } = await import("../tasks/run.ts");
  const kind = await kindOf(path).catch(() => undefined);
  if (kind === undefined) return (await import("../tasks/kinds.ts")).openRun(path, checkpoint);
  const run = await Run.open(path, "language", { checkpoint, say });
  return {
    evaluate: async ({ split, ...choices }) => {
      refuseSegmentChoices(choices, path);
      refuseCorpus(choices, path);
      const progress = startProgress("evaluating", { output: process.stderr, unit: "batches" });
      const found = await run.evaluate({ split, onBatch: progress.at });
      progress.end();
      return { ...found };
    },
    continueText: ({ evaluationMemory, mixture, ...options }) => {
      refuseSegmentChoices({ evaluationMemory, mixture }, path);
      return run.generate(options);
    },
    exported: run.exported,
  };
}
