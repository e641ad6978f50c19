/** Random networks of no more than a cost: what a found network is held against. */
import { RandomStream } from "../../../base/random.ts";
import type { Path } from "../../../train/path-program.ts";
import { type Choices, computedBy, drawPath } from "./paths.ts";

/** What networks are drawn from. */
export interface RandomDraw {
  readonly choices: Choices;
  readonly seed: number;
  /** As the user wrote it: each has draws of its own. */
  readonly budget: string;
  /** None costs more. */
  readonly most: number;
  costOf(path: Path): number;
  /** Which networks count. Default: all. */
  fits?(path: Path): boolean;
}

/** Networks of at least this fraction of the cost are taken at once. */
const NEAR = 0.9;
const TRIES = 1000;

/**
 * Different networks, drawn as training draws paths: each is the first within a tenth below the cost or, where none is among a thousand,
 * the dearest within it. Fewer than wanted where no more are found.
 */
export function randomPaths(draw: RandomDraw, count: number): number[][] {
  const taken = new Map<string, number[]>();
  for (let k = 0; k < count; k++) {
    const path = drawn(draw, k, (each) => taken.has(computedBy(draw.choices, each)));
    if (!path) break;
    taken.set(computedBy(draw.choices, path), path);
  }
  return [...taken.values()];
}

function drawn(draw: RandomDraw, k: number, isTaken: (path: Path) => boolean): number[] | undefined {
  const { choices, seed, budget, most, costOf, fits = () => true } = draw;
  const random = new RandomStream(seed, `random network ${k} of ${budget}`);
  let dearest: { path: number[]; cost: number } | undefined;
  for (let tries = 0; tries < TRIES; tries++) {
    const path = drawPath(choices, random);
    const cost = costOf(path);
    if (cost > most || cost <= (dearest?.cost ?? 0) || isTaken(path) || !fits(path)) continue;
    if (cost > NEAR * most) return path;
    dearest = { path, cost };
  }
  return dearest?.path;
}
