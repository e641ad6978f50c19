/**
 * `layerwise/tasks` in browsers: settings, jobs, runs by kind, searches and retraining, on run folders that the browser keeps. The build
 * makes a module of it in which Node's files are those of src/disk.
 */

export { type RunContent, RunFolder, type RunOptions } from "../runs/folder.ts";
export { type BrowserRuns, type BrowserRunsOptions, browserRuns } from "./browser-runs.ts";
export * from "./index.ts";
export { generateText, retrain, search } from "./search/index.ts";
