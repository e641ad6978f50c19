/** Training below `train`: optimisers and their groups, schedules, the step, the loop, stages, evaluation, sessions. */
export type { PathCandidate as Candidate, Piece, Pieces } from "../graph/index.ts";
export { type ArrayBatching, accuracy, arrayBatches, type Rows } from "./arrays.ts";
export { Diverged, type Divergence } from "./diverged.ts";
export { type Batches, figures, firstTokens, type TextSize, tokensIn } from "./evaluate.ts";
export { type EvaluatedBatch, type EvaluationOptions, type EvaluationSource, Evaluator } from "./evaluator.ts";
export type {
  CheckpointEvent,
  Choice,
  EndEvent,
  EndReason,
  EvaluatingEvent,
  EvaluationEvent,
  Figures,
  Latency,
  Measured,
  Progress,
  StateTensor,
  StepEvent,
  TrainEvent,
  TrainState,
} from "./events.ts";
export { type FirstValues, firstValues } from "./first-values.ts";
export {
  type GroupedParameter,
  type GroupOptions,
  type OptimiserName,
  type OptimiserSettings,
  type OwnGroup,
  optimiserGroups,
} from "./groups.ts";
export { LoneTensor } from "./lone.ts";
export { type Length, type Lengths, type LoopOptions, trainLoop } from "./loop.ts";
export type { Group, ParameterTensor } from "./memory.ts";
export { type Muon, muon } from "./muon.ts";
export type { ObjectiveSize, Trainable, TrainableParameter, TrainingObjective } from "./objective.ts";
export * from "./optimiser.ts";
export { orthogonalise } from "./orthogonal.ts";
export { PathEvaluator } from "./path-evaluator.ts";
export { type Path, PathProgram } from "./path-program.ts";
export { type AlternationOptions, alternation, type Phases } from "./phases.ts";
export {
  parSchedule,
  polynomialSchedule,
  type Schedule,
  type ScheduleName,
  type ScheduleOptions,
  schedule,
  scheduleNames,
  transformerSchedule,
} from "./schedule.ts";
export { type Session, type Stoppable, startSession, type Work } from "./session.ts";
export { type Opened, type Stage, type StagedOptions, type Trained, trainStages } from "./stages.ts";
export { TrainingStep } from "./step.ts";
export type { RowOutput, StepGraph } from "./step-graph.ts";
export type { Batch, GradientTaking, Parts, Step, StepOptions, StepResult, StepState } from "./step-options.ts";
export type { Tell } from "./telling.ts";
export type { Metric, Recorder, TrainOptions, TrainResult } from "./train.ts";
export type { Share } from "./world.ts";
