/** Plots as SVG: two axes with round ticks, and marks that are placed by the data's own units. */

import { formatNumber } from "../base/table.ts";
import {
  COLOURS,
  escaped,
  heading,
  type LegendEntry,
  legend,
  place,
  svgDocument,
  svgLine,
  svgText,
  textWidth,
} from "./svg.ts";

export { COLOURS };

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
  /** What the colours stand for. */
  readonly legend?: readonly LegendEntry[];
  /** What can be read off it, for those who cannot see it. */
  readonly description?: string;
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

/** A plot's size in pixels; its title and legend add to the height. */
export const PLOT = { width: 800, height: 420 };
const MARGIN = 20;
const TICK = { size: 13 };

/** Draws axes and grid, and between them what `marks` makes of the plot's places. */
export function plotSvg(options: PlotOptions, marks: (plot: Plot) => readonly string[]): string {
  const { title, x, y, description } = options;
  const [xTicks, yTicks] = [x, y].map((axis) => ticksOf(axis).filter((value) => tickText(axis, value) !== ""));
  const above = heading(title, MARGIN, PLOT.width - 2 * MARGIN, 16);
  const names = legend(options.legend ?? [], MARGIN, above.height + 4, PLOT.width - 2 * MARGIN);
  const widest = Math.max(0, ...yTicks!.map((value) => textWidth(tickText(y, value), TICK)));
  const top = above.height + names.height + 12;
  const frame = { left: MARGIN + 26 + widest, right: PLOT.width - MARGIN - 12, top, bottom: top + PLOT.height - 60 };
  const plot: Plot = { x: scale(x, frame.left, frame.right), y: scale(y, frame.bottom, frame.top), ...frame };
  return svgDocument(PLOT.width, frame.bottom + 60, { title, ...(description ? { description } : {}) }, [
    ...above.elements,
    ...names.elements,
    ...axesOf(plot, x, y, xTicks!, yTicks!),
    ...marks(plot),
  ]);
}

function axesOf(plot: Plot, x: AxisOptions, y: AxisOptions, xTicks: readonly number[], yTicks: readonly number[]) {
  const { left, right, top, bottom } = plot;
  const grid = [
    ...xTicks.map((value) => `M${place(plot.x(value))} ${place(top)}V${place(bottom)}`),
    ...yTicks.map((value) => `M${place(left)} ${place(plot.y(value))}H${place(right)}`),
  ];
  const middle = { ...TICK, anchor: "middle" } as const;
  return [
    `<path d="${grid.join("")}" class="lw-line" fill="none"/>`,
    svgLine(left, bottom, right, bottom),
    svgLine(left, top, left, bottom),
    ...apart(xTicks, x, plot).map((value) => svgText(plot.x(value), bottom + 20, tickText(x, value), middle)),
    ...yTicks.map((value) => svgText(left - 8, plot.y(value) + 4, tickText(y, value), { ...TICK, anchor: "end" })),
    svgText((left + right) / 2, bottom + 44, x.title, middle),
    `<g transform="translate(${MARGIN} ${place((top + bottom) / 2)}) rotate(-90)">${svgText(0, 0, y.title, middle)}</g>`,
  ];
}

/** Ticks from the left on whose texts do not touch the one before. */
function apart(ticks: readonly number[], axis: AxisOptions, plot: Plot): number[] {
  let end = Number.NEGATIVE_INFINITY;
  return ticks.filter((value) => {
    const half = textWidth(tickText(axis, value), TICK) / 2;
    if (plot.x(value) - half < end) return false;
    end = plot.x(value) + half + 6;
    return true;
  });
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

/** A dot; `title` is shown by a pointer that rests on it. */
export function dotMark(plot: Plot, { x, y }: Point, colour: string, title?: string): string {
  const at = `cx="${place(plot.x(x))}" cy="${place(plot.y(y))}" r="5" fill="${colour}"`;
  return title === undefined ? `<circle ${at}/>` : `<circle ${at}><title>${escaped(title)}</title></circle>`;
}

/** Straight lines from point to point. */
export function lineMark(plot: Plot, points: readonly Point[], colour: string, dashes?: string): string {
  const places = points.map(({ x, y }) => `${place(plot.x(x))},${place(plot.y(y))}`).join(" ");
  const dashed = dashes === undefined ? "" : ` stroke-dasharray="${dashes}"`;
  return `<polyline points="${places}" fill="none" stroke="${colour}" stroke-width="1.5"${dashed}/>`;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const overlap = (a: Box, b: Box) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

const LINE = 16;

/** A label, and the place that its text is anchored to. */
interface Placed {
  readonly x: number;
  readonly y: number;
  readonly anchor: "start" | "end";
  readonly box: Box;
}

/** Right of its point, left of it, then line by line below and above; always within the frame. */
function placesFor(plot: Plot, x: number, y: number, name: string): Placed[] {
  const wide = textWidth(name, TICK);
  const lines = [0, ...Array.from({ length: 12 }, (_, i) => [i + 1, -i - 1]).flat()];
  const fits = (left: number) => left >= plot.left && left + wide <= plot.right + 12;
  const sides = [
    { x: x + 10, left: x + 10, anchor: "start" as const },
    { x: x - 10, left: x - 10 - wide, anchor: "end" as const },
  ];
  const inside = sides.filter(({ left }) => fits(left));
  return lines.flatMap((line) =>
    (inside.length > 0 ? inside : sides.slice(0, 1)).map(({ left, ...side }) => {
      const at = y + line * LINE;
      return { ...side, y: at, box: { left, right: left + wide, top: at - LINE / 2, bottom: at + LINE / 2 } };
    }),
  );
}

/** What stands beside points: each at the nearest free place, with a thin line to its point where that is not beside it. */
export function labelMarks(plot: Plot, labels: readonly (Point & { readonly name: string })[]): string[] {
  const points = labels.map(({ x, y, name }) => ({ x: plot.x(x), y: plot.y(y), name }));
  const taken: Box[] = points.map(({ x, y }) => ({ left: x - 6, right: x + 6, top: y - 6, bottom: y + 6 }));
  const isFree = ({ box }: Placed) => !taken.some((other) => overlap(box, other));
  return points
    .toSorted((a, b) => a.y - b.y)
    .flatMap(({ x, y, name }) => {
      const places = placesFor(plot, x, y, name);
      const inside = places.filter(({ box }) => box.top >= plot.top && box.bottom <= plot.bottom);
      const found = inside.find(isFree) ?? places[0]!;
      taken.push(found.box);
      const text = svgText(found.x, found.y + 4, name, { ...TICK, anchor: found.anchor, halo: true });
      if (found.y === y) return [text];
      return [
        `<path d="M${place(x)} ${place(y)}L${place(found.x)} ${place(found.y)}" class="lw-line" fill="none"/>`,
        text,
      ];
    });
}
