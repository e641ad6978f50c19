/** What the written depths of a translation model's sides store and cost. */
import { input, type Tensor } from "../../graph/index.ts";
import { causalMask, inference } from "../../nn/index.ts";
import { memoryOf } from "../../nn/memory.ts";
import { type DepthKind, type DepthReport, keptBytes, reportDepth } from "../depth-report.ts";
import { checkEncoderDepth } from "../tried-depth.ts";
import type { SideStyle } from "./sides.ts";
import { DecoderStack, EncoderStack, type StackOptions, stackDefaults } from "./stacks.ts";

/** Sizes of the layers on both sides, and the length of source and target for which FLOPs are counted. */
export interface SideSizes extends SideStyle {
  width: number;
  heads: number;
  hidden: number;
  length: number;
}

/** Figures of each side. */
export interface TranslationDepthReport {
  readonly encoder: DepthReport;
  readonly decoder: DepthReport;
}

/** Figures of texts such as `2*3 halt` for each side, counted from their graphs; the source is as long as the target. */
export function translationDepthReport(
  { encoder, decoder }: { readonly encoder: string; readonly decoder: string },
  { length, ...sizes }: SideSizes,
): TranslationDepthReport {
  const rows = { batch: 1, length };
  const { width } = sizes;
  const options = (depth: string): StackOptions => ({ ...stackDefaults, epsilon: 1e-5, ...sizes, dropout: 0, depth });
  const source = input("source", [length, width]);
  const reading: DepthKind = {
    width,
    length,
    opened: (depth) => {
      const stack = new EncoderStack("encoder.", options(depth));
      checkEncoderDepth("encoder depth", stack.policy, width, "; exits are for the decoder");
      const apply = (x: Tensor) => stack.deepened(x, { rows, mode: inference }).hidden;
      return { policy: stack.policy, apply, kept: { keyValueBytesPerToken: null } };
    },
  };
  const writing: DepthKind = {
    width,
    length,
    opened: (depth) => {
      const stack = new DecoderStack("decoder.", options(depth));
      const context = {
        rows,
        mode: inference,
        mask: causalMask(length),
        source: memoryOf((_, make) => make(source, rows)),
        scores: () => input("scores", [length, 1]) as Tensor,
      };
      return {
        policy: stack.policy,
        apply: (x) => stack.deepened(x, context).hidden,
        kept: {
          keyValueBytesPerToken: keptBytes(stack.policy, width, context),
          sourceBytesPerToken: stack.remember(source, rows).length * 2 * width * Float32Array.BYTES_PER_ELEMENT,
        },
      };
    },
  };
  return { encoder: reportDepth(encoder, reading), decoder: reportDepth(decoder, writing) };
}
