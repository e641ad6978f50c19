/** Sentence pairs in three parts: in memory, or in a folder of files. */
import { reject } from "../../base/errors.ts";
import { checkOptions } from "../../base/options.ts";
import { cutPoints, SPLITS, type Split } from "../corpus.ts";
import type { SentencePairs } from "./packing.ts";

/** Sentence pairs in two languages: of a folder, or of a program. */
export interface PairsCorpus {
  readonly name: string;
  /** Absent: they are in memory, in `parts`, and nothing made from them is kept on disk. */
  readonly folder?: string;
  readonly parts?: ReadonlyMap<Split, SentencePairs>;
  readonly sourceLanguage: string;
  readonly targetLanguage: string;
}

/** A sentence and its translation. */
export type SentencePair = readonly [source: string, target: string];

/** The parts of pairs in memory; with `train` alone, its last tenth becomes the other two. */
export interface PairParts {
  readonly train: Iterable<SentencePair>;
  readonly valid?: Iterable<SentencePair>;
  readonly test?: Iterable<SentencePair>;
}

/** What pairs in memory are called. Default: `pairs`, in the languages `source` and `target`. */
export interface PairNames {
  readonly name?: string;
  readonly source?: string;
  readonly target?: string;
}

/** Sentence pairs in memory. With `train` alone, 90 % of the pairs train, 5 % validate and 5 % test. */
export function pairsCorpus(parts: PairParts, names: PairNames = {}): PairsCorpus {
  const { name = "pairs", source: sourceLanguage = "source", target: targetLanguage = "target" } = names;
  checkOptions(`pairs ${name}`, parts, SPLITS);
  checkOptions(`pairs ${name}`, names, ["name", "source", "target"]);
  if (parts.train === undefined) reject({ who: `pairs ${name}`, needed: "a train part", got: "none" }, 2);
  const given = SPLITS.flatMap((split) => {
    const pairs = parts[split];
    return pairs === undefined ? [] : [[split, checked(pairs, `pairs ${name} / ${split}`)] as const];
  });
  const all =
    given.length > 1
      ? given
      : cutPoints(given[0]![1].length, `pairs ${name}`).map(
          ({ split, from, to }) => [split, given[0]![1].slice(from, to)] as const,
        );
  return { name, sourceLanguage, targetLanguage, parts: new Map(all.map(([split, pairs]) => [split, sides(pairs)])) };
}

function checked(pairs: Iterable<SentencePair>, who: string): SentencePair[] {
  const all = [...pairs];
  const bad = all.findIndex(
    (pair) => !Array.isArray(pair) || pair.length !== 2 || pair.some((side) => typeof side !== "string"),
  );
  if (bad >= 0)
    reject({ who: `${who} / ${bad}`, needed: "[source, target], two strings", got: JSON.stringify(all[bad]) }, 2);
  if (all.length === 0) reject({ who, needed: "at least one pair", got: "none" }, 2);
  return all.map(([source, target]) => [source.trim(), target.trim()]);
}

const sides = (pairs: readonly SentencePair[]): SentencePairs => ({
  source: pairs.map(([source]) => source),
  target: pairs.map(([, target]) => target),
});
