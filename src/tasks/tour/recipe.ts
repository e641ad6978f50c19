/** What the tour trains: small settings that show share, search and adapt within minutes on two cores; docs/log.md has the trials. */
import { type LanguageConfig, languageSettings } from "../language/settings.ts";
import type { RetrainOptions, SearchOptions } from "../search/options.ts";

/** The parts of the tour, in their order. */
export const partNames = ["share", "search", "adapt"] as const;
/** A part of the tour. */
export type PartName = (typeof partNames)[number];

/** A training run of the tour, which has a folder of this name. */
export interface Lap {
  readonly name: string;
  readonly part: PartName;
  readonly about: string;
  /** Updates. */
  readonly steps: number;
  /** Seconds on two quiet cores: what the tour expects before it has measured anything. */
  readonly seconds: number;
}

/** Every run, in its order. */
export const laps: readonly Lap[] = [
  { name: "shared", part: "share", about: "two layers of weights, six layers deep", steps: 160, seconds: 18 },
  { name: "unshared", part: "share", about: "six layers of weights, six layers deep", steps: 160, seconds: 18 },
  { name: "search", part: "search", about: "six blocks, each with a choice of three", steps: 600, seconds: 22 },
  { name: "found", part: "search", about: "the found network, from scratch", steps: 300, seconds: 8 },
  { name: "found-baseline", part: "search", about: "the baseline, as long", steps: 300, seconds: 8 },
  { name: "adapt", part: "adapt", about: "every token halts by itself", steps: 400, seconds: 12 },
];

/** How the tour runs. */
export interface Sizes {
  readonly seed: number;
  /** Updates of every run instead of the recipe's. */
  readonly steps: number | undefined;
}

/** Updates of a run. */
export function stepsOf(name: string, { steps }: Sizes): number {
  return steps ?? laps.find((lap) => lap.name === name)!.steps;
}

const text = { corpus: "books", pieces: 1000 } as const;
const part = (steps: number, parts: number) => Math.max(1, Math.round(steps / parts));

function languageSizes(name: string, sizes: Sizes) {
  const steps = stepsOf(name, sizes);
  return {
    ...text,
    heads: 4,
    depth: 6,
    length: 64,
    steps,
    warmup: part(steps, 20),
    evaluateEvery: part(steps, 2),
    checkpointEvery: part(steps, 4),
    dropout: 0,
    keep: 1,
    seed: sizes.seed,
  };
}

const resolved = (values: Partial<LanguageConfig>) => languageSettings.resolve([{ source: "tour", values }]);

/** Six layers deep, with so many layers of weights. */
export const shareSettings = (name: string, unique: number, sizes: Sizes): LanguageConfig =>
  resolved({ ...languageSizes(name, sizes), width: 128, batch: 16, unique, share: "cycle" });

/** One layer, run up to six times: the preset `halting`, at the tour's length. */
export function adaptSettings(sizes: Sizes): LanguageConfig {
  const own = languageSizes("adapt", sizes);
  const lengths = { ponderFrom: part(3 * own.steps, 10), ponderWarmup: part(own.steps, 10) };
  return languageSettings.resolve([
    languageSettings.preset("halting"),
    { source: "tour", values: { ...own, ...lengths } },
  ]);
}

/** The first temperatures are high, so that no candidate is starved; then blocks settle, the surest first. */
export function supernetSettings(sizes: Sizes): SearchOptions {
  const steps = stepsOf("search", sizes);
  return {
    ...text,
    blocks: 6,
    candidates: "s,f,i",
    width: 96,
    heads: 2,
    feedForward: 384,
    cutoffs: [],
    dropout: 0,
    batch: 16,
    rate: 0.004,
    warmup: part(steps, 20),
    architectureRate: 0.1,
    freeze: 0.15,
    temperatureStart: 5,
    temperatureEnd: 0.1,
    settle: [0.25, 0.6],
    decide: null,
    cutEvery: part(steps, 20),
    steps,
    seed: sizes.seed,
    evaluateEvery: part(steps, 24),
    evaluationBatch: 32,
    checkpointEvery: part(steps, 4),
    keep: 1,
    latency: { batch: 1, length: 16, memory: 32 },
  };
}

/** The found network and its baseline. */
export function retrainSettings(sizes: Sizes): RetrainOptions {
  const steps = stepsOf("found", sizes);
  return { steps, warmup: part(steps, 10), evaluateEvery: part(steps, 3), checkpointEvery: part(steps, 3) };
}
