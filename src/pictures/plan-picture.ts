/** Pictures of a plan: which block runs at which depth, as text for the terminal and as SVG. */
import { reject } from "../base/errors.ts";
import { KIND_HUES } from "./hues.ts";
import { COLOURS, heading, place, svgBox, svgDocument, svgText, textWidth, wrapped } from "./svg.ts";

/** Blocks of a plan, which are numbered from 0. */
function uniqueOf(plan: readonly number[]): number {
  if (plan.length > 0 && plan.every((block) => Number.isInteger(block) && block >= 0)) return Math.max(...plan) + 1;
  return reject({ who: "plan", needed: "block numbers 0, 1, …", got: `[${plan}]` }, 2);
}

/** One line per block, the last on top, one column per depth. */
export function drawPlan(plan: readonly number[]): string {
  const size = Math.max(1, String(plan.length - 1).length);
  const cell = (text: string) => ` ${text.padStart(size)}`;
  const rows = Array.from({ length: uniqueOf(plan) }, (_, block) => {
    return `layer ${String(block).padEnd(3)}${plan.map((each) => cell(each === block ? "■" : "·")).join("")}`;
  });
  return [...rows.reverse(), `depth    ${plan.map((_, depth) => cell(String(depth))).join("")}`].join("\n");
}

const [CELL, MARGIN, NARROWEST] = [36, 20, 420];
const STOP = "may stop";

