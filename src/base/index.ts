/** `layerwise/base`: what everything stands on: errors as data, seeded random streams, tables and progress for the terminal. */
export { completionScript, type KnownCommand, type KnownFlag, type Shell, shells } from "./completion.ts";
export {
  type Complaint,
  type ErrorCode,
  type ErrorDetails,
  type ExitCode,
  LayerwiseError,
  messageOf,
  reject,
} from "./errors.ts";
export { LARGEST } from "./limits.ts";
export { median } from "./median.ts";
export { nearest } from "./nearest.ts";
export {
  clock,
  type Progress,
  type ProgressOptions,
  type ProgressOutput,
  startProgress,
  withProgress,
} from "./progress.ts";
export { RandomStream, type StreamKey, type StreamState } from "./random.ts";
export { figureText, isScore, scoreText, withScores } from "./scores.ts";
export { Screen, type ScreenOutput } from "./screen.ts";
export { type Cell, type Column, factTable, fittedTable, formatNumber, type Row, table } from "./table.ts";
export type { WasmMemory } from "./wasm.ts";
export { laidOut, wrapped } from "./wrapped.ts";
