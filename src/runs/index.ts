/** `layerwise/runs`: run folders as data, what lies in one, how runs compare, settings in files; nothing here loads a model. For Node. */
export type { CheckpointPlace, LoadedCheckpoint } from "./checkpoints.ts";
export { decodeJson, type EventLog, encodeJson, type LoggedEvent, type StoredEvent } from "./event-log.ts";
export type { Field, FieldInfo, Fields, JsonSchema } from "./fields.ts";
export {
  type Changed,
  type CheckpointChoice,
  EVENTS_FILE,
  LOCK_FILE,
  LOG_FILE,
  type RunContent,
  RunFolder,
  type RunOptions,
} from "./folder.ts";
export { glanceAt, type RunGlance } from "./glance.ts";
export type { RunChange } from "./identity.ts";
export { flagOf, formerNames, type NamedWords, namedFlags, nameHere } from "./names.ts";
export { removeRuns } from "./removal.ts";
export type { Layer, Resolved, SettingsSchema, Values } from "./settings.ts";
export { parseSettings, parseYaml, type YamlLimits } from "./settings-file.ts";
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
  weightShapes,
  weightsHash,
} from "./summary.ts";
export {
  briefly,
  type ComparedRuns,
  comparedTables,
  compareRuns,
  type ListedRun,
  listRuns,
  type RunBrief,
  runReport,
  runsTable,
  type Sorting,
  sortings,
  type UnreadableRun,
} from "./tables.ts";
export { EventTail } from "./tail.ts";
export type { Drawing, Shown } from "./tensorboard-tags.ts";
