/** What a search is judged by, as pictures: perplexity against latency, and perplexity against the minutes of training. */

import { formatNumber } from "../base/table.ts";
import { COLOURS, dotMark, labelMarks, lineMark, type Point, plotSvg } from "./plot.ts";
import { svgText } from "./svg.ts";

/** A network that was measured; networks of one kind share a colour. */
export interface TradeOff {
  readonly name: string;
  readonly pattern: string;
  readonly latencyMs: number;
  readonly perplexity: number;
  readonly kind: string;
}

/** Those that no other row beats in one figure without losing in the other, by rising latency. */
export function paretoFront<T extends Pick<TradeOff, "latencyMs" | "perplexity">>(rows: readonly T[]): T[] {
  let best = Number.POSITIVE_INFINITY;
  const byLatency = rows.toSorted((a, b) => a.latencyMs - b.latencyMs || a.perplexity - b.perplexity);
  return byLatency.filter(({ perplexity }) => {
    if (perplexity >= best) return false;
    best = perplexity;
    return true;
  });
}

const pointOf = ({ latencyMs: x, perplexity: y }: TradeOff): Point => ({ x, y });

/** A dot a network, its name beside it and its pattern on demand, a line along the Pareto front. */
export function tradeOffSvg(rows: readonly TradeOff[], title = "Perplexity against latency"): string {
  const kinds = [...new Set(rows.map(({ kind }) => kind))];
  const colourOf = (kind: string) => COLOURS[kinds.indexOf(kind) % COLOURS.length]!;
  const front = paretoFront(rows);
  const axes = {
    title,
    legend: kinds.map((name) => ({ name, colour: colourOf(name) })),
    description: `On the Pareto front, the dashed line: ${front.map(said).join("; ")}.`,
    x: { title: "latency (ms)", values: rows.map(({ latencyMs }) => latencyMs) },
    y: { title: "valid perplexity", values: rows.map(({ perplexity }) => perplexity) },
  };
  return plotSvg(axes, (plot) => [
    lineMark(plot, front.map(pointOf), "currentColor", "4 3"),
    ...rows.map((row) => dotMark(plot, pointOf(row), colourOf(row.kind), `${row.name}: ${row.pattern}`)),
    ...labelMarks(
      plot,
      rows.map((row) => ({ ...pointOf(row), name: row.name })),
    ),
  ]);
}

const said = ({ name, latencyMs, perplexity }: TradeOff) =>
  `${name} ${formatNumber(latencyMs, 2)} ms, perplexity ${formatNumber(perplexity, 2)}`;

/** Perplexity of a run over the minutes of its training. */
export interface Curve {
  readonly name: string;
  readonly points: readonly { readonly minutes: number; readonly perplexity: number }[];
}

/** Perplexity on its way down over minutes, on a logarithmic axis, with a line at the figure to beat. */
export function curvesSvg(
  curves: readonly Curve[],
  target: { readonly name: string; readonly perplexity: number },
  title = "Valid perplexity over minutes of training",
): string {
  const all = curves.flatMap(({ points }) => points);
  const minutes = [0, ...all.map((point) => point.minutes)];
  const colourOf = (name: string) => COLOURS[curves.findIndex((curve) => curve.name === name) % COLOURS.length]!;
  const axes = {
    title,
    legend: curves.map(({ name }) => ({ name, colour: colourOf(name) })),
    description: `${target.name}: ${formatNumber(target.perplexity, 2)}. ${curves.map(ended).join("; ")}.`,
    x: { title: "minutes", values: minutes },
    y: {
      title: "valid perplexity",
      values: [target.perplexity, ...all.map(({ perplexity }) => perplexity)],
      log: true,
    },
  };
  const level = [Math.min(...minutes), Math.max(...minutes)].map((x) => ({ x, y: target.perplexity }));
  return plotSvg(axes, (plot) => [
    lineMark(plot, level, "currentColor", "4 3"),
    // At the left, where curves are still high.
    svgText(plot.left + 8, plot.y(target.perplexity) - 6, `${target.name} ${formatNumber(target.perplexity, 2)}`, {
      size: 13,
      halo: true,
    }),
    ...curves.flatMap(({ name, points }) => {
      const places = points.map((point) => ({ x: point.minutes, y: point.perplexity }));
      return [lineMark(plot, places, colourOf(name)), ...places.map((each) => dotMark(plot, each, colourOf(name)))];
    }),
  ]);
}

const ended = ({ name, points }: Curve) => {
  const last = points.at(-1);
  return last ? `${name} ends at ${formatNumber(last.perplexity, 2)} after ${formatNumber(last.minutes, 1)} min` : name;
};
