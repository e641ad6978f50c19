/** Paths through a supernet: drawn for training, changed while networks are ranked, written as patterns. */
import { RandomStream } from "../../../base/random.ts";
import { printPattern } from "../../../depth/pattern.ts";
import { patternBlockOf } from "../../../model/par/candidates.ts";
import type { CandidateChoice } from "../../../model/par/par.ts";
import type { Path } from "../../../train/path-program.ts";

/** A network that was measured. */
export interface Ranked {
  readonly path: Path;
  /** Of the network, in the unit of the budget. */
  readonly cost: number;
  /** With the supernet's weights. */
  readonly loss: number;
  /** That, with what is added for blocks that are skipped: by this networks are ranked. */
  readonly judged: number;
}

/** What each block may be. */
export type Choices = readonly (readonly CandidateChoice[])[];

/** A path's letters. */
export const patternOfPath = (choices: Choices, path: Path): string =>
  printPattern(path.map((place, i) => patternBlockOf(choices[i]![place]!)));

/** What a path computes, without blocks that do nothing: networks that differ only in where those stand are one network. */
export const computedBy = (choices: Choices, path: Path): string => computing(lettersOf(choices, path)).join(" ");

const lettersOf = (choices: Choices, path: Path) => path.map((place, i) => patternOfPath([choices[i]!], [place]));
const computing = (letters: readonly string[]) => letters.filter((letter) => letter !== "i");

/** What computes, up to where only one kind of block is left: networks of one stem differ in how many of it follow. */
export function stemOf(letters: readonly string[]): string {
  const computed = computing(letters);
  const end = computed.findLastIndex((letter) => letter !== computed.at(-1));
  return computed.slice(0, end + 2).join(" ");
}

/** The stem of a path. */
export const stemOfPath = (choices: Choices, path: Path): string => stemOf(lettersOf(choices, path));

/** The first of those with the same key. */
export function firstOfEach<T>(all: readonly T[], keyOf: (each: T) => string): T[] {
  const found = new Map<string, T>();
  for (const each of all) if (!found.has(keyOf(each))) found.set(keyOf(each), each);
  return [...found.values()];
}

/** Whether a candidate does nothing. */
export const isIdentity = ({ kind }: CandidateChoice): boolean => kind === "identity";

/** How often identity is drawn, beside 1 for each candidate that computes: what it trains is nothing. */
const IDENTITY_WEIGHT = 0.5;

/**
 * A path whose skipped blocks stand at its end, where all blocks offer the same: what computes is the same network, and a block of the
 * supernet is then always as deep as it stands, which trains and ranks it better.
 */
export function packed(choices: Choices, path: Path): number[] {
  if (!choices.every((block) => sameNames(block, choices[0]!))) return [...path];
  const isSkipped = (place: number, i: number) => isIdentity(choices[i]![place]!);
  return [...path.filter((place, i) => !isSkipped(place, i)), ...path.filter(isSkipped)];
}

const sameNames = (a: Choices[number], b: Choices[number]) =>
  a.length === b.length && a.every((choice, k) => keyOf(choice) === keyOf(b[k]!));

/**
 * Draws a path. A share for each candidate is drawn first (Dirichlet, even over all mixtures), then every block by these shares: so
 * the number of attention blocks is about as often one as another, the cheapest and the dearest networks included.
 */
export const drawPath = (choices: Choices, random: RandomStream): number[] =>
  packed(choices, drawnPlaces(choices, random));

function drawnPlaces(choices: Choices, random: RandomStream): number[] {
  const names = [...new Set(choices.flat().map((choice) => keyOf(choice)))];
  const kinds = new Map(choices.flat().map((choice) => [keyOf(choice), choice]));
  const shares = new Map(names.map((name) => [name, gamma(isIdentity(kinds.get(name)!), random)]));
  return choices.map((block) => {
    const weights = block.map((choice) => shares.get(keyOf(choice))!);
    let left = random.uniform() * weights.reduce((a, b) => a + b, 0);
    return Math.max(
      0,
      weights.findIndex((weight) => {
        left -= weight;
        return left < 0;
      }),
    );
  });
}

const keyOf = (choice: CandidateChoice) => printPattern([patternBlockOf(choice)]);

/** Gamma of shape 1, or of IDENTITY_WEIGHT = ½, which is half a squared normal number. */
const gamma = (isHalf: boolean, random: RandomStream): number =>
  isHalf ? IDENTITY_WEIGHT * random.normal() ** 2 : -Math.log(1 - random.uniform());

/** The path of an update, counted from 0: a function of seed and update alone, so that what is resumed goes the same ways. */
export function pathAt(choices: Choices, seed: number, update: number): number[] {
  return drawPath(choices, new RandomStream(seed, `path of update ${update}`));
}

/** Candidates that compute by turns: of attention, feed-forward and identity the (sf)-baseline. */
export function turnsOf(choices: Choices): number[] {
  return choices.map((block, i) => {
    const computing = block.flatMap((choice, place) => (isIdentity(choice) ? [] : [place]));
    return computing[i % computing.length] ?? 0;
  });
}

/**
 * Networks as one would write them down, those of the most turns first and of these the deepest: candidates by turns, then blocks of
 * `cheapest`, then blocks that are skipped.
 */
export function regularPaths(choices: Choices, cheapest: Path): number[][] {
  const turns = turnsOf(choices);
  const period = Math.max(1, choices[0]!.filter((choice) => !isIdentity(choice)).length);
  const skipped = choices.map((block) => block.findIndex(isIdentity));
  const found: number[][] = [];
  for (let end = choices.length - (choices.length % period); end >= 0; end -= period) {
    for (let last = choices.length; last >= end; last--) {
      found.push([...turns.slice(0, end), ...cheapest.slice(end, last), ...skipped.slice(last)]);
    }
  }
  return found.filter((path) => !path.includes(-1));
}

/** A child of one or two paths: cut together at one place, then two blocks change places or one or two become something else. */
export const bred = (choices: Choices, parents: readonly [Path, Path], random: RandomStream): number[] =>
  packed(choices, changed(choices, parents, random));

function changed(choices: Choices, [a, b]: readonly [Path, Path], random: RandomStream): number[] {
  const cut = random.integer(a.length + 1);
  const child = random.uniform() < 0.5 ? [...a] : [...a.slice(0, cut), ...b.slice(cut)];
  const any = () => random.integer(child.length);
  if (random.uniform() < 0.5) {
    const [i, k] = [any(), any()];
    const swapped = [pathPlace(choices, k, i, child), pathPlace(choices, i, k, child)];
    if (!swapped.includes(-1)) [child[i], child[k]] = swapped as [number, number];
    return child;
  }
  for (let changes = 1 + random.integer(2); changes > 0; changes--) {
    const i = any();
    child[i] = random.integer(choices[i]!.length);
  }
  return child;
}

/** Where what block `from` takes stands among the candidates of block `to`; −1 where it does not. */
function pathPlace(choices: Choices, from: number, to: number, path: Path): number {
  const wanted = keyOf(choices[from]![path[from]!]!);
  return choices[to]!.findIndex((choice) => keyOf(choice) === wanted);
}
