/** What a written depth of a language model stores and costs. */
import { input } from "../../graph/index.ts";
import { causalMask, inference } from "../../nn/index.ts";
import { type DepthReport, keptBytes, reportDepth } from "../depth-report.ts";
import { languageModel, type OwnBlocks } from "./language.ts";

/** Sizes of the blocks, and the length of the text for which FLOPs are counted. */
export interface DepthSizes extends OwnBlocks {
  width: number;
  length: number;
}

/** Figures of a text such as `2 + 4*3 halt + 1`, counted from its graphs. */
export function depthReport(text: string, { length, ...sizes }: DepthSizes): DepthReport {
  const { width } = sizes;
  const context = {
    rows: { batch: 1, length },
    mode: inference,
    mask: causalMask(length),
    scores: () => input("scores", [length, 1]),
  };
  return reportDepth(text, {
    width,
    length,
    opened: (depth) => {
      const { policy } = languageModel({ vocabulary: 1, length, ...sizes, depth });
      const kept = { keyValueBytesPerToken: keptBytes(policy, width, context) };
      return { policy, apply: (x) => policy.apply(x, context).hidden, kept };
    },
  });
}
