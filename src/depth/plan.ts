/** Sharing schedules: which of M blocks runs at each of N depths. A plan is an array; this file makes, reads and checks them. */
import { reject } from "../base/errors.ts";
import { LARGEST } from "../base/limits.ts";

/** Block number at each depth. */
export type Plan = readonly number[];

/** How many blocks own weights, and how many run. */
export interface Sharing {
  /** M: blocks that own weights. */
  unique: number;
  /** N: blocks that run. */
  depth: number;
}

function check(sharing: Sharing): void {
  // Not by checkOptions: who takes a plan alone into a page should load little more.
  const extra = Object.keys(sharing).find((key) => key !== "unique" && key !== "depth");
  if (extra !== undefined) reject({ who: "plan", needed: "unique and depth", got: extra, remedy: "leave it out" }, 2);
  const { unique, depth } = sharing;
  const fits = Number.isInteger(unique) && Number.isInteger(depth) && unique >= 1 && depth >= unique;
  if (fits && depth <= LARGEST.depth) return;
  reject(
    {
      who: "plan",
      needed: `1 ≤ unique ≤ depth ≤ ${LARGEST.depth}, both whole`,
      got: `unique ${unique}, depth ${depth}`,
      remedy: "lower unique or raise depth",
    },
    2,
  );
}

const depths = (depth: number) => Array.from({ length: depth }, (_, i) => i);

/** Each block is repeated before the next starts; when N is no multiple of M, the repeats are spread evenly: ⌊i·M/N⌋. */
export function sequence(sharing: Sharing): Plan {
  check(sharing);
  return depths(sharing.depth).map((i) => Math.floor((i * sharing.unique) / sharing.depth));
}

/** i mod M. */
export function cycle(sharing: Sharing): Plan {
  check(sharing);
  return depths(sharing.depth).map((i) => i % sharing.unique);
}

/** Cycle, but the last min(M, N − M) depths run M − 1, M − 2, … */
export function cycleReverse(sharing: Sharing): Plan {
  check(sharing);
  const { unique, depth } = sharing;
  const reversed = Math.min(unique, depth - unique);
  return depths(depth).map((i) => {
    const fromReverse = i - (depth - reversed);
    return fromReverse < 0 ? i % unique : unique - 1 - fromReverse;
  });
}

/** First and last block unshared, the M − 2 others over the N − 2 depths between them. */
function middle(name: string, inner: (sharing: Sharing) => Plan): (sharing: Sharing) => Plan {
  return (sharing) => {
    check(sharing);
    const { unique, depth } = sharing;
    if (unique === depth) return depths(depth);
    if (unique < 3) {
      const got = `unique ${unique}, depth ${depth}`;
      const needed = "a first, a last and at least one shared block";
      reject({ who: `plan ${name}`, needed, got, remedy: "raise unique to 3 or use cycle" }, 2);
    }
    return [0, ...inner({ unique: unique - 2, depth: depth - 2 }).map((i) => i + 1), unique - 1];
  };
}

/** First and last block unshared, the others in a cycle. */
export const middleCycle = middle("middle-cycle", cycle);
/** First and last block unshared, the others in a sequence. */
export const middleSequence = middle("middle-sequence", sequence);

/** The schedules by the names that commands know them by. */
export const shareModes = {
  sequence,
  cycle,
  cycle_rev: cycleReverse,
  "middle-cycle": middleCycle,
  "middle-sequence": middleSequence,
} as const;
/** Name of a schedule. */
export type ShareMode = keyof typeof shareModes;

/** The number M of blocks that a plan names; each of 0 … M − 1 must stand in it. */
export function uniqueOf(plan: Plan, who = "plan"): number {
  const whole = plan.every((i) => Number.isInteger(i) && i >= 0);
  const used = new Set(plan);
  if (plan.length > LARGEST.depth) {
    reject({ who, needed: `at most ${LARGEST.depth} depths`, got: `${plan.length}` }, 2);
  }
  if (whole && plan.length > 0 && plan.every((i) => i < used.size)) return used.size;
  const missing = whole && plan.length > 0 ? depths(used.size).find((i) => !used.has(i)) : undefined;
  return reject(
    {
      who,
      needed: "block numbers 0, 1, … with none left out",
      got: plan.length === 0 ? "none" : `[${plan.slice(0, 64)}]${missing === undefined ? "" : ` without ${missing}`}`,
      remedy: "number the blocks from 0 without gaps",
    },
    2,
  );
}

/** Text of a flag → plan: `0,1,2,2,1,0`, with commas or spaces. */
export function parsePlan(text: string): Plan {
  const words = text.split(/[\s,]+/).filter(Boolean);
  const bad = words.find((word) => !/^\d+$/.test(word));
  if (bad !== undefined || words.length === 0) {
    const remedy = `write 0,1,2,2,1,0, or one of ${Object.keys(shareModes).join(", ")}`;
    reject({ who: "plan", needed: "block numbers with commas between", got: JSON.stringify(text), remedy }, 2);
  }
  const plan = words.map(Number);
  uniqueOf(plan);
  return plan;
}

/** Plan → text of a flag. */
export const printPlan = (plan: Plan): string => plan.join(",");

/** What runs at one depth, part by part: numbers of an attention, a feed-forward layer and a set of norms. */
export interface Parts {
  readonly attention: number;
  readonly feedForward: number;
  readonly norm: number;
}

/** What a plan may share. */
export const sharedParts = ["layers", "attention", "feed-forward"] as const;

/** Sharing of parts of a layer instead of whole layers. */
export interface PartSharing {
  /** What the plan shares; the other part of a layer is then owned by each depth. Default: whole layers. */
  share?: (typeof sharedParts)[number];
  /** Whether norms follow the plan, or each depth has its own. Default: shared. */
  norms?: "shared" | "per-depth";
}

/** Which parts run at each depth. */
export function partsOf(plan: Plan, { share = "layers", norms = "shared" }: PartSharing = {}): Parts[] {
  uniqueOf(plan);
  return plan.map((block, depth) => ({
    attention: share === "feed-forward" ? depth : block,
    feedForward: share === "attention" ? depth : block,
    norm: norms === "per-depth" ? depth : block,
  }));
}
