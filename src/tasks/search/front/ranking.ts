/** Ranks the networks of a supernet by its own weights: an evolutionary search for the whole front of loss against cost. */
import { RandomStream } from "../../../base/random.ts";
import type { Path } from "../../../train/path-program.ts";
import { guessFrom } from "./guess.ts";
import {
  bred,
  type Choices,
  computedBy,
  drawPath,
  firstOfEach,
  isIdentity,
  type Ranked,
  stemOfPath,
  turnsOf,
} from "./paths.ts";

/** What is ranked, and how thoroughly. */
export interface RankingOptions {
  readonly choices: Choices;
  readonly seed: number;
  /** Networks to measure. */
  readonly networks: number;
  costOf(path: Path): number;
  /** Whether a network may be on the front at all. Default: all may. */
  fits?(path: Path): boolean;
  /** Measured first, in any case: they fit. Default: candidates by turns. */
  readonly first?: readonly Path[] | undefined;
  /** Losses of paths; `fine` on more text. */
  losses(paths: readonly Path[], fine: boolean): Promise<readonly number[]>;
}

/** Networks of one generation; the first is larger. */
const [FIRST, GENERATION] = [200, 100];
/** Stretches of cost of which each keeps its best networks as parents, and how many. */
const [STRETCHES, KEPT] = [24, 4];
/** Children that are bred for each that is measured: the best by a guess from what was measured. */
const BRED = 20;

/**
 * Measures networks generation by generation: the first are drawn as training draws them, the others are bred from the best of each
 * stretch of cost, many more than are measured: of each stretch those of which most is hoped, so that all budgets are looked after alike. The best of each stretch, the finalists, are then measured on more text, and those
 * that no cheaper one beats are the front. The same options give the same front. Yields how many were measured.
 */
export async function* rankNetworks(
  options: RankingOptions,
): AsyncGenerator<number, { front: Ranked[]; finalists: Ranked[]; measured: Ranked[] }, void> {
  const random = new RandomStream(options.seed, "networks that are ranked");
  const measured = new Map<string, Ranked>();
  const total = Math.min(options.networks, spaceOf(options.choices));
  while (measured.size < total) {
    const wanted = Math.min(measured.size === 0 ? FIRST : GENERATION, total - measured.size);
    const paths = nextPaths(options, measured, wanted, random);
    if (paths.length === 0) break;
    for (const each of await measure(options, paths, false)) measured.set(each.path.join(), each);
    yield measured.size;
  }
  const all = [...measured.values()];
  const best = finalistsOf(options.choices, all).map(({ path }) => path);
  const finalists = (await measure(options, best, true)).sort(byLoss);
  return { front: undominated(finalists), finalists, measured: all };
}

/** Of each stretch the best networks of different stems, and the front of all; those that are the same but for where nothing stands once. */
function finalistsOf(choices: Choices, all: readonly Ranked[]): Ranked[] {
  const best = stretchesOf(all).flatMap((each) => {
    return firstOfEach(each, ({ path }) => stemOfPath(choices, path)).slice(0, KEPT);
  });
  return firstOfEach([...best, ...undominated(all)].sort(byLoss), ({ path }) => computedBy(choices, path));
}

const spaceOf = (choices: Choices) => choices.reduce((product, { length }) => product * length, 1);

async function measure(options: RankingOptions, paths: readonly Path[], fine: boolean): Promise<Ranked[]> {
  const losses = await options.losses(paths, fine);
  return paths.map((path, i) => {
    return {
      path,
      cost: options.costOf(path),
      loss: losses[i]!,
      judged: losses[i]! + surcharge(options.choices, path),
    };
  });
}

/**
 * What is added to a loss, in nats per block that a network skips. A supernet flatters what skips: its blocks are used to being left
 * out, and those of a network trained by itself are not. docs/log.md has the figures behind it.
 */
const SKIPPED = 0.002;

const surcharge = (choices: Choices, path: Path) =>
  SKIPPED * path.filter((place, i) => isIdentity(choices[i]![place]!)).length;

/** Paths that were not measured yet: drawn at first, then bred; fewer than wanted where they are hard to find. */
function nextPaths(
  options: RankingOptions,
  measured: ReadonlyMap<string, Ranked>,
  wanted: number,
  random: RandomStream,
): Path[] {
  const { choices, costOf, fits = () => true, first = [turnsOf(choices)] } = options;
  const all = [...measured.values()];
  const parents = bestOf(all);
  const isFirst = parents.length === 0;
  const found = new Map<string, Path>();
  if (isFirst) for (const path of first) found.set(path.join(), path);
  const sought = isFirst ? wanted : BRED * wanted;
  for (let tries = 0; found.size < sought && tries < 3 * sought; tries++) {
    const path = isFirst || tries > 2 * sought ? drawPath(choices, random) : child(choices, parents, random);
    if (!measured.has(path.join()) && fits(path)) found.set(path.join(), path);
  }
  if (isFirst) return [...found.values()];
  const guess = guessFrom(choices, all);
  const hoped = [...found.values()].map((path) => {
    const loss = guess(path);
    return { path, cost: costOf(path), loss, judged: loss + surcharge(choices, path) };
  });
  return takenByTurns(stretchesOf(hoped), wanted).map(({ path }) => path);
}

/** The best of each stretch, then the second best of each, and so on. */
function takenByTurns(stretches: readonly (readonly Ranked[])[], wanted: number): Ranked[] {
  const turns = Array.from({ length: Math.max(...stretches.map(({ length }) => length)) }, (_, turn) =>
    stretches.flatMap((stretch) => stretch.slice(turn, turn + 1)),
  );
  return turns.flat().slice(0, wanted);
}

/** Of two parents that cost about the same. */
function child(choices: Choices, parents: readonly Ranked[], random: RandomStream): number[] {
  const at = random.integer(parents.length);
  const near = Math.min(parents.length - 1, Math.max(0, at + random.integer(2 * KEPT + 1) - KEPT));
  return bred(choices, [parents[at]!.path, parents[near]!.path], random);
}

/** The best of each stretch of cost and the front of all, by rising cost. */
function bestOf(all: readonly Ranked[]): Ranked[] {
  if (all.length === 0) return [];
  const best = stretchesOf(all).flatMap((each) => each.slice(0, KEPT));
  return [...new Set([...best, ...undominated(all)])].sort(byCost);
}

/** Networks by stretches of cost, the best of each first. */
function stretchesOf(all: readonly Ranked[]): Ranked[][] {
  const costs = all.map(({ cost }) => cost);
  const [least, most] = [Math.min(...costs), Math.max(...costs)];
  const stretches = Array.from({ length: STRETCHES }, (): Ranked[] => []);
  for (const each of all) {
    const stretch = Math.floor((STRETCHES * (each.cost - least)) / (most - least || 1));
    stretches[Math.min(STRETCHES - 1, stretch)]!.push(each);
  }
  return stretches.map((each) => each.sort(byLoss));
}

const byCost = (a: Ranked, b: Ranked) => a.cost - b.cost || a.judged - b.judged || order(a, b);
const byLoss = (a: Ranked, b: Ranked) => a.judged - b.judged || a.cost - b.cost || order(a, b);
const order = (a: Ranked, b: Ranked) => (a.path.join() < b.path.join() ? -1 : 1);

/** By rising cost, those that are judged better than all that cost no more. */
export function undominated(all: readonly Ranked[]): Ranked[] {
  let least = Number.POSITIVE_INFINITY;
  return all.toSorted(byCost).filter(({ judged }) => {
    if (judged >= least) return false;
    least = judged;
    return true;
  });
}
