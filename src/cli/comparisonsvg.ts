/** The comparison as a picture: perplexity over distinct parameters, one mark a model, bars for the deviation over seeds. */
import { formatNumber } from "../base/table.ts";
import type { Result } from "./comparison.ts";

const [WIDTH, HEIGHT] = [640, 400];
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 150, 40, 52];
const COLOURS: Readonly<Record<string, string>> = {
  vanilla: "#666666",
  universal: "#8250df",
  sequence: "#0969da",
  cycle: "#1a7f37",
  cycle_rev: "#bc4c00",
};

type Measured = Result & { perplexity: NonNullable<Result["perplexity"]> };

/** From a range of values to a range of places, with a tenth of room at both ends. */
function scale(values: readonly number[], from: number, to: number): (value: number) => number {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = (most - least || Math.abs(most) || 1) / 10;
  return (value) => from + ((value - least + room) / (most - least + 2 * room)) * (to - from);
}

const text = (x: number, y: number, content: string, anchor = "middle") =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="currentColor">${content}</text>`;
const line = (x1: number, y1: number, x2: number, y2: number, colour = "currentColor") =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="${colour}"/>`;

/** An SVG of the rows that have a result. */
export function comparisonSvg(results: readonly Result[]): string {
  const measured = results.filter((each): each is Measured => each.perplexity !== null);
  const ends = measured.flatMap(({ perplexity: { mean, deviation } }) => [
    mean - (deviation ?? 0),
    mean + (deviation ?? 0),
  ]);
  const x = scale(
    measured.map(({ parameters }) => parameters),
    LEFT,
    WIDTH - RIGHT,
  );
  const y = scale(ends, HEIGHT - BOTTOM, TOP);
  const marks = measured.map((each) => mark(each, x(each.parameters), y));
  const labels = placed(
    measured.map(({ name, parameters, perplexity }) => ({ name, x: x(parameters), y: y(perplexity.mean) })),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="Perplexity over distinct parameters" font-family="system-ui, sans-serif" font-size="12">`,
    text(
      LEFT,
      22,
      "Validation perplexity over distinct parameters (layers that own weights / layers that run)",
      "start",
    ),
    line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM),
    line(LEFT, TOP, LEFT, HEIGHT - BOTTOM),
    ...ticks(ends).map((value) => text(LEFT - 8, y(value) + 4, formatNumber(value, 1), "end")),
    ...ticks(measured.map(({ parameters }) => parameters)).map((value) =>
      text(x(value), HEIGHT - BOTTOM + 18, `${formatNumber(value / 1e6, 2)} M`),
    ),
    ...marks,
    ...labels.map(({ name, x, y }) => text(x + 8, y + 4, name, "start")),
    "</svg>\n",
  ].join("\n");
}

interface Label {
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

const LINE = 14;
const COLUMN = 100;

/** Labels from the top down, each moved below those it would cover. */
function placed(labels: readonly Label[]): Label[] {
  const done: Label[] = [];
  for (const label of [...labels].sort((a, b) => a.y - b.y)) {
    const near = done.filter((other) => Math.abs(other.x - label.x) < COLUMN);
    done.push({ ...label, y: Math.max(label.y, ...near.map((other) => other.y + LINE)) });
  }
  return done;
}

/** The two ends of the data. */
function ticks(values: readonly number[]): number[] {
  return values.length === 0 ? [] : [...new Set([Math.min(...values), Math.max(...values)])];
}

function mark({ name, perplexity: { mean, deviation } }: Measured, x: number, y: (value: number) => number): string {
  const colour = COLOURS[name.split(" ")[0]!] ?? "currentColor";
  const bar = deviation === null ? "" : line(x, y(mean - deviation), x, y(mean + deviation), colour);
  const dot = `<circle cx="${x.toFixed(1)}" cy="${y(mean).toFixed(1)}" r="4" fill="${colour}"/>`;
  return `<g>${bar}${dot}</g>`;
}
