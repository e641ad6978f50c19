/** Plots as SVG: two axes with round ticks, and marks that are placed by the data's own units. */

import { formatNumber } from "../base/table.ts";
import { escaped, place, svgDocument, svgLine, svgText } from "./svg.ts";

/** What an axis shows. */
export interface AxisOptions {
  readonly title: string;
  /** What the axis must reach. */
  readonly values: readonly number[];
  /** Equal ratios take equal room. Default: equal differences do. */
  readonly log?: boolean;
  /** Text of a tick. */
  readonly format?: (value: number) => string;
}

/** Title and axes of a plot. */
export interface PlotOptions {
  readonly title: string;
  readonly x: AxisOptions;
  readonly y: AxisOptions;
}

/** Where data stand in the picture. */
export interface Plot {
  x(value: number): number;
  y(value: number): number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const [WIDTH, HEIGHT] = [640, 400];
const FRAME = { left: 64, right: WIDTH - 150, top: 40, bottom: HEIGHT - 56 };

/** Draws axes and grid, and between them what `marks` makes of the plot's places. */
export function plotSvg({ title, x, y }: PlotOptions, marks: (plot: Plot) => readonly string[]): string {
  const { left, right, top, bottom } = FRAME;
  const plot: Plot = { x: scale(x, left, right), y: scale(y, bottom, top), ...FRAME };
  const [xTicks, yTicks] = [ticksOf(x), ticksOf(y)];
  const grid = [
    ...xTicks.map((value) => `M${place(plot.x(value))} ${top}V${bottom}`),
    ...yTicks.map((value) => `M${left} ${place(plot.y(value))}H${right}`),
  ];
  return svgDocument(WIDTH, HEIGHT, title, [
    svgText(left, 22, title, "start"),
    `<path d="${grid.join("")}" stroke="currentColor" stroke-opacity="0.15" fill="none"/>`,
    svgLine(left, bottom, right, bottom),
    svgLine(left, top, left, bottom),
    ...xTicks.map((value) => svgText(plot.x(value), bottom + 18, tickText(x, value))),
    ...yTicks.map((value) => svgText(left - 8, plot.y(value) + 4, tickText(y, value), "end")),
    svgText((left + right) / 2, bottom + 40, x.title),
    `<g transform="translate(16 ${place((top + bottom) / 2)}) rotate(-90)">${svgText(0, 0, y.title)}</g>`,
    ...marks(plot),
  ]);
}

const tickText = ({ format = formatNumber }: AxisOptions, value: number) => format(value);

/** The ends of an axis: those of its values with a twentieth of room, in the units in which it is straight. */
function rangeOf({ values, log = false }: AxisOptions): [number, number] {
  const straight = values.length === 0 ? [0, 1] : values.map((value) => (log ? Math.log10(value) : value));
  const [least, most] = [Math.min(...straight), Math.max(...straight)];
  const room = (most - least || Math.abs(most) || 1) / 20;
  return [least - room, most + room];
}

function scale(axis: AxisOptions, from: number, to: number): (value: number) => number {
  const [least, most] = rangeOf(axis);
  return (value) => from + (((axis.log ? Math.log10(value) : value) - least) / (most - least)) * (to - from);
}

const TICKS = 6;

/** Round numbers within the axis: multiples of 1, 2 or 5 times a power of ten, about six of them. */
export function ticksOf(axis: AxisOptions): number[] {
  if (axis.values.length === 0) return [];
  const [least, most] = rangeOf(axis);
  if (!axis.log) return multiples(least, most);
  const decades = Array.from(
    { length: Math.ceil(most) - Math.floor(least) + 1 },
    (_, i) => 10 ** (Math.floor(least) + i),
  );
  const round = [[1], [1, 3], [1, 2, 5], [1, 2, 3, 5, 7]]
    .map((firsts) => decades.flatMap((decade) => firsts.map((first) => first * decade)))
    .map((all) => all.filter((value) => Math.log10(value) >= least && Math.log10(value) <= most));
  // Less than a third of a decade may hold none of those.
  return round.find((all) => all.length >= 4) ?? multiples(10 ** least, 10 ** most);
}

function multiples(least: number, most: number): number[] {
  const rough = (most - least) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((first) => first * power >= rough)!;
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const ticks: number[] = [];
  for (let k = Math.ceil(least / step); k * step <= most; k++) ticks.push(Number((k * step).toFixed(digits)));
  return ticks;
}

/** A place in the units of the data. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Colours that can be told from white and from black. */
export const COLOURS = ["#2f81f7", "#d1661f", "#2a9d4a", "#a371f7", "#d63d6b", "#8b949e"] as const;

/** A dot; `title` is shown by a pointer that rests on it. */
export function dotMark(plot: Plot, { x, y }: Point, colour: string, title?: string): string {
  const at = `cx="${place(plot.x(x))}" cy="${place(plot.y(y))}" r="4" fill="${colour}"`;
  return title === undefined ? `<circle ${at}/>` : `<circle ${at}><title>${escaped(title)}</title></circle>`;
}

/** Straight lines from point to point. */
export function lineMark(plot: Plot, points: readonly Point[], colour: string, dashes?: string): string {
  const places = points.map(({ x, y }) => `${place(plot.x(x))},${place(plot.y(y))}`).join(" ");
  const dashed = dashes === undefined ? "" : ` stroke-dasharray="${dashes}"`;
  return `<polyline points="${places}" fill="none" stroke="${colour}" stroke-width="1.5"${dashed}/>`;
}

/** What stands beside points, from the top down, each moved below those it would cover. */
export function labelMarks(plot: Plot, labels: readonly (Point & { readonly name: string })[]): string[] {
  const done: { x: number; y: number; name: string }[] = [];
  const wanted = labels.map(({ x, y, name }) => ({ x: plot.x(x), y: plot.y(y), name }));
  for (const label of wanted.toSorted((a, b) => a.y - b.y)) {
    const near = done.filter((other) => Math.abs(other.x - label.x) < LABEL.width);
    done.push({ ...label, y: Math.max(label.y, ...near.map((other) => other.y + LABEL.height)) });
  }
  return done.map(({ x, y, name }) => svgText(x + 8, y + 4, name, "start"));
}

const LABEL = { width: 100, height: 14 };
