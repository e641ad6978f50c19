/** Pictures of a plan: which block runs at which depth, as text for the terminal and as SVG. */
import { reject } from "../base/errors.ts";
import { heading, place, svgBox, svgDocument, svgText, textWidth } from "./svg.ts";

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

/** The same grid as an SVG with a title; colours tell the blocks apart, labels name them. */
export function planSvg(plan: readonly number[], title = titleOf(plan)): string {
  const unique = uniqueOf(plan);
  const left = MARGIN + Math.max(textWidth("depth", LABEL), textWidth(`layer ${unique - 1}`, LABEL)) + 8;
  const width = Math.max(left + plan.length * CELL + MARGIN, NARROWEST);
  const top = heading(title, MARGIN, width - 2 * MARGIN, 16);
  const note = `${unique} ${unique === 1 ? "layer" : "layers"} of weights, ${plan.length} run`;
  const first = top.height + 28;
  const x = (depth: number) => left + depth * CELL;
  const y = (block: number) => first + (unique - 1 - block) * CELL;
  const bottom = first + unique * CELL;
  const cells = plan.flatMap((block, depth) => [
    svgBox(x(depth) + 3, y(block) + 3, CELL - 6, CELL - 6, `fill="${colour(block)}"`),
    svgText(x(depth) + CELL / 2, y(block) + CELL / 2 + 5, block, {
      ...LABEL,
      bold: true,
      anchor: "middle",
      on: { colour: colour(block), opacity: 1 },
    }),
  ]);
  const path = plan.map((block, depth) => `${place(x(depth) + CELL / 2)},${place(y(block) + CELL / 2)}`).join(" ");
  const side = { ...LABEL, anchor: "end" } as const;
  return svgDocument(width, bottom + 36, { title, description: `${note}, in the order ${plan.join(" ")}.` }, [
    ...top.elements,
    svgText(MARGIN, top.height + 10, note, { ...LABEL, soft: true }),
    `<polyline points="${path}" fill="none" stroke="currentColor" stroke-opacity="0.35"/>`,
    ...cells,
    ...Array.from({ length: unique }, (_, block) => svgText(left - 8, y(block) + 23, `layer ${block}`, side)),
    svgText(left - 8, bottom + 20, "depth", { ...side, soft: true }),
    ...plan.map((_, depth) =>
      svgText(x(depth) + CELL / 2, bottom + 20, depth, { ...LABEL, anchor: "middle", soft: true }),
    ),
  ]);
}

const LABEL = { size: 14 };
