/** What a written depth stores and costs, part by part: distinct parameters, depths, FLOPs in the mean and at most, keys and values. */

import { formatNumber, table } from "../base/table.ts";
import {
  type Depth,
  executedDepth,
  mapWords,
  meanFraction,
  parseDepth,
  planOfDepth,
  printDepth,
} from "../depth/notation.ts";
import type { Plan } from "../depth/plan.ts";
import type { DepthPolicy } from "../depth/policy.ts";
import { cost, input, type Tensor } from "../graph/index.ts";
import type { KeyValues } from "../nn/attention.ts";
import type { Context } from "../nn/index.ts";
import { countParameters } from "./report.ts";

/** Figures of a part, or of all of them; without embeddings and head. */
export interface DepthFigures {
  readonly depth: string;
  /** Blocks that own weights. */
  readonly unique: number;
  /** Blocks that run at most. */
  readonly executedDepth: number;
  /** Numbers that are stored, those of routers and gates included. */
  readonly parameters: number;
  /** Of a forward pass through all depths. */
  readonly flopsPerToken: number;
  /** In the mean, where counts of loops or capacities say it; null where tokens decide. */
  readonly meanFlopsPerToken: number | null;
  /** Memory for keys and values of one token in generation, in single precision, through all depths; null for encoders, and where texts are read again. */
  readonly keyValueBytesPerToken: number | null;
  /** Of a decoder: keys and values of one token of the source. */
  readonly sourceBytesPerToken?: number | undefined;
}

/** The figures of a depth, which block runs where, and its parts. */
export interface DepthReport extends DepthFigures {
  readonly plan: Plan;
  readonly parts: readonly DepthFigures[];
}

/** How a kind of model makes depth of a text. */
export interface DepthKind {
  readonly width: number;
  /** Tokens of the text for which FLOPs are counted. */
  readonly length: number;
  opened(depth: string): OpenedDepth;
}

/** What a part is made of. */
export interface OpenedDepth {
  readonly policy: DepthPolicy;
  /** What it computes of rows [T, C]. */
  apply(x: Tensor): Tensor;
  readonly kept: Pick<DepthFigures, "keyValueBytesPerToken" | "sourceBytesPerToken">;
}

/** Figures of a text such as `2 + 4*3 halt + 1` in a kind of model, counted from its graphs. */
export function reportDepth(text: string, kind: DepthKind): DepthReport {
  const depth = parseDepth(text);
  const parts = depth.map((part) => figuresOf([part], kind));
  const means = parts.map((part) => part.meanFlopsPerToken);
  const mean = means.every((each) => each !== null) ? means.reduce((a, b) => a + b, 0) : null;
  return { ...figuresOf(depth, kind), meanFlopsPerToken: mean, plan: planOfDepth(depth), parts };
}

/** Bytes that the caches of a policy keep of a token, by what it stores of one; null where it has none to go on from. */
export function keptBytes(policy: DepthPolicy, width: number, context: Context): number | null {
  if (policy.caches === undefined) return null;
  let numbers = 0;
  const store = ({ keys, values }: KeyValues) => {
    numbers += Number(keys.shape.at(-1)) + Number(values.shape.at(-1));
  };
  const caches = Array.from({ length: policy.caches }, () => ({ store }));
  policy.apply(input("x", [1, width]), { ...context, rows: { batch: 1, length: 1 }, mask: undefined, caches });
  return numbers * Float32Array.BYTES_PER_ELEMENT;
}

/** Every loop as often as it may run in training. */
const atMost = (depth: Depth): Depth =>
  mapWords(depth, (word) => {
    const { most, use = most } = word.options;
    return word.name === "loop" && use !== undefined ? { ...word, options: { ...word.options, use } } : word;
  });

function figuresOf(depth: Depth, { length, width, opened }: DepthKind): DepthFigures {
  const { policy, apply, kept } = opened(printDepth(atMost(depth)));
  const flops = cost([apply(input("x", [length, width]))]).flops / length;
  const fraction = depth.length === 1 ? meanFraction(depth[0]!) : undefined;
  return {
    depth: printDepth(depth),
    unique: policy.unique ?? policy.depth,
    executedDepth: executedDepth(depth),
    parameters: countParameters(policy.parameters),
    flopsPerToken: flops,
    meanFlopsPerToken: fraction === undefined ? null : fraction * flops,
    ...kept,
  };
}

const millions = (n: number) => `${formatNumber(n / 1e6, 2)} M`;
const kibibytes = (bytes: number | null) => (bytes === null ? "–" : `${formatNumber(bytes / 1024, 2)} KiB`);

/** The figures of a depth as a table: a line per part, and one for all of them. */
export function depthReportTable({ parts, plan: _, ...all }: DepthReport): string {
  const rows = [...parts, ...(parts.length > 1 ? [{ ...all, depth: "all" }] : [])];
  return table(
    rows.map(({ depth, meanFlopsPerToken: mean, keyValueBytesPerToken, sourceBytesPerToken: source, ...figures }) => ({
      part: depth,
      "own weights": figures.unique,
      depths: figures.executedDepth,
      parameters: millions(figures.parameters),
      "FLOPs per token at most": millions(figures.flopsPerToken),
      "in the mean": mean === null ? "tokens decide" : millions(mean),
      "keys and values per token": kibibytes(keyValueBytesPerToken),
      ...(source === undefined ? {} : { "per source token": kibibytes(source) }),
    })),
  );
}
