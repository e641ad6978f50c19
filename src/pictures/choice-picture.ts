/** A picture of π: one row a candidate, one column a block, darker means more probable; as SVG and as pixels. */

import type { Picture } from "../format/png.ts";
import { eachDot, GLYPH, textWidth } from "./pixel-font.ts";
import { type Anchor, svgDocument, svgText } from "./svg.ts";

/** What a block may be, and π of each. */
export interface Choice {
  readonly names: readonly string[];
  readonly probabilities: readonly number[];
}

/** π of all blocks at a step. */
export interface Milestone {
  readonly step: number;
  readonly choices: readonly Choice[];
}

/** π of a candidate by name: 0 where a block no longer has it. */
export function shareOf({ names, probabilities }: Choice, name: string): number {
  return probabilities[names.indexOf(name)] ?? 0;
}

interface Square {
  readonly x: number;
  readonly y: number;
  /** From 0, white, to 1. */
  readonly darkness: number;
}

/** Written from the point in the direction of `anchor`, centred on `y`. */
interface Writing {
  readonly x: number;
  readonly y: number;
  readonly text: string;
  readonly anchor: Anchor;
  readonly darkness: number;
}

/** What is drawn, whatever it is drawn with. */
interface Scene {
  readonly width: number;
  readonly height: number;
  readonly squares: readonly Square[];
  readonly writings: readonly Writing[];
}

const CELL = { width: 56, height: 40 };
const [TOP, BOTTOM, RIGHT, GAP] = [40, 32, 16, 10];
const SCALE = 2;
/** Room for the title of any step: pictures of a run have one size. */
const LONGEST_TITLE = "π at step 123456789";

function sceneOf({ step, choices }: Milestone, rows: readonly string[]): Scene {
  const left = Math.max(...rows.map((name) => textWidth(name, SCALE))) + 2 * GAP;
  const title = `π at step ${step}`;
  const width = Math.max(left + choices.length * CELL.width, textWidth(LONGEST_TITLE, SCALE) + GAP) + RIGHT;
  const middle = (row: number) => TOP + (row + 0.5) * CELL.height;
  const squares = choices.flatMap((choice, column) =>
    rows.map((name, row) => {
      return { x: left + column * CELL.width, y: TOP + row * CELL.height, darkness: shareOf(choice, name) };
    }),
  );
  const writings = [
    { x: GAP, y: TOP / 2, text: title, anchor: "start", darkness: 1 },
    ...rows.map((text, row) => ({ x: left - GAP, y: middle(row), text, anchor: "end", darkness: 1 })),
    ...choices.flatMap((choice, column) => {
      const x = left + (column + 0.5) * CELL.width;
      const y = TOP + rows.length * CELL.height + BOTTOM / 2;
      return [largest(choice, rows, x, middle), { x, y, text: `${column + 1}`, anchor: "middle", darkness: 1 }];
    }),
  ] as Writing[];
  return { width, height: TOP + rows.length * CELL.height + BOTTOM, squares, writings };
}

/** The largest share of a block, written into its cell. */
function largest(choice: Choice, rows: readonly string[], x: number, middle: (row: number) => number): Writing {
  const share = Math.max(...choice.probabilities);
  const row = rows.indexOf(choice.names[choice.probabilities.indexOf(share)]!);
  return { x, y: middle(row), text: share.toFixed(2), anchor: "middle", darkness: share > 0.6 ? 0 : 1 };
}

const DARKEST = [10, 37, 84];
/** From white to a dark blue. */
const colourOf = (darkness: number) => DARKEST.map((dark) => Math.round(255 + darkness * (dark - 255)));
const hex = (darkness: number) => `#${colourOf(darkness).map(twoDigits).join("")}`;
const twoDigits = (channel: number) => channel.toString(16).padStart(2, "0");
const PALETTE = Uint8Array.from(Array.from({ length: 256 }, (_, i) => colourOf(i / 255)).flat());

/** `rows` names all candidates that any block ever had. */
export function choiceSvg(milestone: Milestone, rows: readonly string[]): string {
  const { width, height, squares, writings } = sceneOf(milestone, rows);
  const size = `width="${CELL.width}" height="${CELL.height}"`;
  return svgDocument(width, height, `π at step ${milestone.step}`, [
    `<rect width="${width}" height="${height}" fill="${hex(0)}"/>`,
    ...squares.map(({ x, y, darkness }) => `<rect x="${x}" y="${y}" ${size} fill="${hex(darkness)}" stroke="#999"/>`),
    ...writings.map(({ x, y, text, anchor, darkness }) => svgText(x, y + 4, text, anchor, hex(darkness))),
  ]);
}

/** The same as pixels, one byte each: how dark. */
export function choicePixels(milestone: Milestone, rows: readonly string[]): Picture & { palette: Uint8Array } {
  const { width, height, squares, writings } = sceneOf(milestone, rows);
  const data = new Uint8Array(width * height);
  for (const { x, y, darkness } of squares) {
    fill(data, width, [x, y, x + CELL.width + 1, y + CELL.height + 1], 0.4); // the frame
    fill(data, width, [x + 1, y + 1, x + CELL.width, y + CELL.height], darkness);
  }
  for (const { x, y, text, anchor, darkness } of writings) {
    const before = { start: 0, middle: 0.5, end: 1 }[anchor] * textWidth(text, SCALE);
    const [left, top] = [Math.round(x - before), Math.round(y - (GLYPH.line * SCALE) / 2)];
    eachDot(text, SCALE, (dx, dy) => {
      data[(top + dy) * width + left + dx] = 255 * darkness;
    });
  }
  return { width, height, channels: 1, data, palette: PALETTE };
}

type Box = readonly [left: number, top: number, right: number, bottom: number];

function fill(data: Uint8Array, width: number, [left, top, right, bottom]: Box, darkness: number): void {
  for (let y = top; y < bottom; y++) data.fill(Math.round(255 * darkness), y * width + left, y * width + right);
}
