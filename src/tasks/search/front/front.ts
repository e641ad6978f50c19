/** The front of a search: the network for every budget, with the supernet's perplexities and measured latencies. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { LatencyShape } from "../../../analysis/latency.ts";
import { reject } from "../../../base/errors.ts";
import { table } from "../../../base/table.ts";
import { patternBlocks, printPattern } from "../../../depth/pattern.ts";
import { type TradeOff, tradeOffSvg } from "../../../pictures/trade-off-picture.ts";
import { readSealed } from "../../../runs/sealed.ts";
import { targetOf } from "../budget.ts";
import { firstOfEach, stemOf } from "./paths.ts";

/** The file of a run folder that holds the front. */
export const FRONT_FILE = "front.json";
/** Its picture. */
export const FRONT_PICTURE = "pictures/front.svg";

/** A network of the front. */
export interface FrontNetwork {
  readonly pattern: string;
  /** Forward milliseconds by measured costs. */
  readonly ms: number;
  /** What that is of the (sf)-baseline's. */
  readonly ratio: number;
  readonly parameters: number;
  /** exp(mean loss) on the text by which networks were ranked, with the supernet's weights: for order, not for its own sake. */
  readonly perplexity: number;
}

/** The front and how it was found; plain data, kept as front.json. */
export interface Front {
  /** By rising latency: the last within a budget is the one for it. */
  readonly networks: readonly FrontNetwork[];
  /** All that were measured on as much text, the best in the supernet first. Absent where an older version ranked. */
  readonly finalists?: readonly FrontNetwork[] | undefined;
  /** Networks as one would write them down, `(sf)x3(f)x5i`: the first within a budget is the one for it. Absent where an older version ranked. */
  readonly regular?: readonly Omit<FrontNetwork, "perplexity">[] | undefined;
  /** The network that the budget picks or, without one, the best that takes no longer than the (sf)-baseline. */
  readonly chosen: string;
  readonly baselineMs: number;
  /** What was asked for, in ms. */
  readonly targetMs: number | null;
  /** Networks that were measured. */
  readonly measured: number;
  /** Pieces of text on which each network of the front was measured. */
  readonly tokens: number;
  readonly shape: LatencyShape;
}

/** What networks for a budget may cost, in ms. Default: what the search was asked for or, without that, the (sf)-baseline's latency. */
export function mostOf({ targetMs, baselineMs, networks }: Front, budget?: string): number {
  if (budget !== undefined) return targetOf(budget, baselineMs);
  return targetMs ?? Math.max(baselineMs, networks[0]!.ms);
}

/** The network for a cost: the last within it. */
export function pickWithin<N extends Pick<FrontNetwork, "ms">>(networks: readonly N[], most: number): N {
  const found = networks.findLast(({ ms }) => ms <= most);
  if (found) return found;
  const needed = `at least ${networks[0]!.ms.toPrecision(3)} ms, the cheapest network of the front`;
  return reject({ who: "budget", needed, got: `${most.toPrecision(3)} ms`, remedy: "give it more" }, 2);
}

/**
 * So many networks for a cost, the best in the supernet first. Of those that differ only in how often their last block stands there,
 * the best counts: the others come where too few are left. Of a front of an older version, those with the most cost within it.
 */
export function contendersWithin({ networks, finalists = networks.toReversed() }: Front, most: number, count: number) {
  pickWithin(networks, most);
  const within = finalists.filter(({ ms }) => ms <= most);
  const apart = firstOfEach(within, ({ pattern }) => stemOf(lettersOf(pattern)));
  const wanted = [...new Set([...apart, ...within])].slice(0, count);
  return within.filter((network) => wanted.includes(network));
}

/** The regular network for a cost: of those within it the one with the most turns, and with the most blocks behind them. */
export const regularWithin = ({ regular = [] }: Front, most: number) => regular.find(({ ms }) => ms <= most);

const lettersOf = (pattern: string) => patternBlocks(pattern).map((block) => printPattern([block]));

/** So many networks of the front, evenly over it, the chosen one always among them. */
export function spreadOver({ networks, chosen }: Front, count: number): FrontNetwork[] {
  const at = networks.findIndex(({ pattern }) => pattern === chosen);
  const places = Array.from({ length: Math.min(count, networks.length) }, (_, i) => {
    return count === 1 ? at : Math.round((i * (networks.length - 1)) / (Math.min(count, networks.length) - 1));
  });
  const nearest = places.reduce(
    (best, place, i) => (Math.abs(place - at) < Math.abs(places[best]! - at) ? i : best),
    0,
  );
  places[nearest] = at;
  return [...new Set(places)].sort((a, b) => a - b).map((place) => networks[place]!);
}

/** Budgets that a table shows: every twentieth of the baseline's latency. */
const SHOWN = 20;

/** The networks for budgets by twentieths of the baseline's latency, the chosen one marked. */
export function frontTable({ networks, chosen }: Front): string {
  const shown = networks.filter(({ pattern, ratio }, i) => {
    const next = networks[i + 1]?.ratio ?? Number.POSITIVE_INFINITY;
    return pattern === chosen || Math.floor(SHOWN * next) > Math.floor(SHOWN * ratio);
  });
  const rows = shown.map((network) => ({
    pattern: network.pattern,
    parameters: `${(network.parameters / 1e6).toFixed(3)} M`,
    ms: network.ms.toFixed(2),
    "÷ (sf)-baseline": network.ratio.toFixed(2),
    "perplexity in the supernet": network.perplexity.toFixed(2),
    "": network.pattern === chosen ? "chosen" : "",
  }));
  return table(rows).trimEnd();
}

/** Perplexity against latency, the chosen network named. */
export function frontSvg({ networks, chosen, shape }: Front): string {
  const rows: TradeOff[] = networks.map(({ pattern, ms, perplexity }) => ({
    name: pattern === chosen ? "chosen" : "",
    pattern,
    latencyMs: ms,
    perplexity,
    kind: pattern === chosen ? "chosen" : "front",
  }));
  const { batch, length, memory } = shape;
  return tradeOffSvg(rows, `The front in the supernet: batch ${batch}, segment ${length}, memory ${memory}`);
}

/** The front that a search of this folder found; undefined while it has not ended, or was no search for one. */
export async function keptFront(path: string): Promise<Front | undefined> {
  const file = join(path, FRONT_FILE);
  if (!existsSync(file)) return undefined;
  const remedy = `delete it: \`layerwise resume ${path}\` works it out again`;
  return readSealed(await readFile(file, "utf8"), file, remedy).value as Front;
}