/** Blocks far apart in hue, and all of one brightness: the golden angle. Fixed colours, which every reader of SVG knows. */
function colour(block: number): string {
  const hue = (210 + block * 137.5) % 360;
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (0.5 - 0.3 * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return `#${[0, 8, 4].map((n) => channel(n).toString(16).padStart(2, "0")).join("")}`;
}

/** `3 layers of weights at 6 depths: 0,1,2,0,1,2`. */
function titleOf(plan: readonly number[]): string {
  const unique = new Set(plan).size;
  return `${unique} ${unique === 1 ? "layer" : "layers"} of weights at ${plan.length} depths: ${plan.join(",")}`;
}

/** A part of a plan: its columns have a frame. */
export interface PlanPart {
  readonly text: string;
  /** Columns that it takes. */
  readonly depths: number;
  /** How often it runs with the same weights. */
  readonly passes: number;
  /** What it is, in words. */
  readonly meaning: string;
  /** Its depths, from 0, after which a token may stop. */
  readonly stops: readonly number[];
  /** `s`, `f` … of each depth, where blocks are attention or feed-forward alone. */
  readonly letters?: readonly string[] | undefined;
}

/** Where a plan is drawn. */
interface Grid {
  readonly left: number;
  readonly first: number;
  readonly bottom: number;
  x(depth: number): number;
  y(block: number): number;
}

/** The same grid as an SVG with a title; colours tell the blocks apart, labels name them. Parts have frames, marks where tokens may stop, and a line each below. */
export function planSvg(plan: readonly number[], title = titleOf(plan), parts: readonly PlanPart[] = []): string {
  const unique = uniqueOf(plan);
  const sides = ["depth", `layer ${unique - 1}`, ...(parts.some(({ stops }) => stops.length > 0) ? [STOP] : [])];
  const left = MARGIN + Math.max(...sides.map((name) => textWidth(name, LABEL))) + 8;
  const titled = parts.length > 0 ? 2 * MARGIN + textWidth(title, { size: 16, bold: true }) : 0;
  const width = Math.max(left + plan.length * CELL + MARGIN, NARROWEST, Math.ceil(titled));
  const top = heading(title, MARGIN, width - 2 * MARGIN, 16);
  const note = `${unique} ${unique === 1 ? "layer" : "layers"} of weights, ${plan.length} run`;
  const first = top.height + (parts.length > 1 ? 52 : 28);
  const x = (depth: number) => left + depth * CELL;
  const y = (block: number) => first + (unique - 1 - block) * CELL;
  const bottom = first + unique * CELL;
  const grid = { left, first, bottom, x, y };
  const names = namesOf(parts);
  const letters = parts.flatMap(({ depths, letters: own }) => Array.from({ length: depths }, (_, i) => own?.[i]));
  const cells = plan.flatMap((block, depth) => cellOf(grid, block, depth, letters[depth]));
  const path = plan.map((block, depth) => `${place(x(depth) + CELL / 2)},${place(y(block) + CELL / 2)}`).join(" ");
  const side = { ...LABEL, anchor: "end" } as const;
  const stops = stopMarks(grid, parts);
  const end = bottom + (stops.length > 0 ? 52 : 30);
  const words = partLines(parts, names, end, width);
  const described = parts.map(({ text, meaning }) => ` ${text}: ${meaning}.`).join("");
  const description = `${note}, in the order ${plan.join(" ")}.${described}`;
  return svgDocument(width, end + words.height + 6, { title, description }, [
    ...top.elements,
    svgText(MARGIN, top.height + 10, note, { ...LABEL, soft: true }),
    ...frames(grid, parts, names),
    `<polyline points="${path}" fill="none" stroke="currentColor" stroke-opacity="0.35"/>`,
    ...cells,
    ...Array.from({ length: unique }, (_, block) => svgText(left - 8, y(block) + 23, `layer ${block}`, side)),
    svgText(left - 8, bottom + 20, "depth", { ...side, soft: true }),
    ...plan.map((_, depth) =>
      svgText(x(depth) + CELL / 2, bottom + 20, depth, { ...LABEL, anchor: "middle", soft: true }),
    ),
    ...stops,
    ...words.elements,
  ]);
}

/** Attention and feed-forward have the hues that they have elsewhere. */
const letterHue = (letter: string) => KIND_HUES["sfi".indexOf(letter[0]!)] ?? KIND_HUES[3];

function cellOf({ x, y }: Grid, block: number, depth: number, letter: string | undefined): string[] {
  const fill = letter === undefined ? colour(block) : letterHue(letter);
  const on = { colour: fill, opacity: 1 };
  return [
    svgBox(x(depth) + 3, y(block) + 3, CELL - 6, CELL - 6, `fill="${fill}"`),
    svgText(x(depth) + CELL / 2, y(block) + CELL / 2 + 5, letter?.[0] ?? block, {
      ...LABEL,
      bold: true,
      anchor: "middle",
      on,
    }),
  ];
}

/** What frames are called: their text or, where one has too little room for it, letters. */
function namesOf(parts: readonly PlanPart[]): string[] {
  const fits = parts.every(({ text, depths }) => textWidth(text, LABEL) <= depths * CELL - 4);
  return parts.map(({ text }, i) => (fits ? text : String.fromCodePoint(65 + (i % 26))));
}

const firstDepths = (parts: readonly PlanPart[]) =>
  parts.map((_, i) => parts.slice(0, i).reduce((sum, { depths }) => sum + depths, 0));

/** A frame around the columns of each part, its name above, dashes between its passes. */
function frames({ x, first, bottom }: Grid, parts: readonly PlanPart[], names: readonly string[]): string[] {
  const starts = firstDepths(parts);
  return parts.flatMap(({ depths, passes }, i) => {
    const from = starts[i]!;
    const turns = Array.from({ length: passes - 1 }, (_, k) => x(from + ((k + 1) * depths) / passes));
    return [
      svgBox(
        x(from) + 1,
        first - 2,
        depths * CELL - 2,
        bottom - first + 4,
        'fill="currentColor" fill-opacity="0.05" class="lw-line"',
      ),
      // The title names a part that is alone.
      ...(parts.length > 1
        ? [svgText(x(from) + (depths * CELL) / 2, first - 9, names[i]!, { ...LABEL, bold: true, anchor: "middle" })]
        : []),
      ...turns.map(
        (at) =>
          `<line x1="${place(at)}" y1="${place(first - 2)}" x2="${place(at)}" y2="${place(bottom + 2)}" stroke="currentColor" stroke-opacity="0.5" stroke-dasharray="3 3"/>`,
      ),
    ];
  });
}

/** A triangle below each depth after which a token may stop. */
function stopMarks({ x, left, bottom }: Grid, parts: readonly PlanPart[]): string[] {
  const starts = firstDepths(parts);
  const marks = parts.flatMap(({ stops }, i) =>
    stops.map((stop) => {
      const at = x(starts[i]! + stop) + CELL / 2;
      const [high, low] = [bottom + 31, bottom + 41];
      const corners = [
        `${place(at - 6)},${place(high)}`,
        `${place(at + 6)},${place(high)}`,
        `${place(at)},${place(low)}`,
      ];
      return `<polygon points="${corners.join(" ")}" fill="${COLOURS[1]}"/>`;
    }),
  );
  if (marks.length === 0) return [];
  return [svgText(left - 8, bottom + 41, STOP, { ...LABEL, anchor: "end", soft: true }), ...marks];
}

/** A line for each part that does not speak for itself. */
function partLines(parts: readonly PlanPart[], names: readonly string[], top: number, width: number) {
  const lines = parts.flatMap(({ text, meaning }, i) => {
    if (names[i] === text && /^\d+$/.test(text)) return [];
    const name = names[i] === text ? text : `${names[i]} = ${text}`;
    return wrapped(parts.length === 1 ? meaning : `${name}: ${meaning}`, width - 2 * MARGIN, LABEL);
  });
  const step = 20;
  return {
    elements: lines.map((line, i) => svgText(MARGIN, top + 14 + i * step, line, { ...LABEL, soft: true })),
    height: lines.length === 0 ? 0 : 8 + lines.length * step,
  };
}

const LABEL = { size: 14 };
