/** From a depth that was written as text to its policy: blocks are made and numbered as they are written, words become policies. */
import { check, whole } from "../base/options.ts";
import { full, multiply, type Tensor } from "../graph/index.ts";
import type { Block } from "../nn/index.ts";
import { chained } from "./chained.ts";
import { type ExitRule, exits } from "./exits.ts";
import { fixed } from "./fixed.ts";
import { halting } from "./halting.ts";
import { layerDropout } from "./layer-dropout.ts";
import { type LoopedOptions, looped } from "./looped.ts";
import { nested, type Outer } from "./nested.ts";
import {
  type Depth,
  type DepthPart,
  type DepthWord,
  decidingWord,
  type KnownWord,
  parseDepth,
  runsOf,
  type WordName,
} from "./notation.ts";
import { ownWords } from "./own-words.ts";
import { type PatternBlock, patternBlocks } from "./pattern.ts";
import type { Plan } from "./plan.ts";
import type { Deepened, DepthPolicy } from "./policy.ts";
import { type RelaxOptions, relaxed } from "./relaxed.ts";
import { routed } from "./routed.ts";

/** What a written depth is made of. */
export interface BlockMaker {
  /** Width C of the hidden state. */
  readonly width: number;
  /** What names begin with, where a model has several depths: `encoder.`. Default: nothing. */
  readonly prefix?: string | undefined;
  /** A block of that name: a whole one, or of the kind and size that a pattern says. */
  block(name: string, kind: PatternBlock | undefined): Block;
}

/** The policy of a text such as `2 + 4*3 halt + 1`; its blocks are called `blocks.0`, `blocks.1`, … */
export function writtenDepth(depth: string | Depth, maker: BlockMaker): DepthPolicy {
  return new Writing(maker).chain(typeof depth === "string" ? parseDepth(depth) : depth, 1);
}

class Writing {
  readonly #maker: BlockMaker;
  readonly #used = new Map<WordName, number>();
  #blocks = 0;

  constructor(maker: BlockMaker) {
    this.#maker = maker;
  }

  /** `visits`: how often all of it is run. */
  chain(depth: Depth, visits: number): DepthPolicy {
    const [first, ...rest] = depth.map((part) => this.#part(part, visits));
    return chained([first!, ...rest]);
  }

  #part(part: DepthPart, visits: number): DepthPolicy {
    const outer = this.#outer(decidingWord(part));
    const { stack } = part;
    const { trained, used } = runsOf(part);
    const again = (count: number) => Array.from({ length: used * count }, (_, i) => i % count);
    if ("group" in stack) {
      const inner = this.chain(stack.group, visits * trained);
      const passing = nested([inner], again(1), outer);
      return probing(passing, (passes) => passes && multiply(passes, inner.depth));
    }
    const kinds: readonly (PatternBlock | undefined)[] =
      "count" in stack ? Array.from({ length: stack.count }) : patternBlocks(stack.pattern);
    const blocks = kinds.map((kind) => this.#block(kind, part, visits * trained));
    return outer(blocks, again(blocks.length));
  }

  #block(kind: PatternBlock | undefined, { words }: DepthPart, visits: number): Block {
    const { prefix = "" } = this.#maker;
    const block = this.#maker.block(`${prefix}blocks.${this.#blocks++}`, kind);
    const relax = words.find(({ name }) => name === "relax")?.options as RelaxOptions | undefined;
    return relax ? relaxed(block, visits, { ...relax, width: this.#maker.width }) : block;
  }

  /** The policy that a word stands for; a second one of its kind has another name. */
  #outer(word: DepthWord | undefined): Outer {
    if (!word) return fixed;
    const used = this.#used.get(word.name) ?? 0;
    this.#used.set(word.name, used + 1);
    const { width, prefix = "" } = this.#maker;
    const defined = ownWords.get(word.name);
    const own = defined ? word.name : ownNames[word.name as KnownWord];
    const name = `${prefix}${own}${used === 0 ? "" : used + 1}`;
    const options = { ...word.options, ...(own ? { name } : {}), width };
    if (defined) return (blocks, plan) => defined.policy(blocks, plan, { ...options, name });
    return outers[word.name as KnownWord](options);
  }
}

const ownNames: Partial<Record<KnownWord, string>> = {
  halt: "halting",
  loop: "looped",
  exits: "exits",
  route: "router",
};

/** Options as they were written, with width and name. The policies check what they are given. */
// biome-ignore lint/suspicious/noExplicitAny: their values have the types of the words' table, and the policies check their ranges
type Written = Readonly<Record<string, any>> & { readonly width: number };

const outers: Readonly<Record<KnownWord, (options: Written) => Outer>> = {
  halt:
    ({ cap, ...options }) =>
    (blocks, plan) =>
      capped(blocks, plan, cap, (fewer, shorter) => halting(fewer, shorter, { ponder: 0.01, ...options })),
  loop: ({ use, most, mean, spread, from, over, seed, ...options }) => {
    const changes = [mean, spread, from, over, seed].some((each) => each !== undefined);
    const loops = changes ? { most, mean, spread, from, over, seed } : most;
    return (core) => {
      const policy = looped({ core, loops, ...options } as LoopedOptions);
      const now = use === undefined ? policy : policy.at(use);
      return probing(now, (_, { hidden }) => full(now.loops * core.length, [hidden.shape[0]!]));
    };
  },
  exits: ({ rule: kind, level, ...options }) => {
    const rule: { rule?: ExitRule } = kind === undefined ? {} : { rule: { kind, level } };
    return (blocks, plan) => exits(blocks, plan, { ...options, ...rule });
  },
  route: ({ cap, choice, ...options }) => {
    return (blocks, plan) => routed(blocks, plan, { choice, ...options }).at({ most: cap });
  },
  drop: ({ cap, width: _, ...options }) => {
    return (blocks, plan) => layerDropout(blocks, plan, options).at(cap ?? plan.length);
  },
  relax: () => fixed,
};

/** The first depths of a plan; blocks that only deeper ones have keep their weights. */
function capped(blocks: readonly Block[], plan: Plan, cap: number | undefined, outer: Outer): DepthPolicy {
  if (cap === undefined) return outer(blocks, plan);
  check("halting / cap", cap, whole(1, plan.length));
  const policy = outer(blocks.slice(0, cap), plan.slice(0, cap));
  const rest = blocks.slice(cap).flatMap(({ parameters }) => [...parameters]);
  return { ...plainly(policy), parameters: [...policy.parameters, ...rest] };
}

/** A policy as a plain object, to be changed in part. */
function plainly(policy: DepthPolicy): DepthPolicy {
  const { parameters, depth, unique = depth, caches, scalars = {} } = policy;
  return {
    parameters,
    depth,
    unique,
    caches,
    scalars,
    ...(policy.shallower ? { shallower: (blocks: number) => policy.shallower!(blocks) } : {}),
    apply: (x, context) => policy.apply(x, context),
  };
}

/** A policy that says in use how deep tokens ran, in blocks. */
function probing(
  policy: DepthPolicy,
  updatesOf: (updates: Tensor | undefined, deepened: Deepened) => Tensor | undefined,
): DepthPolicy {
  return {
    ...plainly(policy),
    apply: (x, context) => {
      const deepened = policy.apply(x, context);
      const updates = context.mode.trains ? undefined : updatesOf(deepened.probes.updates, deepened);
      return updates ? { ...deepened, probes: { ...deepened.probes, updates } } : deepened;
    },
  };
}
