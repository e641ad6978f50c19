/** `layerwise/sweep`: trials over settings: models compared at several seeds, and searches for the settings of a fine-tuning, in processes of their own. For Node. */
export {
  type CompareOptions,
  type Comparison,
  type Contestant,
  compare,
  contestants,
  figuresSoFar,
  type Result,
  type Spread,
  spreadOf,
} from "./comparison.ts";
export { runSearch, type SearchOptions, type SearchResult } from "./glue-search.ts";
export { serveTrials } from "./glue-worker.ts";
export { type StartedOrder, startOrder, tryOrder } from "./jobs.ts";
export type { Order, OrderSettings, TaskOrder } from "./orders.ts";
export type { Setting } from "./strategies.ts";
export { planSearch, type SearchFlags, type SearchPlan, type SearchRow, type StrategyName } from "./strategies.ts";
