/** Pictures of a plan: which block runs at which depth, as text for the terminal and as SVG. */
import { reject } from "../base/errors.ts";
import { svgDocument, svgText } from "./svg.ts";

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

const CELL = 28;
const LEFT = 64;
const [TOP, BOTTOM] = [34, 34];

/** The colour of a block: hues as far apart as the golden angle puts them. */
const colour = (block: number) => `hsl(${Math.round((210 + block * 137.5) % 360)} 60% 50%)`;

/** The same grid as an SVG with a title; colours tell the blocks apart, labels name them. */
export function planSvg(plan: readonly number[], title: string): string {
  const unique = uniqueOf(plan);
  const [width, height] = [
    Math.max(LEFT + plan.length * CELL, LEFT + 7 * title.length, 244) + 16,
    TOP + unique * CELL + BOTTOM,
  ];
  const x = (depth: number) => LEFT + depth * CELL;
  const y = (block: number) => TOP + (unique - 1 - block) * CELL;
  const labels = Array.from({ length: unique }, (_, block) =>
    svgText(LEFT - 8, y(block) + 18, `layer ${block}`, "end"),
  );
  const cells = plan.map(
    (block, depth) =>
      `<rect x="${x(depth) + 2}" y="${y(block) + 2}" width="${CELL - 4}" height="${CELL - 4}" rx="4" fill="${colour(block)}"/>`,
  );
  const path = plan.map((block, depth) => `${x(depth) + CELL / 2},${y(block) + CELL / 2}`).join(" ");
  const depths = plan.map((_, depth) => svgText(x(depth) + CELL / 2, height - 14, depth));
  return svgDocument(width, height, title, [
    svgText(LEFT, 20, title, "start"),
    `<polyline points="${path}" fill="none" stroke="currentColor" stroke-opacity="0.35"/>`,
    ...cells,
    ...labels,
    svgText(LEFT - 8, height - 14, "depth", "end"),
    ...depths,
  ]);
}
