/** A figure per row as bars from zero, for a few rows with names. */
import { place, svgDocument, svgText } from "./svg.ts";

/** A row: its name, how long its bar is, and what is written beside it. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly text: string;
}

const [WIDTH, LEFT, RIGHT, TOP, ROW] = [1000, 230, 190, 48, 34];

/** Bars up to `most`, the end of the scale. */
export function barsSvg(rows: readonly Bar[], title: string, most: number): string {
  const length = (value: number) => (value / most) * (WIDTH - LEFT - RIGHT);
  const elements = rows.flatMap(({ name, value, text }, i) => {
    const y = TOP + i * ROW;
    return [
      svgText(LEFT - 12, y + 16, name, "end"),
      `<rect x="${LEFT}" y="${y}" width="${place(length(value))}" height="22" rx="3" fill="#3b76c4"/>`,
      svgText(LEFT + length(value) + 10, y + 16, text, "start"),
    ];
  });
  const heading = svgText(16, 26, title, "start").replace("<text ", '<text font-size="18" font-weight="600" ');
  return svgDocument(WIDTH, TOP + rows.length * ROW + 8, title, [heading, ...elements]);
}
