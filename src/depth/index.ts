/** `layerwise/depth`: depth as data: plans (which block runs at each depth), patterns (which kind it is) and policies (how blocks become depth). */
export { cachesOf, contextsOf } from "./caches.ts";
export { chained } from "./chained.ts";
export { parseExitRule } from "./exit-rule.ts";
export { type ExitRule, type ExitsOptions, type ExitsPolicy, exits } from "./exits.ts";
export { fixed } from "./fixed.ts";
export type { Accumulated, Share, Turn } from "./halting.ts";
export {
  type Counters,
  compat as haltingCompat,
  type HaltingContext,
  type HaltingOptions,
  type HaltingPolicy,
  halting,
  ponderScale,
} from "./halting.ts";
export { type LayerDropoutOptions, type LayerDropoutPolicy, layerDropout } from "./layer-dropout.ts";
export { type Injection, type LoopedOptions, type LoopedPolicy, looped } from "./looped.ts";
export { type Loops, loopCourse } from "./loops.ts";
export { nested, type Outer } from "./nested.ts";
export {
  type Depth,
  type DepthPart,
  type DepthWord,
  executedDepth,
  type KnownWord,
  parseDepth,
  planOfDepth,
  printDepth,
  type Stack,
  type WordName,
  type WordValue,
} from "./notation.ts";
export { outlineOf, type PartOutline } from "./outline.ts";
export { defineWord, type OwnWord, ownWords, type WordForm, type WrittenOptions } from "./own-words.ts";
export type { Lettered } from "./pattern.ts";
export {
  type BlockKind,
  type KindLetter,
  type PatternBlock,
  parsePattern,
  patternBlocks,
  printPattern,
  publishedPatterns,
  scalePattern,
} from "./pattern.ts";
export {
  cycle,
  cycleReverse,
  middleCycle,
  middleSequence,
  type PartSharing,
  type Parts,
  type Plan,
  parsePlan,
  partsOf,
  printPlan,
  type ShareMode,
  type Sharing,
  sequence,
  sharedParts,
  shareModes,
} from "./plan.ts";
export type { Course, Deepened, DepthPolicy, Exit, TrainingScalar, TrainingScalars } from "./policy.ts";
export { type RelaxOptions, relaxed } from "./relaxed.ts";
export { type RoutedOptions, type RoutedPolicy, type RoutedUse, routed } from "./routed.ts";
export { type Depths, depthsOf, type RowsOnly, type Running, type SharedKeys } from "./running.ts";
export {
  annealedTemperature,
  type Budget,
  type Evaluation,
  type SearchContext,
  Searched,
  type SearchedOptions,
  searched,
  type TemperatureOptions,
} from "./searched.ts";
export { type DepthRow, DepthTally, depthTable, type TokenDepth, type TraceRow, traceTable } from "./tally.ts";
export { type DepthUse, usedDepth } from "./use.ts";
export { type BlockMaker, writtenDepth } from "./written.ts";
