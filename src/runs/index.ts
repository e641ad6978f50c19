/** Run folders as data: what lies in one, how runs compare; nothing here loads a model. */
export type { CheckpointPlace, LoadedCheckpoint } from "./checkpoints.ts";
export type { LoggedEvent, StoredEvent } from "./event-log.ts";
export { type CheckpointChoice, type RunContent, RunFolder, type RunOptions } from "./folder.ts";
export {
  type BestFigures,
  differences,
  findRuns,
  leaves,
  parameterCount,
  type RunStatus,
  type RunSummary,
  rangeOf,
  sparkline,
  summarise,
  weightsHash,
} from "./summary.ts";
export type { Drawing, Shown } from "./tensorboard.ts";
