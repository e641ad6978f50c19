/** The comparison as a picture: perplexity over distinct parameters, one mark a model, bars for the deviation over seeds. */

import { formatNumber } from "../base/table.ts";
import { dotMark, labelMarks, type Plot, plotSvg } from "./plot.ts";
import { svgLine } from "./svg.ts";

const COLOURS: Readonly<Record<string, string>> = {
  vanilla: "#8b949e",
  universal: "#a371f7",
  sequence: "#2f81f7",
  cycle: "#2a9d4a",
  cycle_rev: "#d1661f",
};

/** A model that was compared; its perplexity is null as long as it has none. */
export interface ComparedModel {
  readonly name: string;
  /** Distinct ones. */
  readonly parameters: number;
  readonly perplexity: { readonly mean: number; readonly deviation: number | null } | null;
}

/** `cycle 3/6` is of the kind `cycle`. */
const kindOf = ({ name }: Pick<ComparedModel, "name">) => name.split(" ")[0]!;
const colourOf = (kind: string) => COLOURS[kind] ?? "currentColor";

type Measured = ComparedModel & { perplexity: NonNullable<ComparedModel["perplexity"]> };

/** An SVG of the rows that have a result. */
export function comparisonSvg(models: readonly ComparedModel[]): string {
  const measured = models.filter((each): each is Measured => each.perplexity !== null);
  const ends = measured.flatMap(({ perplexity: { mean, deviation } }) => [
    mean - (deviation ?? 0),
    mean + (deviation ?? 0),
  ]);
  const parameters = measured.map((each) => each.parameters);
  const millions = (value: number) => `${formatNumber(value / 1e6, 2)} M`;
  const axes = {
    title: "Validation perplexity over distinct parameters (layers that own weights / layers that run)",
    legend: [...new Set(measured.map(kindOf))].map((name) => ({ name, colour: colourOf(name) })),
    description: measured.map(({ name, perplexity }) => `${name}: ${formatNumber(perplexity.mean, 2)}`).join("; "),
    x: { title: "distinct parameters", values: parameters, format: millions },
    y: { title: "perplexity", values: ends },
  };
  return plotSvg(axes, (plot) => [
    ...measured.map((each) => mark(plot, each)),
    ...labelMarks(
      plot,
      measured.map(({ name, parameters: x, perplexity }) => ({ name, x, y: perplexity.mean })),
    ),
  ]);
}

function mark(plot: Plot, { name, parameters, perplexity: { mean, deviation } }: Measured): string {
  const colour = colourOf(kindOf({ name }));
  const x = plot.x(parameters);
  const bar = deviation === null ? "" : svgLine(x, plot.y(mean - deviation), x, plot.y(mean + deviation), colour);
  return `<g>${bar}${dotMark(plot, { x: parameters, y: mean }, colour)}</g>`;
}
