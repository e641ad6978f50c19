/** A figure per row as bars from zero, for a few rows with names. */
import { COLOURS, heading, svgBox, svgDocument, svgText, textWidth } from "./svg.ts";

/** A row: its name, how long its bar is, and what is written beside it. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly text: string;
}

const [WIDTH, MARGIN, ROW, BAR] = [1000, 24, 36, 22];
const STYLE = { size: 15 };

/** Bars up to `most`, the end of the scale. */
export function barsSvg(rows: readonly Bar[], title: string, most: number): string {
  const top = heading(title, MARGIN, WIDTH - 2 * MARGIN);
  const room = (texts: readonly string[]) => Math.max(0, ...texts.map((text) => textWidth(text, STYLE))) + 12;
  const left = MARGIN + room(rows.map(({ name }) => name));
  const longest = WIDTH - MARGIN - left - room(rows.map(({ text }) => text));
  const elements = rows.flatMap(({ name, value, text }, i) => {
    const [y, length] = [top.height + 8 + i * ROW, (value / most) * longest];
    return [
      svgText(left - 12, y + 16, name, { ...STYLE, anchor: "end" }),
      svgBox(left, y, length, BAR, `fill="${COLOURS[0]}"`),
      svgText(left + length + 10, y + 16, text, STYLE),
    ];
  });
  const description = rows.map(({ name, text }) => `${name}: ${text}`).join("; ");
  const height = top.height + 8 + rows.length * ROW + 10;
  return svgDocument(WIDTH, height, { title, description }, [...top.elements, ...elements]);
}
