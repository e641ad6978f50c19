/** Batches that show how far evaluation is. */
import { startProgress } from "../base/progress.ts";
import type { Batches } from "../train/evaluate.ts";

/** The same batches, with a line of progress on a terminal while they are taken. */
export function watched(batches: Batches): Batches & { end(): void } {
  const progress = startProgress("evaluating", { output: process.stderr, total: batches.count, unit: "batches" });
  const at = (index: number) => {
    progress.at(index);
    return batches.at(index);
  };
  return { ...batches, at, end: progress.end };
}
