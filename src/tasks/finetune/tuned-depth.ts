/** Depths in words of a model that is fine-tuned, and of one that is used at another depth than it was trained with. */
import { reject } from "../../base/errors.ts";
import { type Depth, type DepthWord, mapWords, parseDepth, printDepth, type WordValue } from "../../depth/notation.ts";
import { type DepthUse, usedDepth } from "../../depth/use.ts";

/** What grows over a training, by word: pre-training has done that. */
const curricula: Readonly<Record<string, readonly string[]>> = {
  halt: ["ponderFrom", "ponderWarmup", "capFrom", "capOver"],
  loop: ["from", "over"],
};

const withOptions = (word: DepthWord, options: Readonly<Record<string, WordValue>>): DepthWord => ({
  ...word,
  options: { ...word.options, ...options },
});

/** The same depth with other options of the words that take them; null where none does. */
function changed(depth: Depth, of: (word: DepthWord) => Readonly<Record<string, WordValue>> | undefined): Depth | null {
  let found = false;
  const after = mapWords(depth, (word) => {
    const options = of(word);
    found ||= options !== undefined;
    return options ? withOptions(word, options) : word;
  });
  return found ? after : null;
}

/** A depth as it is trained further: whole from the first update on, and with another penalty where one is given. */
export function tunedDepth(text: string, ponder: number | null = null): string {
  const grown = mapWords(parseDepth(text), ({ name, options }) => {
    const kept = Object.entries(options).filter(([key]) => !curricula[name]?.includes(key));
    return { name, options: Object.fromEntries(kept) };
  });
  if (ponder === null) return printDepth(grown);
  const penalised = changed(grown, ({ name }) => (name === "halt" ? { ponder } : undefined));
  return printDepth(penalised ?? refuse("ponder", "a depth with halt", text));
}

/** A depth as it is used: with a cap, and a threshold of `halt` (sums of probabilities) or `route(expert)` (scores). */
export function earlyDepth(text: string, { cap, threshold }: Pick<DepthUse, "cap" | "threshold">): string {
  const depth = usedDepth(parseDepth(text), { cap });
  if (threshold === undefined) return printDepth(depth);
  const early = changed(depth, ({ name, options }) => {
    if (name === "halt") return { epsilon: 1 - threshold };
    return name === "route" && options.choice === "expert" ? { threshold } : undefined;
  });
  return printDepth(early ?? refuse("threshold in use", "a depth with halt or route(expert)", text));
}

/** The sum of probabilities at which tokens halt, where a depth says one. */
export function haltThreshold(text: string): number | undefined {
  let found: number | undefined;
  mapWords(parseDepth(text), (word) => {
    if (word.name === "halt") found = 1 - Number(word.options.epsilon ?? 0.01);
    return word;
  });
  return found;
}

function refuse(who: string, needed: string, text: string): never {
  return reject({ who, needed, got: JSON.stringify(text), remedy: "leave it out" }, 2);
}
