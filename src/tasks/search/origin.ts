/** Where the pattern of a retraining comes from: a run of search, its architecture file, a result in memory, or letters. */
import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { rejectFile } from "../../base/errors.ts";
import { patternBlocks, printPattern } from "../../depth/pattern.ts";
import { foundNetwork } from "../../model/par/found.ts";
import { type NamedTensor, stateDict } from "../../model/state-dict.ts";
import { RunFolder, TOKENIZER_FILE } from "../../runs/folder.ts";
import { readSealed } from "../../runs/sealed.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import { ARCHITECTURE_FILE, type SearchResult } from "./result.ts";
import { type SearchConfig, searchDefaults } from "./settings.ts";
import { lastModel, storedSettings } from "./stored.ts";

/** What is retrained: a result, or something that has its pattern. */
export type RetrainSource = string | (Pick<SearchResult, "pattern"> & Partial<SearchResult>);

/** A pattern, the settings to train it with, and weights to start from where there are some. */
export interface Origin {
  /** How the run is to call it. */
  readonly name: string;
  readonly pattern: string;
  readonly settings: SearchConfig;
  /** The search's run folder, where it is one. */
  readonly run: string | null;
  readonly tokenizer?: OpenTokenizer | undefined;
  /** Weights of the chosen candidates, by the names they have in a network of their own. */
  readonly weights?: (() => Promise<ReadonlyMap<string, NamedTensor>>) | undefined;
}

const printed = (text: string) => printPattern(patternBlocks(text));

/** Reads what a source says. */
export async function originOf(source: RetrainSource): Promise<Origin> {
  if (typeof source !== "string") return originInMemory(source);
  if (!existsSync(source)) return { name: source, pattern: printed(source), settings: searchDefaults, run: null };
  const file = statSync(source).isDirectory() ? join(source, ARCHITECTURE_FILE) : source;
  const found = existsSync(file) ? parsed(await readFile(file, "utf8"), file) : undefined;
  if (typeof found?.pattern !== "string") return refuse(source, file);
  const pattern = printed(found.pattern);
  const folder = dirname(file);
  const places = [folder, join(folder, `seed-${found.seed}`)];
  const run = places.find((each) => existsSync(join(each, "config.yaml"))) ?? null;
  if (run === null) return { name: source, pattern, settings: searchDefaults, run };
  return { name: source, pattern, settings: await settingsIn(run), run, weights: () => supernetWeights(run, pattern) };
}

function originInMemory({ pattern, settings, tokenizer, model, weights }: Exclude<RetrainSource, string>): Origin {
  const named = model && weights ? async () => stateDict(model.parameters, weights) : undefined;
  return {
    name: `${MEMORY}${pattern}`,
    pattern: printed(pattern),
    settings: settings ?? searchDefaults,
    run: null,
    tokenizer,
    weights: named,
  };
}

/** How a run calls a result that a program handed over. */
export const MEMORY = "memory:";

function parsed(text: string, file: string): { pattern?: unknown; seed?: unknown } {
  return readSealed(text, file, "put it back; if you edited it, delete its sha256").value;
}

function refuse(who: string, file: string): never {
  const got = existsSync(file) ? "JSON without a pattern" : `no ${ARCHITECTURE_FILE}`;
  const remedy =
    "name a run that has ended, its architecture.json, or a pattern; unfinished ones go on with `layerwise resume`";
  return rejectFile({ who, needed: "the architecture that a search found", got, remedy });
}

/** The settings of a run of search or retrain; the tokenizer that it keeps is its own, wherever it came from. */
export async function settingsIn(run: string): Promise<SearchConfig> {
  const { settings } = storedSettings((await RunFolder.read(run)).config, run);
  const kept = join(run, TOKENIZER_FILE);
  return existsSync(kept) ? { ...settings, tokenizer: kept } : settings;
}

/** Weights of the chosen candidates out of a search's last checkpoint. */
export async function supernetWeights(path: string, pattern: string): Promise<ReadonlyMap<string, NamedTensor>> {
  const supernet = await lastModel(path);
  const { model, weights } = foundNetwork(supernet.model, supernet.weights, pattern);
  return stateDict(model.parameters, weights);
}
