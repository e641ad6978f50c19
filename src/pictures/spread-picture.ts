/** Means with their deviations beside figures of others, a row each over one axis. */
import { formatNumber } from "../base/table.ts";
import { ticksOf } from "./plot.ts";
import { COLOURS, heading, legend, place, svgDocument, svgLine, svgText, textWidth } from "./svg.ts";

/** A row: what was measured, and what somebody else reports; null where there is none. */
export interface SpreadRow {
  readonly name: string;
  readonly ours: { readonly mean: number; readonly deviation: number | null } | null;
  readonly theirs: number | null;
}

/** Title, axis, and what the marks are called. */
export interface SpreadOptions {
  readonly title: string;
  readonly axis: string;
  /** Values that the axis must reach, besides those of the rows. */
  readonly reach?: readonly number[] | undefined;
  /** What dots with whiskers, and rings, stand for. */
  readonly names: readonly [ours: string, theirs: string];
}

const [WIDTH, MARGIN, ROW] = [800, 20, 34];
const TEXT = { size: 14 };

/** Dots with whiskers of a deviation to both sides, and rings. */
export function spreadsSvg(rows: readonly SpreadRow[], { title, axis, reach = [], names }: SpreadOptions): string {
  const [blue, orange] = COLOURS;
  const above = heading(title, MARGIN, WIDTH - 2 * MARGIN, 16);
  const entries = names.map((name, i) => ({ name, colour: [blue, orange][i]! }));
  const key = legend(entries, MARGIN, above.height + 4, WIDTH - 2 * MARGIN);
  const top = above.height + key.height + 8;
  const bottom = top + rows.length * ROW + 6;
  const left = MARGIN + 14 + Math.max(0, ...rows.map(({ name }) => textWidth(name, TEXT)));
  const right = WIDTH - MARGIN - 16;
  const values = [...reach, ...rows.flatMap(valuesOf)];
  const [least, most] = values.length === 0 ? [0, 1] : [Math.min(...values), Math.max(...values)];
  const room = (most - least || Math.abs(most) || 1) / 20;
  const x = (value: number) => left + ((value - least + room) / (most - least + 2 * room)) * (right - left);
  const ticks = ticksOf({ title: axis, values });
  const drawn = rows.flatMap((row, i) => {
    const y = top + (i + 0.5) * ROW;
    return [svgText(left - 12, y + 5, row.name, { ...TEXT, anchor: "end" }), ...marksOf(row, x, y, blue, orange)];
  });
  return svgDocument(WIDTH, bottom + 60, { title, description: rows.map((row) => said(row, names)).join("; ") }, [
    ...above.elements,
    ...key.elements,
    `<path d="${ticks.map((value) => `M${place(x(value))} ${place(top)}V${place(bottom)}`).join("")}" class="lw-line" fill="none"/>`,
    svgLine(left, bottom, right, bottom),
    ...ticks.map((value) => svgText(x(value), bottom + 20, formatNumber(value), { size: 13, anchor: "middle" })),
    svgText((left + right) / 2, bottom + 44, axis, { size: 13, anchor: "middle" }),
    ...drawn,
  ]);
}

const ends = ({ mean, deviation }: NonNullable<SpreadRow["ours"]>) => [
  mean - (deviation ?? 0),
  mean + (deviation ?? 0),
];

const valuesOf = ({ ours, theirs }: SpreadRow): number[] => [
  ...(ours ? ends(ours) : []),
  ...(theirs === null ? [] : [theirs]),
];

function marksOf(
  { ours, theirs }: SpreadRow,
  x: (value: number) => number,
  y: number,
  own: string,
  other: string,
): string[] {
  const ring =
    theirs === null
      ? []
      : [`<circle cx="${place(x(theirs))}" cy="${place(y)}" r="7" fill="none" stroke="${other}" stroke-width="2.5"/>`];
  if (!ours) return ring;
  const [low, high] = ends(ours).map(x) as [number, number];
  const whisker = `<path d="M${place(low)} ${place(y)}H${place(high)}M${place(low)} ${place(y - 6)}v12M${place(high)} ${place(y - 6)}v12" stroke="${own}" stroke-width="1.5"/>`;
  const dot = `<circle cx="${place(x(ours.mean))}" cy="${place(y)}" r="5" fill="${own}"/>`;
  return [...ring, ...(ours.deviation === null ? [] : [whisker]), dot];
}

function said({ name, ours, theirs }: SpreadRow, [own, other]: readonly [string, string]): string {
  const deviation = ours?.deviation == null ? "" : ` ± ${formatNumber(ours.deviation, 2)}`;
  const mine = ours ? `${own} ${formatNumber(ours.mean, 2)}${deviation}` : `${own} none`;
  return `${name}: ${mine}, ${other} ${theirs === null ? "none" : formatNumber(theirs, 2)}`;
}
