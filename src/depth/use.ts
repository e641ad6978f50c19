/** Depth at use time: the same weights with other loops, caps, thresholds or exit rules than they were trained with. */
import { reject } from "../base/errors.ts";
import { anything, checkOptions } from "../base/options.ts";
import type { ExitRule } from "./exits.ts";
import { type Depth, type DepthWord, mapWords, printDepth, type WordName, type WordValue } from "./notation.ts";
import { type SharedKeys, sharedKeys } from "./running.ts";

/** What may be changed when a trained model is used; each needs the word that has it. */
export interface DepthUse {
  /** Of `loop`: how often its blocks run, also more often than in training. */
  readonly loops?: number | undefined;
  /** Of `halt`, `route` and `drop`: the deepest depth that tokens run to. */
  readonly cap?: number | undefined;
  /** Of `route(expert)`: the score above which a token goes on. */
  readonly threshold?: number | undefined;
  /** Of `exits`: where tokens leave. */
  readonly exit?: ExitRule | undefined;
  /** Of `halt`, `route` and `exits`: what tokens that stopped show to the others. With it tokens that leave at an exit stop. */
  readonly keys?: SharedKeys | undefined;
}

interface Change {
  readonly words: readonly WordName[];
  /** Where not every word of that name has it: which do, and how they are written. */
  readonly only?: { readonly written: string; fits(word: DepthWord): boolean };
  options(use: DepthUse): Readonly<Record<string, WordValue | undefined>>;
}

const changes: Readonly<Record<keyof DepthUse, Change>> = {
  loops: { words: ["loop"], options: ({ loops }) => ({ use: loops }) },
  cap: { words: ["halt", "route", "drop"], options: ({ cap }) => ({ cap }) },
  threshold: {
    words: ["route"],
    only: { written: "route(expert)", fits: (word) => word.options.choice === "expert" },
    options: ({ threshold }) => ({ threshold }),
  },
  exit: { words: ["exits"], options: ({ exit }) => ({ rule: exit?.kind, level: exit?.level }) },
  keys: { words: ["halt", "route", "exits"], options: ({ keys }) => ({ keys }) },
};

/** A depth with what is changed at use time; what none of its words has is refused. */
export function usedDepth(depth: Depth, use: DepthUse): Depth {
  return usedDepths([depth], use)[0]!;
}

/** The same of a model with several depths: each is changed as far as it has the words. */
export function usedDepths(depths: readonly Depth[], use: DepthUse): Depth[] {
  checkOptions("use", use, { loops: anything, cap: anything, threshold: anything, exit: anything, keys: sharedKeys });
  const asked = Object.keys(changes).filter((key) => use[key as keyof DepthUse] !== undefined) as (keyof DepthUse)[];
  return asked.reduce<Depth[]>((now, key) => changed(now, key, use), [...depths]);
}

function changed(depths: readonly Depth[], key: keyof DepthUse, use: DepthUse): Depth[] {
  const { words, only, options } = changes[key];
  let found = 0;
  const change = (word: DepthWord): DepthWord => {
    if (!words.includes(word.name) || only?.fits(word) === false) return word;
    found++;
    const entries = Object.entries({ ...word.options, ...options(use) }).filter(([, value]) => value !== undefined);
    return { ...word, options: Object.fromEntries(entries) as DepthWord["options"] };
  };
  const after = depths.map((depth) => mapWords(depth, change));
  if (found > 0) return after;
  const needed = `a depth with ${only?.written ?? words.join(", ")}`;
  const got = depths.map((depth) => JSON.stringify(printDepth(depth))).join(" and ");
  return reject({ who: `${key} in use`, needed, got, remedy: "leave it out" }, 2);
}
