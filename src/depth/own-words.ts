/** Words of the notation of depth that users define: a policy of their own then stands in every text, flag and setting. */
import { reject } from "../base/errors.ts";
import { anything, checkOptions, type Rules, required } from "../base/options.ts";
import type { Block } from "../nn/index.ts";
import type { Plan } from "./plan.ts";
import type { DepthPolicy } from "./policy.ts";

/** How an option of a word is written: `mean=4`, `gate`, `injection=add`, `capacity=1/0.5`. */
export type WordForm = "number" | "flag" | "numbers" | readonly string[];

/** What a word's policy is told: the model's width, a name for parameters of its own, and the options as they were written. */
// biome-ignore lint/suspicious/noExplicitAny: values have the types of the word's forms; the policy checks their ranges
export type WrittenOptions = Readonly<Record<string, any>> & { readonly width: number; readonly name: string };

/** A word of your own: its options, and how blocks become depth by it. */
export interface OwnWord {
  /** The option that may stand first, without its name. */
  readonly first?: string | undefined;
  /** Options by their names, and how they are written. Default: none. */
  readonly options?: Readonly<Record<string, WordForm>> | undefined;
  /** Blocks in the order of a plan, as deep as it says. */
  policy(blocks: readonly Block[], plan: Plan, options: WrittenOptions): DepthPolicy;
}

const rules: Rules<OwnWord> = {
  first: anything,
  options: anything,
  policy: required({ needed: "a function", fits: (policy) => typeof policy === "function" }),
};

const defined = new Map<string, OwnWord>();

/** The words that were defined so far. */
export const ownWords: ReadonlyMap<string, OwnWord> = defined;

const taken = ["halt", "loop", "exits", "route", "drop", "relax"];

/** Adds a word to the notation: after `defineWord("mine", { policy })` a depth may be `2*6 mine`. */
export function defineWord(name: string, word: OwnWord): void {
  const who = `word ${JSON.stringify(name)}`;
  if (!/^[a-zA-Z]\w+$/.test(name) || /^x\d*$|^[sfi]+$/.test(name)) {
    const remedy = "choose a longer one: letters s, f and i stand for blocks";
    reject({ who, needed: "a name of letters and digits", got: JSON.stringify(name), remedy }, 2);
  }
  if (taken.includes(name) || defined.has(name)) {
    reject({ who, needed: "a name that no word has", got: JSON.stringify(name), remedy: "choose another" }, 2);
  }
  checkOptions(who, word, rules);
  const { first, options = {} } = word;
  if (first !== undefined && !Object.hasOwn(options, first)) {
    reject({ who: `${who} / first`, needed: "the name of one of its options", got: JSON.stringify(first) }, 2);
  }
  defined.set(name, word);
}
