/** How far the fronts of supernets from several seeds agree: on the network for each budget, and on the order of networks that several ranked. */
import { kendall } from "../../../analysis/rank.ts";
import { table } from "../../../base/table.ts";
import { agreement } from "../seeds.ts";
import type { Front, FrontNetwork } from "./front.ts";

/** The file of a folder of seeds that holds it. */
export const FRONTS_FILE = "fronts.json";

/** The networks of all seeds for one budget. */
export interface BudgetAgreement {
  /** As a fraction of the (sf)-baseline's latency. */
  readonly budget: number;
  /** What each seed's front has for it, with the perplexity in that seed's supernet. */
  readonly networks: readonly (FrontNetwork & { readonly seed: number })[];
  /** For each block, how many seeds took its commonest candidate. */
  readonly agreeing: readonly number[];
  /** The seed whose network has the lowest perplexity. */
  readonly seed: number;
}

/** Two seeds, and the networks that both measured to the end. */
export interface PairAgreement {
  readonly seeds: readonly [number, number];
  readonly common: number;
  /** Kendall's τ between the orders of these; NaN where fewer than two are common. */
  readonly tau: number;
}

/** How far fronts agree; plain data, kept as fronts.json. */
export interface FrontAgreement {
  readonly budgets: readonly BudgetAgreement[];
  readonly pairs: readonly PairAgreement[];
}

/** Budgets that are compared: tenths of the baseline's latency. */
const TENTHS = Array.from({ length: 10 }, (_, i) => (i + 1) / 10);

/** Compares the fronts of several seeds, at tenths of the baseline's latency and at the budget that was asked for. */
export function frontAgreement(fronts: ReadonlyMap<number, Front>): FrontAgreement {
  const asked = [...fronts.values()].flatMap(({ targetMs, baselineMs }) => (targetMs ? targetMs / baselineMs : []));
  const budgets = [...new Set([...TENTHS, ...asked])].sort((a, b) => a - b);
  const seeds = [...fronts.keys()];
  const pairs = seeds.flatMap((a, i) => seeds.slice(i + 1).map((b) => [a, b] as const));
  return {
    budgets: budgets.flatMap((budget) => atBudget(fronts, budget) ?? []),
    pairs: pairs.map((pair) => ({ seeds: pair, ...ordersOf(fronts.get(pair[0])!, fronts.get(pair[1])!) })),
  };
}

/** Undefined where a front has no network so cheap. */
function atBudget(fronts: ReadonlyMap<number, Front>, budget: number): BudgetAgreement | undefined {
  const networks = [...fronts].flatMap(([seed, front]) => {
    const found = front.networks.findLast(({ ms }) => ms <= budget * front.baselineMs);
    return found ? [{ seed, ...found }] : [];
  });
  if (networks.length < fronts.size) return undefined;
  const shares = agreement(networks.map(({ pattern }) => pattern));
  const best = networks.reduce((a, b) => (b.perplexity < a.perplexity ? b : a));
  return { budget, networks, agreeing: shares.map((share) => Math.round(share * networks.length)), seed: best.seed };
}

function ordersOf(a: Front, b: Front): Pick<PairAgreement, "common" | "tau"> {
  const other = new Map((b.finalists ?? b.networks).map(({ pattern, perplexity }) => [pattern, perplexity]));
  const both = (a.finalists ?? a.networks).filter(({ pattern }) => other.has(pattern));
  const tau = kendall(
    both.map(({ perplexity }) => perplexity),
    both.map(({ pattern }) => other.get(pattern)!),
  );
  return { common: both.length, tau };
}

/** The networks for each budget, seed by seed, and how far their blocks and the orders of networks agree. */
export function frontAgreementText({ budgets, pairs }: FrontAgreement): string {
  const rows = budgets.flatMap(({ budget, networks, agreeing, seed: best }) => [
    ...networks.map(({ seed, pattern, ratio, perplexity }, i) => ({
      budget: i === 0 ? String(Math.round(1000 * budget) / 1000) : "",
      seed: `${seed}`,
      pattern,
      "÷ (sf)-baseline": ratio.toFixed(2),
      "perplexity in its supernet": perplexity.toFixed(2),
      "": seed === best ? "lowest" : "",
    })),
    {
      budget: "",
      seed: "agree",
      pattern: agreeing.join(" "),
      "÷ (sf)-baseline": "",
      "perplexity in its supernet": "",
      "": "",
    },
  ]);
  const orders = pairs.map(({ seeds, common, tau }) => {
    const figure = Number.isNaN(tau) ? "none" : tau.toFixed(2);
    return `seeds ${seeds.join(" and ")}: τ ${figure} over ${common} networks that both ranked`;
  });
  return [table(rows).trimEnd(), "agree: for each block, how many seeds took its commonest candidate", ...orders].join(
    "\n",
  );
}
