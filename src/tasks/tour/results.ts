/** What the tour comes to: plain data, kept as tour.json, from which the report is drawn. */
import type { DepthRow } from "../../depth/tally.ts";
import type { ShownToken } from "../../pictures/depth-view.ts";
import type { SearchMoment } from "../../pictures/search-picture.ts";
import type { NetworkFigures } from "../search/comparison.ts";
import type { PartName } from "./recipe.ts";

/** A model of the first part. */
export interface SharedModel {
  readonly run: string;
  readonly plan: readonly number[];
  readonly parameters: number;
  readonly flopsPerToken: number;
  /** Of the valid text, at the last update. */
  readonly loss: number;
  readonly perplexity: number;
}

/** Two layers of weights beside six, both run six deep. */
export interface ShareResult {
  readonly shared: SharedModel;
  readonly unshared: SharedModel;
}

/** What the search chose, how π moved, and the found network beside the baseline. */
export interface SearchedResult {
  readonly run: string;
  readonly pattern: string;
  readonly candidates: readonly string[];
  /** The last π of each block: the largest one. */
  readonly certainty: readonly number[];
  readonly moments: readonly SearchMoment[];
  readonly found: NetworkFigures;
  readonly baseline: NetworkFigures;
}

/** How deep tokens run, by kind, and a sentence. */
export interface AdaptResult {
  readonly run: string;
  /** The most passes through the layer. */
  readonly cap: number;
  readonly loss: number;
  readonly perplexity: number;
  readonly meanDepth: number;
  readonly kinds: readonly DepthRow[];
  /** Tokens that stopped after 1, 2, … passes. */
  readonly counts: readonly number[];
  readonly sentence: readonly ShownToken[];
}

/** The results of the parts that have ended. */
export interface TourParts {
  readonly share: ShareResult | null;
  readonly search: SearchedResult | null;
  readonly adapt: AdaptResult | null;
}

/** What the tour ends with. */
export interface TourResult extends TourParts {
  readonly reason: "finished" | "stopped";
  readonly path: string;
  readonly seed: number;
  readonly elapsedMs: number;
  /** One sentence per part that has ended. */
  readonly findings: Readonly<Partial<Record<PartName, string>>>;
  /** The page with the pictures. */
  readonly report: string;
}
