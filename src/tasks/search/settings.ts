/** What a search is told: one literal of defaults with a word on each, and how it is kept in a run folder. */
import { parse, stringify } from "yaml";
import type { LatencyShape } from "../../analysis/latency.ts";
import { reject } from "../../base/errors.ts";
import { kinds } from "../../depth/pattern.ts";
import { choiceOf } from "../../model/par/candidates.ts";
import type { CandidateChoice } from "../../model/par/par.ts";
import type { Length } from "../../train/loop.ts";
import type { ScheduleName } from "../../train/schedule.ts";

/** Everything a search is told; plain data, kept in its folder. */
export interface SearchConfig {
  corpus: string;
  /** None: the data's own, or one trained on the text. */
  tokenizer: string | null;
  /** Vocabulary size of a trained tokenizer. */
  pieces: number | null;
  data: string | null;
  /** How many to search, or a pattern that is already found. */
  blocks: number | string;
  /** What a block may be, such as `s,f,f:1024,i`: letters of a pattern, with heads or feed-forward width. None: s,f,i. */
  candidates: string | null;
  width: number;
  heads: number;
  hidden: number;
  memory: number;
  /** Memory in evaluation. None: as in training. */
  evaluationMemory: number | null;
  dropout: number;
  batch: number;
  length: number;
  /** Rows and pieces of a batch in evaluation. None: as in training. */
  evaluationBatch: number | null;
  evaluationLength: number | null;
  cutoffs: number[];
  factor: number;
  /** Projection sizes, one a tail, instead of the factor's. */
  projectionSizes: number[] | null;
  /** Rare words have shorter vectors on the way in, too. */
  adaptiveInput: boolean;
  /** Positions further back count as this far. None: all distances differ. */
  clampLength: number | null;
  /** Every position sees as many steps back. */
  sameLength: boolean;
  straightThrough: boolean;
  /** Each block learns a temperature of its own, from `temperatureStart`. */
  trainedTemperature: boolean;
  temperatureStart: number;
  temperatureEnd: number;
  /** `muon` for products inside blocks with adamw for the rest, or adamw for all. */
  optimiser: "adamw" | "muon";
  rate: number;
  /** Highest rate of the matrices that Muon updates; none: that of the rest. */
  hiddenRate: number | null;
  schedule: ScheduleName;
  /** Part of the highest rate that is left at the end (cosine, linear). */
  floor: number;
  warmup: number;
  weightDecay: number;
  beta2: number;
  clipNorm: number;
  steps: number | null;
  epochs: number | null;
  evaluateEvery: number;
  checkpointEvery: number;
  seed: number;
  compat: boolean;
  /** `joint`: all together, as the original; `alternate`: by turns after a freeze, as the paper. */
  procedure: "joint" | "alternate";
  /** Highest learning rate of the architecture; none: that of the weights. */
  architectureRate: number | null;
  /** Part of the updates before the architecture moves. None: 0, or a fifth where they alternate. */
  freeze: number | null;
  /** A candidate whose π is below 1 − cut is cut, so a block is decided once its largest π is above. None: never. */
  cut: number | null;
  /** Parts of the updates between which blocks settle, at an even pace and the surest first, for one candidate beside identity. None: as π says. */
  settle: [number, number] | null;
  /** Updates between looks at π. */
  cutEvery: number;
  /** Latency asked for: `3.2ms`, or `0.65` of the (sf)-baseline's with as many blocks. */
  budget: string | null;
  budgetWeight: number;
  /** Shape at which latency is measured; the default is the paper's. */
  latency: LatencyShape;
  /** Evaluate on the original's batches, whose last ones repeat tokens. */
  originalBatches: boolean;
}

/** The base size on the embedded books. */
export const searchDefaults: SearchConfig = {
  ...{ corpus: "books", tokenizer: null, pieces: null, data: null },
  ...{
    blocks: 6,
    candidates: null,
    width: 128,
    heads: 4,
    hidden: 512,
    memory: 16,
    evaluationMemory: null,
    dropout: 0.1,
  },
  ...{
    batch: 32,
    length: 32,
    evaluationBatch: null,
    evaluationLength: null,
    cutoffs: [250, 2500],
    factor: 4,
    projectionSizes: null,
  },
  ...{ adaptiveInput: false, clampLength: null, sameLength: false },
  ...{ straightThrough: false, trainedTemperature: false, temperatureStart: 1, temperatureEnd: 0.1 },
  ...{ optimiser: "adamw", rate: 0.003, hiddenRate: null, schedule: "cosine", floor: 0, warmup: 400 },
  ...{ weightDecay: 0.01, beta2: 0.98, clipNorm: 0.5, steps: null, epochs: null },
  ...{ evaluateEvery: 500, checkpointEvery: 500, seed: 1, compat: false },
  ...{ procedure: "joint", architectureRate: null, freeze: null, cut: 0.95, settle: null, cutEvery: 100 },
  ...{ budget: null, budgetWeight: 1, latency: { batch: 1, length: 64, memory: 640 }, originalBatches: false },
};

export function lengthOf({ steps, epochs }: SearchConfig): Exclude<Length, { minutes: number }> {
  if (steps !== null && epochs !== null) {
    reject({ who: "search", needed: "--steps or --epochs", got: "both", remedy: "give one" }, 2);
  }
  return steps === null ? { epochs: epochs ?? 1 } : { steps };
}

/** `s,f,f:1024,i` → what a block may be. */
export function parseCandidates(text: string): CandidateChoice[] {
  const found = text.split(",").map((part) => /^\s*([sfi])(?::(\d+))?\s*$/.exec(part));
  const wrong = found.some((match) => !match || (match[1] === "i" && match[2] !== undefined) || Number(match[2]) === 0);
  if (wrong) {
    const needed = "letters s, f and i with sizes where they have one, such as s,f,f:1024,i";
    reject({ who: "candidates", needed, got: JSON.stringify(text) }, 2);
  }
  return found.map((match) => {
    const [, letter, size] = match!;
    return choiceOf({ kind: kinds[letter as keyof typeof kinds], size: size === undefined ? undefined : Number(size) });
  });
}

/** `1x64+640` → batch, segment, memory. */
export function parseShape(text: string): LatencyShape {
  const found = /^(\d+)x(\d+)\+(\d+)$/.exec(text.trim());
  const [batch, length, memory] = (found ?? []).slice(1).map(Number);
  if (!batch || !length || memory === undefined) {
    return reject(
      { who: "latency", needed: "batch x segment + memory, such as 1x64+640", got: JSON.stringify(text) },
      2,
    );
  }
  return { batch, length, memory };
}

export const searchYaml = (config: SearchConfig): string => stringify({ task: "search", ...config });

/** The config that a search keeps in its folder. */
export function searchConfig(yaml: string, source: string): SearchConfig {
  const { task, ...config } = parse(yaml) as { task?: string } & SearchConfig;
  if (task !== "search") {
    const remedy = "go on with `layerwise resume`";
    reject({ who: source, needed: "a run of layerwise search", got: `task ${task ?? "language"}`, remedy }, 2);
  }
  return { ...searchDefaults, ...config };
}
