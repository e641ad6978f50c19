/** What a person sees when searches and retrainings have ended: what they found, how two networks compare. */
import type { RetrainResult, SearchResult } from "../index.ts";
import type { ResumedSweep } from "../sweep/index.ts";
import type { Found, SearchConfig } from "../tasks/search/index.ts";
import { commandName, nextLines } from "./command-name.ts";
import { print, say } from "./output.ts";
import { isUnfinished } from "./trials.ts";

/** Prints what a search found and what to do next or, where it was stopped, how to go on. */
export async function concludeSearch(path: string, result: SearchResult, json = false): Promise<void> {
  const stopped = result.reason === "stopped";
  const { foundOf } = await import("../tasks/search/index.ts");
  if (json) {
    const front = result.front ? { front: result.front } : {};
    return print(JSON.stringify({ run: path, ...(stopped ? {} : { ...foundOf(result), ...front }) }));
  }
  if (stopped) return print(`stopped at step ${result.steps}; go on with: ${commandName()} resume ${path}`);
  await showFound(path, result, result.settings);
}

/** The same of a search from several seeds, once all have ended. */
export async function concludeSeeds(result: ResumedSweep, json = false): Promise<void> {
  const { path, reason, found, front, spec } = result;
  if (reason === "stopped") return print(`stopped; go on with: ${commandName()} resume ${path}`);
  if (!found) return void isUnfinished(path, reason);
  const { searchDefaults } = await import("../tasks/search/index.ts");
  if (json) return print(JSON.stringify({ run: path, ...found, ...(front ? { front } : {}) }));
  await showFound(path, found, { ...searchDefaults, ...spec.settings }, found.seeds.length);
}

async function showFound(path: string, found: Found, settings: SearchConfig, seeds = 1): Promise<void> {
  const { doubtsOf, foundText, surenessOf } = await import("../tasks/search/index.ts");
  const next = ["retrain RUN", 'generate RUN --prompt "it was"', "runs show RUN"];
  print(
    [foundText(found), ...surenessOf(found, settings, seeds), ...doubtsOf(found, settings), nextLines(path, next)].join(
      "\n",
    ),
  );
}

/** Prints how the found network and the baseline compare or, where training was stopped, how to go on. */
export async function concludeRetrain(path: string, result: RetrainResult, json = false): Promise<void> {
  if (result.reason === "stopped") return say(`stopped; go on with: ${commandName()} resume ${path}`);
  const { comparisonText, retrainData } = await import("../tasks/search/index.ts");
  if (json) return print(JSON.stringify(retrainData(result)));
  const next = ['generate RUN --prompt "it was"', "eval RUN --split test", "export RUN --out exported"];
  print(`${comparisonText(result)}\n${nextLines(path, next)}`);
}
