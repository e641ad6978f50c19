/** What a written depth of an encoder stores and costs. */
import { inference } from "../../nn/index.ts";
import { type DepthReport, reportDepth } from "../depth-report.ts";
import { type AlbertOptions, albert } from "./albert.ts";

/** Sizes of an encoder, and the length of the text for which FLOPs are counted. */
export type EncoderSizes = Omit<
  AlbertOptions,
  "vocabulary" | "depth" | "blocks" | "searched" | "halting" | "groups" | "inner"
> & {
  length: number;
};

/** Figures of a text such as `2*3 halt`, counted from its graphs. An encoder reads a text at once, and keeps nothing of it. */
export function encoderDepthReport(text: string, { length, ...sizes }: EncoderSizes): DepthReport {
  const context = { rows: { batch: 1, length }, mode: inference };
  return reportDepth(text, {
    width: sizes.width,
    length,
    opened: (depth) => {
      const { policy } = albert({ vocabulary: 1, embedding: 1, length, ...sizes, depth });
      return { policy, apply: (x) => policy.apply(x, context).hidden, kept: { keyValueBytesPerToken: null } };
    },
  });
}
