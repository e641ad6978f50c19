/** Searches over the blocks of a PAR Transformer-XL: everything other parts of the command line need of them. */
export { costTable } from "./budget.ts";
export { aliveIn, checkReach, evaluationShape, modelAt, openSearch, type SearchSession } from "./job.ts";
export { ARCHITECTURE_FILE, keptCosts, keptResult, type RunningOptions, searchIn } from "./run.ts";
export {
  type Cut,
  type Found,
  type Milestone,
  prepareSearch,
  type SearchOptions,
  search,
  type Tell,
} from "./search.ts";
export {
  parseCandidates,
  parseShape,
  type SearchConfig,
  searchDefaults,
  searchYaml,
} from "./settings.ts";
export { evaluateOn } from "./stage.ts";
