/** The comparison as a picture: perplexity over distinct parameters or FLOPs per token, one mark a model, bars for the deviation over seeds. */

import { formatNumber } from "../base/table.ts";
import { dotMark, labelMarks, type Plot, plotSvg } from "./plot.ts";
import { svgLine } from "./svg.ts";

const COLOURS: Readonly<Record<string, string>> = {
  vanilla: "#8b949e",
  universal: "#a371f7",
  sequence: "#2f81f7",
  cycle: "#2a9d4a",
  cycle_rev: "#d1661f",
  looped: "#2f81f7",
  relaxed: "#d1661f",
  halting: "#cf222e",
  routed: "#a371f7",
  exits: "#bf8700",
};

/** A model that was compared; its perplexity is null as long as it has none. */
export interface ComparedModel {
  readonly name: string;
  /** Distinct ones. */
  readonly parameters: number;
  /** Of a forward pass through all depths. */
  readonly flopsPerToken?: number | undefined;
  /** Of one in the mean, where tokens decide how deep they run. */
  readonly meanFlopsPerToken?: number | null | undefined;
  readonly perplexity: { readonly mean: number; readonly deviation: number | null } | null;
}

/** `cycle 3/6` is of the kind `cycle`. */
const kindOf = ({ name }: Pick<ComparedModel, "name">) => name.split(" ")[0]!;
const colourOf = (kind: string) => COLOURS[kind] ?? "currentColor";

type Measured = ComparedModel & { perplexity: NonNullable<ComparedModel["perplexity"]>; at: number };

/** What models are placed by. */
const measures = {
  parameters: {
    title: "distinct parameters",
    heading: "Validation perplexity over distinct parameters (layers that own weights / layers that run)",
    of: ({ parameters }: ComparedModel) => parameters,
  },
  flops: {
    title: "FLOPs per token in the mean",
    heading: "Validation perplexity over FLOPs per token",
    of: ({ meanFlopsPerToken, flopsPerToken }: ComparedModel) => meanFlopsPerToken ?? flopsPerToken ?? null,
  },
} as const;

/** An SVG of the rows that have a result, placed by their parameters or by what a token costs. */
export function comparisonSvg(models: readonly ComparedModel[], over: keyof typeof measures = "parameters"): string {
  const { title, heading, of } = measures[over];
  const measured = models.flatMap((each): Measured[] => {
    const [{ perplexity }, at] = [each, of(each)];
    return perplexity === null || at === null ? [] : [{ ...each, perplexity, at }];
  });
  const ends = measured.flatMap(({ perplexity: { mean, deviation } }) => [
    mean - (deviation ?? 0),
    mean + (deviation ?? 0),
  ]);
  const millions = (value: number) => `${formatNumber(value / 1e6, 2)} M`;
  const axes = {
    title: heading,
    legend: [...new Set(measured.map(kindOf))].map((name) => ({ name, colour: colourOf(name) })),
    description: measured.map(({ name, perplexity }) => `${name}: ${formatNumber(perplexity.mean, 2)}`).join("; "),
    x: { title, values: measured.map(({ at }) => at), format: millions },
    y: { title: "perplexity", values: ends },
  };
  return plotSvg(axes, (plot) => [
    ...measured.map((each) => mark(plot, each)),
    ...labelMarks(
      plot,
      measured.map(({ name, at: x, perplexity }) => ({ name, x, y: perplexity.mean })),
    ),
  ]);
}

function mark(plot: Plot, { name, at, perplexity: { mean, deviation } }: Measured): string {
  const colour = colourOf(kindOf({ name }));
  const x = plot.x(at);
  const bar = deviation === null ? "" : svgLine(x, plot.y(mean - deviation), x, plot.y(mean + deviation), colour);
  return `<g>${bar}${dotMark(plot, { x: at, y: mean }, colour)}</g>`;
}
