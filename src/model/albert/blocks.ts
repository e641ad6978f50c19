/** Encoders of blocks with weights of their own: attention, feed-forward or nothing at each depth, found or still searched for. */
import { reject } from "../../base/errors.ts";
import { anything, checkOptions, number, type Rules } from "../../base/options.ts";
import type { DepthPolicy } from "../../depth/policy.ts";
import { type Budget, Searched } from "../../depth/searched.ts";
import { ALBERT_DEVIATION } from "../../nn/albert.ts";
import {
  type Activation,
  feedForwardCandidate,
  identity,
  LayerNorm,
  type Norm,
  normal,
  selfAttentionCandidate,
} from "../../nn/index.ts";
import { type CandidateChoice, candidateOf } from "../par/candidates.ts";
import { aliveOf, budgetOf, choicesOf } from "../par/options.ts";
import type { Supernet } from "../supernet.ts";

/** How blocks are searched, where their number is given instead of a pattern; plain data. */
export interface EncoderSearch {
  /** What a block may be. Default: attention, feed-forward, identity. */
  readonly candidates?: readonly CandidateChoice[] | undefined;
  /** Which candidates of each block are still there, by their place among all. Default: all. */
  readonly alive?: readonly (readonly number[])[] | undefined;
  readonly budget?: Budget | undefined;
  /** First and last temperature of the draws. Defaults: 1 and 0.1. */
  readonly initialTemperature?: number | undefined;
  readonly finalTemperature?: number | undefined;
}

const rules: Rules<EncoderSearch> = {
  candidates: anything,
  alive: anything,
  budget: anything,
  initialTemperature: number({ above: 0 }),
  finalTemperature: number({ above: 0 }),
};

/** How an encoder is deep: the policy over its blocks, and the norm behind the last, where blocks add to their input and norm it first. */
export interface BlockStack {
  readonly policy: DepthPolicy;
  readonly norm?: Norm | undefined;
}

/** The blocks of an encoder: what each may be, the policy that runs them, and the norm behind the last. */
export interface EncoderBlocks extends BlockStack, Pick<Supernet, "choices" | "alive"> {
  readonly policy: Searched;
}

const NAME = "encoder.blocks";
const makers = {
  attention: selfAttentionCandidate,
  "feed-forward": feedForwardCandidate,
  identity: () => identity,
};

/** Sizes of the encoder that its blocks depend on, and what they exclude. */
interface BlockOptions {
  readonly blocks: number | string | undefined;
  readonly searched: EncoderSearch | undefined;
  readonly width: number;
  readonly heads: number;
  readonly hidden: number;
  readonly dropout: number;
  readonly activation: Activation;
  readonly epsilon: number;
  readonly groups: number;
  readonly inner: number;
  readonly halting: object | undefined;
  readonly lora: object | undefined;
  readonly depth: number | string;
}

/** Builds the blocks that options describe: x + F(norm x) each. */
export function encoderBlocks(options: BlockOptions): EncoderBlocks {
  const { width, heads, hidden, dropout, activation, epsilon, searched = {} } = options;
  refuseOthers(options);
  checkOptions("ALBERT / searched", searched, rules);
  const given = { ...searched, blocks: options.blocks! };
  const choices = choicesOf(given);
  const alive = aliveOf(given, choices);
  const shared = { width, heads, hidden, dropout, activation, normEpsilon: epsilon, weight: normal(ALBERT_DEVIATION) };
  const blocks = choices.map((block, i) =>
    alive[i]!.map((k) => {
      const twin = block.slice(0, k).filter(({ kind }) => kind === block[k]!.kind).length;
      return candidateOf(`${NAME}.${i}`, block[k]!, twin, shared, makers);
    }),
  );
  const { initialTemperature, finalTemperature } = searched;
  const budget = budgetOf(given, choices, alive);
  const policy = new Searched(NAME, blocks, { initialTemperature, finalTemperature, budget });
  return { choices, alive, policy, norm: new LayerNorm("encoder.norm", { width, epsilon }) };
}

/** Blocks own their weights and run once: nothing halts, nothing is shared. */
function refuseOthers({ halting, lora, groups, inner, blocks, searched, depth }: BlockOptions): void {
  if (blocks === undefined) {
    reject({ who: "ALBERT / blocks", needed: "a pattern, or how many blocks to search", got: "none" }, 2);
  }
  const others = {
    halting: halting !== undefined,
    lora: lora !== undefined,
    groups: groups > 1,
    inner: inner > 1,
    "a depth in words": typeof depth === "string",
  };
  const [got] = Object.entries(others).flatMap(([name, isGiven]) => (isGiven ? [name] : []));
  if (got !== undefined) {
    const remedy = "leave blocks or the other out";
    reject({ who: "ALBERT / blocks", needed: "blocks that own their weights and run once", got, remedy }, 2);
  }
  if (typeof blocks === "string" && searched !== undefined) {
    reject({ who: "ALBERT / searched", needed: "a number of blocks", got: `the pattern ${blocks}` }, 2);
  }
}
