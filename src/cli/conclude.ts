/** What a person sees when trainings, searches and retrainings have ended: how they went, and what to do next. */
import type { Engine, LanguageModel, RetrainResult, RunKind, SearchResult } from "../index.ts";
import type { ResumedSweep } from "../sweep/index.ts";
import type { Ended, TrainedModel } from "../tasks/index.ts";
import type { Found, SearchConfig } from "../tasks/search/index.ts";
import { commandName, nextLines, print, say } from "./output.ts";
import { isUnfinished } from "./session.ts";

/** On what a session ran, and how its end is told. */
export interface Concluding {
  readonly engine?: Engine | undefined;
  readonly json?: boolean | undefined;
}

/** How to go on with what was stopped. */
const goOn = (path: string) => `go on with: ${commandName()} resume ${path}`;

/** Says how training ended, shows a sample of what was learnt, and what to do next. */
export async function concludeTraining(path: string, kind: RunKind, result: Ended, how: Concluding): Promise<void> {
  const { endingData, endingText, nextWordsOf, sampleOf } = await import("../tasks/index.ts");
  if (how.json) return print(JSON.stringify({ run: path, ...(await endingData(result)) }));
  if (result.reason === "stopped") return print(`stopped at step ${result.steps}; ${goOn(path)}`);
  print(await endingText(result));
  if (kind === "language") print(`sample: ${await sampleOf(result as TrainedModel<LanguageModel>, how.engine)}`);
  print(nextLines(path, [...(result.found ? ["pretrain --found RUN"] : []), ...(await nextWordsOf(path, kind))]));
}

/** Prints what a search found and what to do next or, where it was stopped, how to go on. */
export async function concludeSearch(path: string, result: SearchResult, json = false): Promise<void> {
  const stopped = result.reason === "stopped";
  const { foundOf } = await import("../tasks/search/index.ts");
  if (json) {
    const front = result.front ? { front: result.front } : {};
    return print(JSON.stringify({ run: path, ...(stopped ? {} : { ...foundOf(result), ...front }) }));
  }
  if (stopped) return print(`stopped at step ${result.steps}; ${goOn(path)}`);
  await showFound(path, result, result.settings);
}

/** The same of a search from several seeds, once all have ended. */
export async function concludeSeeds(result: ResumedSweep, json = false): Promise<void> {
  const { path, reason, found, front, agreement, spec } = result;
  if (reason === "stopped") return print(`stopped; ${goOn(path)}`);
  if (!found) return void isUnfinished(path, reason);
  const { searchDefaults } = await import("../tasks/search/index.ts");
  const fronts = { ...(front ? { front } : {}), ...(agreement ? { agreement } : {}) };
  if (json) return print(JSON.stringify({ run: path, ...found, ...fronts }));
  await showFound(path, found, { ...searchDefaults, ...spec.settings }, found.seeds.length);
}

async function showFound(path: string, found: Found, settings: SearchConfig, seeds = 1): Promise<void> {
  const { doubtsOf, foundText, surenessOf } = await import("../tasks/search/index.ts");
  const next = nextLines(path, ["retrain RUN", 'generate RUN --prompt "it was"', "runs show RUN"]);
  print([foundText(found), ...surenessOf(found, settings, seeds), ...doubtsOf(found, settings), next].join("\n"));
}

/** Prints how the found network and the baseline compare or, where training was stopped, how to go on. */
export async function concludeRetrain(path: string, result: RetrainResult, json = false): Promise<void> {
  if (result.reason === "stopped") return say(`stopped; ${goOn(path)}`);
  const { comparisonText, retrainData } = await import("../tasks/search/index.ts");
  if (json) return print(JSON.stringify(retrainData(result)));
  const next = ['generate RUN --prompt "it was"', "eval RUN --split test", "export RUN --out exported"];
  print(`${comparisonText(result)}\n${nextLines(path, next)}`);
}
