/** What a program says to `search` and `retrain`, as settings and as what is handed over beside them. */
import type { MeasuredCosts } from "../../analysis/latency.ts";
import { checkOptions, defined } from "../../base/options.ts";
import { withNames } from "../../runs/names.ts";
import type { Handed } from "../job.ts";
import type { Performing } from "../perform.ts";
import { type Given, type GivenText, givenText } from "../text-data.ts";
import { inWords, type NetworkSetting, retrainSettings, type SearchConfig, searchSettings } from "./settings.ts";

/** What both take besides their settings. */
export interface SharedOptions extends Performing, Handed, Pick<Given, "onTokenizer"> {
  /** Text and tokenizer, opened or by name; or the folder in which names are looked for. */
  readonly data?: GivenText | string | null | undefined;
}

/** A latency to keep to: as a fraction of the (sf)-baseline's, in milliseconds, or as text (`0.65`, `3.2ms`). */
export type BudgetOption = string | { readonly fraction: number } | { readonly ms: number } | null;

/** Settings of a search, and what it runs on. */
export interface SearchOptions extends Partial<Omit<SearchConfig, "data" | "budget">>, SharedOptions {
  /** A named set of settings, below all that is given. */
  readonly preset?: string | undefined;
  readonly budget?: BudgetOption | undefined;
  /** What candidates cost, where it was measured before. Default: it is measured first. */
  readonly costs?: MeasuredCosts | undefined;
}

/** How a found network is trained: settings that differ from the search's, and what it runs on. */
export interface RetrainOptions extends Partial<Omit<Pick<SearchConfig, NetworkSetting>, "data">>, SharedOptions {
  /** Train the (sf)-baseline too and compare, compare with the run of a folder, or with nothing. Default: true. */
  readonly baseline?: boolean | string | undefined;
  /** Start from the search's weights of the chosen candidates, embedding and softmax. Default: false. */
  readonly fromSupernet?: boolean | undefined;
}

/** The settings among options, and what of them is no setting. */
export interface SplitOptions {
  readonly settings: Partial<SearchConfig>;
  readonly given: Given;
}

const sharedNames = ["data", "engine", "say", "onTokenizer", "into", "signal"];
const searchNames = [...searchSettings.keys, "preset", "costs", ...sharedNames];
const retrainNames = [...retrainSettings.keys, "baseline", "fromSupernet", ...sharedNames];

/** Splits the options of `search`. */
export function splitSearch(named: SearchOptions): SplitOptions {
  const options = withNames(named, searchNames, "search");
  checkOptions("search", options, searchNames);
  const { preset, costs: _, ...rest } = options;
  const { settings, given } = split(rest);
  const { depth = null, blocks } = settings;
  if (preset === undefined) {
    return { settings: depth === null ? settings : { ...settings, ...inWords(depth, blocks) }, given };
  }
  const layers = [searchSettings.preset(preset), { source: "search", values: settings }];
  return { settings: searchSettings.resolve(layers), given };
}

/** Splits the options of `retrain`. */
export function splitRetrain(named: RetrainOptions): SplitOptions {
  const options = withNames(named, retrainNames, "retrain");
  checkOptions("retrain", options, retrainNames);
  const { baseline: _, fromSupernet: __, ...rest } = options;
  return split(rest);
}

function split({ data, engine, say, onTokenizer, budget, into: _, signal: __, ...rest }: SearchOptions): SplitOptions {
  const text = typeof data === "object" && data !== null ? givenText(data) : undefined;
  return {
    settings: {
      ...defined(rest),
      ...(budget === undefined ? {} : { budget: budgetText(budget) }),
      ...(typeof data === "string" ? { data } : {}),
      ...text?.settings,
    },
    given: { engine, say, onTokenizer, ...text?.given },
  };
}

/** A budget as text, as settings have it. */
export function budgetText(budget: BudgetOption): string | null {
  if (budget === null || typeof budget === "string") return budget;
  return "ms" in budget ? `${budget.ms}ms` : `${budget.fraction}`;
}
