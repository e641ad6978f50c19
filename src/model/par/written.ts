/** A depth in words for networks with memory: letters, or whole blocks as pairs of them, that run again with the same weights. */
import { reject } from "../../base/errors.ts";
import { type Depth, type DepthPart, parseDepth, printDepth } from "../../depth/notation.ts";
import { type PatternBlock, patternBlocks, printPattern } from "../../depth/pattern.ts";
import type { Plan } from "../../depth/plan.ts";

/** What runs at each depth as a pattern, and whose weights it has. */
export interface WrittenNetwork {
  readonly blocks: string;
  readonly plan: Plan;
}

/** A whole block is attention and feed-forward. */
const PAIR: readonly PatternBlock[] = [{ kind: "attention" }, { kind: "feed-forward" }];

/** The network of a text such as `(sf)x2*3`. Words are refused: each depth remembers the states of all tokens, so that none may stop. */
export function writtenNetwork(text: string): WrittenNetwork {
  const executed: { readonly block: PatternBlock; readonly own: number }[] = [];
  let next = 0;
  const walk = (depth: Depth): typeof executed =>
    depth.flatMap((part) => {
      refuseWords(text, part);
      const once = stackOf(part);
      return Array.from({ length: part.passes }, () => once).flat();
    });
  const stackOf = ({ stack }: DepthPart): typeof executed => {
    if ("group" in stack) return walk(stack.group);
    const letters =
      "count" in stack ? Array.from({ length: stack.count }, () => PAIR).flat() : patternBlocks(stack.pattern);
    return letters.map((block) => ({ block, own: next++ }));
  };
  executed.push(...walk(parseDepth(text)));
  return { blocks: printPattern(executed.map(({ block }) => block)), plan: executed.map(({ own }) => own) };
}

function refuseWords(text: string, { words }: DepthPart): void {
  const [word] = words;
  if (!word) return;
  const needed = "letters, + and * alone: every depth of a network with memory remembers the states of all tokens";
  const remedy =
    word.name === "loop"
      ? `write *${word.options.most} for loop`
      : `leave out ${word.name}, or train a model without memory: layerwise train --depth ${JSON.stringify(printDepth(parseDepth(text)))}`;
  reject({ who: `depth ${JSON.stringify(text)}`, needed, got: word.name, remedy }, 2);
}
