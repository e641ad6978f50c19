/** A sweep as a picture: its figure against each setting that varies, one plot below the other. */
import { formatNumber } from "../base/table.ts";
import { COLOURS, dotMark, PLOT, type Plot, plotSvg } from "./plot.ts";
import { svgDocument } from "./svg.ts";

/** A trial that has a figure, with the settings that vary. */
export interface SweptPoint {
  readonly name: string;
  readonly figure: number;
  readonly values: Readonly<Record<string, unknown>>;
}

/** A dot per trial in a plot per setting; words and lists stand side by side in the order in which they come. */
export function sweepSvg(points: readonly SweptPoint[], figure: string): string {
  const keys = [...new Set(points.flatMap(({ values }) => Object.keys(values)))];
  let height = 0;
  const plots = keys.map((key) => {
    const plot = plotOf(points, key, figure);
    const y = height;
    height += Number(/ height="(\d+)/.exec(plot)![1]);
    return plot.replace("<svg ", `<svg y="${y}" `);
  });
  const title = `${figure} against ${keys.join(", ")}`;
  return svgDocument(PLOT.width, Math.max(height, 40), { title }, plots);
}
const DECADE = 10;

function plotOf(points: readonly SweptPoint[], key: string, figure: string): string {
  const found = points.map(({ values }) => values[key]);
  const words = [...new Set(found.map((value) => JSON.stringify(value)))];
  const isNumeric = found.every((value) => typeof value === "number");
  const places = isNumeric ? (found as number[]) : found.map((value) => words.indexOf(JSON.stringify(value)));
  const log = isNumeric && Math.min(...places) > 0 && Math.max(...places) >= DECADE * Math.min(...places);
  const word = (at: number) => words[at]?.replaceAll('"', "") ?? "";
  const x = { title: key, values: places, log, format: isNumeric ? precise : word };
  const y = { title: figure, values: points.map((point) => point.figure), format: precise };
  const marks = (plot: Plot) =>
    points.map((point, i) => dotMark(plot, { x: places[i]!, y: point.figure }, COLOURS[0], point.name));
  return plotSvg({ title: `${figure} against ${key}`, x, y }, marks);
}

/** Learning rates are smaller than a table's three decimals. */
const precise = (value: number) =>
  Math.abs(value) < 0.01 ? `${Number(value.toPrecision(3))}` : formatNumber(value, 4);
