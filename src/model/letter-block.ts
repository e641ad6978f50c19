/** What a letter of a pattern stands for in models without memory: a sublayer with its own norm and residual, or nothing. */
import type { PatternBlock } from "../depth/pattern.ts";
import {
  type Block,
  type CandidateOptions,
  feedForwardCandidate,
  identity,
  selfAttentionCandidate,
} from "../nn/index.ts";

/** The block of a letter; its size is a number of heads or a width, where the pattern says one. */
export function letterBlock(name: string, { kind, size }: PatternBlock, options: CandidateOptions): Block {
  const { heads, hidden } = options;
  if (kind === "identity") return identity;
  if (kind === "attention") return selfAttentionCandidate(name, { ...options, size, heads: size ?? heads });
  return feedForwardCandidate(name, { ...options, size, hidden: size ?? hidden });
}
