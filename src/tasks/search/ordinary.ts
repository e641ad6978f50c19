/** Settings and config.yaml of networks with nothing left to search: retrained here, or brought back from elsewhere. */
import { yamlText } from "../../runs/settings.ts";
import type { SearchConfig } from "./settings.ts";
import type { RetrainNotes } from "./stored.ts";

/** Settings of an ordinary network: nothing is searched, so nothing is cut and no budget holds. */
export function ordinary(config: SearchConfig, pattern: string): SearchConfig {
  const searched = {
    candidates: null,
    procedure: "joint",
    budget: null,
    cut: null,
    settle: null,
    decide: null,
    front: false,
  } as const;
  const depth = config.blocks === pattern ? config.depth : null;
  return { ...config, ...searched, blocks: pattern, depth };
}

/** Settings with changes; a new length replaces the old one, whatever that is counted in. */
export function changedBy(config: SearchConfig, changes: Partial<SearchConfig>): SearchConfig {
  const hasLength = [changes.steps, changes.epochs, changes.minutes].some((each) => (each ?? null) !== null);
  return { ...config, ...(hasLength ? { steps: null, epochs: null, minutes: null } : {}), ...changes };
}

/** The config.yaml of a run of retrain. */
export const yamlOf = (config: SearchConfig, retrain: RetrainNotes) =>
  yamlText({ task: "retrain", retrain, ...config });

/** The config.yaml of a network that comes back from elsewhere: nothing to begin with, nothing to compare it with. */
export const importedYaml = (config: SearchConfig, pattern: string): string =>
  yamlOf(ordinary(config, pattern), { origin: pattern, supernet: null, baseline: null, trainsBaseline: false });
