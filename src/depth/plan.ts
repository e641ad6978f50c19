/** Sharing schedules: which of M blocks runs at each of N depths. A plan is an array; this file makes, reads and checks them. */
import { reject } from "../base/errors.ts";

/** Block number at each depth. */
export type Plan = readonly number[];

export interface Sharing {
  /** M: blocks that own weights. */
  unique: number;
  /** N: blocks that run. */
  depth: number;
}

function check({ unique, depth }: Sharing): void {
  if (Number.isInteger(unique) && Number.isInteger(depth) && unique >= 1 && depth >= unique) return;
  reject(
    {
      who: "plan",
      needed: "1 ≤ unique ≤ depth, both whole",
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

export const shareModes = { sequence, cycle, cycle_rev: cycleReverse } as const;
export type ShareMode = keyof typeof shareModes;
