/** What a written depth of a Transformer-XL stores and costs. */
import { inference } from "../../nn/index.ts";
import { type DepthFigures, type DepthReport, reportDepth } from "../depth-report.ts";
import { parModel } from "./par.ts";
import { writtenNetwork } from "./written.ts";

/** Sizes of the blocks, the segment for which FLOPs are counted, and the memory before it. */
export interface NetworkSizes {
  width: number;
  heads: number;
  hidden: number;
  length: number;
  memory: number;
}

/** Figures of a text such as `(sf)x2*3`, counted from its graphs. Generation keeps keys and values of as many tokens as the memory has. */
export function networkDepthReport(text: string, { length, ...sizes }: NetworkSizes): DepthReport {
  const { width, memory } = sizes;
  const shape = { batch: 1, length, memory };
  const { plan } = writtenNetwork(text); // refuses words by the whole text
  const report = reportDepth(text, {
    width,
    length,
    opened: (depth) => {
      const model = parModel({ vocabulary: 1, cutoffs: [], ...sizes, ...writtenNetwork(depth) });
      const { policy } = model;
      const attentions = policy.blocks.filter(([candidate]) => candidate!.kind === "attention").length;
      return {
        policy,
        apply: (x) => policy.apply(x, { ...model.contextOf(shape, inference), memories: model.memoryInputs(1) }).hidden,
        kept: { keyValueBytesPerToken: attentions * 2 * width * 4 },
      };
    },
  });
  const lettered = (each: DepthFigures) => ({ ...each, executedDepth: writtenNetwork(each.depth).plan.length });
  return { ...report, ...lettered(report), plan, parts: report.parts.map(lettered) };
}
