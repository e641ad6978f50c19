/** Searches over the blocks of a PAR Transformer-XL: everything other parts of the command line need of them. */
export { costTable } from "./searching/budget.ts";
export {
  parseCandidates,
  parseShape,
  type SearchConfig,
  searchConfig,
  searchDefaults,
  searchYaml,
} from "./searching/config.ts";
export { ARCHITECTURE_FILE, keptCosts, keptResult, type RunningOptions, searchIn } from "./searching/run.ts";
export {
  type Cut,
  type Found,
  type Milestone,
  prepareSearch,
  type SearchOptions,
  search,
  type Tell,
} from "./searching/search.ts";
export { aliveIn, checkReach, evaluationShape, modelAt, openSearch, type SearchSession } from "./searching/session.ts";
export { evaluateOn } from "./searching/stage.ts";
