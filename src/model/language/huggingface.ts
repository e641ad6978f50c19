/** A language model as modeling_layerwise.py is told it: sizes, and the depth as parts of blocks, a plan and a policy. */
import { reject } from "../../base/errors.ts";
import { haltingDefaults } from "../../depth/halting.ts";
import {
  type Depth,
  type DepthPart,
  type DepthWord,
  decidingWord,
  executedDepth,
  parseDepth,
  runsOf,
} from "../../depth/notation.ts";
import { type PatternBlock, patternBlocks } from "../../depth/pattern.ts";
import { type Plan, uniqueOf } from "../../depth/plan.ts";
import type { LanguageModel } from "./language.ts";

/** One block: its number, and what it is. */
interface TorchBlock {
  readonly name: string;
  readonly kind: string;
  readonly size: number | null;
  readonly relax?: Readonly<Record<string, unknown>> | undefined;
}

/** Who decides how deep: nobody, tokens by a halting unit, or a count of loops. */
type TorchPolicy =
  | { readonly kind: "fixed" }
  | { readonly kind: "halt"; readonly name: string; readonly options: Readonly<Record<string, unknown>> }
  | {
      readonly kind: "loop";
      readonly name: string;
      readonly injection: string;
      readonly gradientLoops: number | null;
    };

/** Blocks or whole parts, the order in which they run, and a policy. */
type TorchPart = { readonly plan: Plan; readonly policy: TorchPolicy; readonly size: number } & (
  | { readonly blocks: readonly TorchBlock[] }
  | { readonly group: readonly TorchPart[] }
);

/** `layerwise.model` of config.json; depths that the Python file cannot run are refused by name. */
export function languageSpec({ options }: LanguageModel): Readonly<Record<string, unknown>> {
  const { vocabulary, width, length, dropout, heads, hidden, activation } = options;
  return {
    vocabulary,
    width,
    length,
    dropout,
    heads,
    hidden,
    activation,
    rotary_base: options.positions === "rotary" ? (options.rotaryBase ?? 10_000) : null,
    tied: options.tied ?? true,
    norm: options.norm ?? "layer",
    epsilon: options.normEpsilon ?? 1e-5,
    key_heads: options.keyHeads ?? null,
    query_key_norm: options.queryKeyNorm ?? false,
    gated: options.gated ?? false,
    bias: options.bias ?? true,
    parts: partsOf(options),
  };
}

const refuse = (what: string): never =>
  reject(
    {
      who: "export --format huggingface",
      needed: "a depth that modeling_layerwise.py can run (fixed plans, halt, loop with a count, relax)",
      got: what,
      remedy: "export it as ONNX",
    },
    2,
  );

function partsOf({ plan, depth, halting, relax }: LanguageModel["options"]): TorchPart[] {
  if (depth !== undefined) return new Writing().chain(parseDepth(depth), 1);
  if (!plan) return refuse("a depth policy of your own");
  const blocks = Array.from({ length: uniqueOf(plan) }, (_, i): TorchBlock => {
    const visits = plan.filter((each) => each === i).length;
    return { name: `${i}`, kind: "block", size: null, ...(relax && visits > 0 ? { relax: { ...relax, visits } } : {}) };
  });
  const policy = halting ? haltPolicy(halting) : ({ kind: "fixed" } as const);
  return [{ blocks, plan, policy, size: 1 }];
}

function haltPolicy(given: Readonly<Record<string, unknown>>): TorchPolicy {
  const options = { ...haltingDefaults, ...given };
  if (options.keys !== "own") refuse(`halt(keys=${options.keys})`);
  return { kind: "halt", name: String(options.name), options };
}

/** Blocks are numbered, and policies named, as `writtenDepth` does. */
class Writing {
  #blocks = 0;
  readonly #used = new Map<string, number>();

  chain(depth: Depth, visits: number): TorchPart[] {
    return depth.map((part) => this.#part(part, visits));
  }

  #part(part: DepthPart, visits: number): TorchPart {
    const policy = this.#policy(decidingWord(part));
    const { trained, used } = runsOf(part);
    const again = (count: number) => Array.from({ length: used * count }, (_, i) => i % count);
    const { stack } = part;
    if ("group" in stack) {
      const group = this.chain(stack.group, visits * trained);
      return { group, plan: again(1), policy, size: executedDepth(stack.group) };
    }
    const kinds =
      "count" in stack ? Array.from({ length: stack.count }, () => undefined) : patternBlocks(stack.pattern);
    const blocks = kinds.map((kind) => this.#block(kind, part, visits * trained));
    return { blocks, plan: again(blocks.length), policy, size: 1 };
  }

  #block(kind: PatternBlock | undefined, { words }: DepthPart, visits: number): TorchBlock {
    const relax = words.find(({ name }) => name === "relax")?.options;
    return {
      name: `${this.#blocks++}`,
      kind: kind?.kind ?? "block",
      size: kind?.size ?? null,
      ...(relax && kind?.kind !== "identity" ? { relax: { ...relax, visits } } : {}),
    };
  }

  #policy(word: DepthWord | undefined): TorchPolicy {
    if (!word) return { kind: "fixed" };
    const { name, options } = word;
    if (name === "halt") {
      if (options.cap !== undefined) refuse("halt(cap=…)");
      return haltPolicy({ ponder: 0.01, ...options, name: this.#named("halting") });
    }
    if (name !== "loop") return refuse(name);
    const drawn = ["mean", "spread", "from", "over", "use"].find((key) => options[key] !== undefined);
    if (drawn) refuse(`loop(${drawn}=…)`);
    const { injection = "none", gradientLoops = null } = options;
    return {
      kind: "loop",
      name: this.#named("looped"),
      injection: String(injection),
      gradientLoops: gradientLoops as number | null,
    };
  }

  #named(own: string): string {
    const used = this.#used.get(own) ?? 0;
    this.#used.set(own, used + 1);
    return used === 0 ? own : `${own}${used + 1}`;
  }
}
