/** A picture of π: one row a candidate in the hue of its kind, one column a block, the stronger the more probable. */
import { formatNumber } from "../base/table.ts";
import { huesOf } from "./hues.ts";
import { type Paint, place, svgBox, svgDocument, svgText, textWidth } from "./svg.ts";

/** What a block may be, and π of each. */
export interface Choice {
  readonly names: readonly string[];
  readonly probabilities: readonly number[];
}

/** π of all blocks at a step, and what is known besides. */
export interface Milestone {
  readonly step: number;
  readonly choices: readonly Choice[];
  /** Updates of the whole search. */
  readonly totalSteps?: number | undefined;
  readonly temperature?: number | null | undefined;
  /** Of the valid text, when it was last evaluated. */
  readonly perplexity?: number | null | undefined;
  /** The network that would be taken now. */
  readonly pattern?: string | undefined;
  /** True once that is what the search found. */
  readonly final?: boolean | undefined;
}

/** π of a candidate by name: 0 where a block no longer has it. */
export function shareOf({ names, probabilities }: Choice, name: string): number {
  return probabilities[names.indexOf(name)] ?? 0;
}

/** The most probable candidate of a block. */
export function likeliest({ names, probabilities }: Choice): { readonly name: string; readonly share: number } {
  const share = Math.max(...probabilities);
  return { name: names[probabilities.indexOf(share)]!, share };
}

const [WIDTH, MARGIN, TOP, BOTTOM, GAP] = [1000, 24, 96, 88, 4];
const [ROW, WIDEST] = [52, 150];
/** Columns narrower than this hold no figures. */
const FIGURE_WIDTH = 40;

interface Grid {
  readonly left: number;
  readonly column: number;
  readonly bottom: number;
}

function gridOf(blocks: number, rows: readonly string[]): Grid {
  const left = MARGIN + Math.max(textWidth("block", LABEL), ...rows.map((name) => textWidth(name, LABEL))) + 12;
  const column = Math.min(WIDEST, (WIDTH - MARGIN - left) / Math.max(1, blocks));
  return { left, column, bottom: TOP + rows.length * ROW };
}

const LABEL = { size: 16 };

/** `rows` names all candidates that any block ever had. All pictures of a search have one size. */
export function choiceSvg(milestone: Milestone, rows: readonly string[]): string {
  const { choices, step, pattern } = milestone;
  const grid = gridOf(choices.length, rows);
  const title = `π of ${choices.length} blocks at step ${step}`;
  const chosen = choices.map((choice, i) => `block ${i + 1} ${spoken(choice)}`).join(", ");
  const description = `${pattern === undefined ? "" : `Pattern ${pattern}. `}Most probable: ${chosen}.`;
  return svgDocument(WIDTH, grid.bottom + BOTTOM, { title, description }, [
    ...headline(milestone),
    ...rows.map((name, row) => svgText(grid.left - 12, TOP + (row + 0.5) * ROW + 6, name, { ...LABEL, anchor: "end" })),
    ...choices.flatMap((choice, block) => columnOf(choice, block, rows, grid)),
    svgText(grid.left - 12, grid.bottom + 22, "block", { ...LABEL, anchor: "end", soft: true }),
    ...progress(milestone, grid),
  ]);
}

const spoken = (choice: Choice) => `${likeliest(choice).name} ${likeliest(choice).share.toFixed(2)}`;

/** What is found, and where the search stands. */
function headline({ choices, step, totalSteps, temperature, perplexity, pattern, final }: Milestone): string[] {
  const size = 24;
  const end = { anchor: "end", size } as const;
  const found = pattern === undefined ? `π of ${choices.length} blocks` : `${final ? "found" : "now"} ${pattern}`;
  const room = WIDTH - 2 * MARGIN - 250;
  const fitting = Math.min(size, Math.floor((size * room) / textWidth(found, { size, bold: true })));
  const figures = [
    ...(temperature == null ? [] : [`τ ${temperature.toFixed(2)}`]),
    ...(perplexity == null ? [] : [`valid perplexity ${formatNumber(perplexity, 1)}`]),
  ];
  const of = totalSteps === undefined ? "" : ` of ${formatNumber(totalSteps)}`;
  return [
    svgText(MARGIN, 40, found, { size: fitting, bold: true }),
    svgText(WIDTH - MARGIN, 40, `step ${formatNumber(step)}${of}`, { ...end, bold: true }),
    svgText(MARGIN, 70, "π: how probable each candidate is for each block", { ...LABEL, soft: true }),
    svgText(WIDTH - MARGIN, 70, figures.join(" · "), { ...end, ...LABEL, soft: true }),
  ];
}

/** The cells of a block, with its largest share written in, and its number below. */
function columnOf(choice: Choice, block: number, rows: readonly string[], { left, column, bottom }: Grid): string[] {
  const [x, hues, best] = [left + block * column, huesOf(rows), likeliest(choice)];
  const cells = rows.flatMap((name, row) => {
    const y = TOP + row * ROW;
    const box = (more: string) => svgBox(x + GAP / 2, y + GAP / 2, column - GAP, ROW - GAP, more);
    if (!choice.names.includes(name)) return [box('fill="none" stroke-dasharray="3 4" class="lw-line"')];
    const share = shareOf(choice, name);
    const [colour, opacity, isBest] = [hues.get(name)!, 0.08 + 0.92 * share, name === best.name];
    const edge = isBest ? ` stroke="${colour}" stroke-width="2"` : "";
    const cell = box(`fill="${colour}" fill-opacity="${opacity.toFixed(2)}"${edge}`);
    if (!isBest || column < FIGURE_WIDTH) return [cell];
    return [cell, figure(x + column / 2, y + ROW / 2 + 6, share, { colour, opacity })];
  });
  const number = svgText(x + column / 2, bottom + 22, block + 1, { ...LABEL, anchor: "middle", soft: true });
  return [...cells, number];
}

function figure(x: number, y: number, share: number, paint: Paint): string {
  return svgText(x, y, share.toFixed(2), { size: 16, bold: true, anchor: "middle", on: paint });
}

/** How far the search is, and the letters of patterns. */
function progress({ step, totalSteps }: Milestone, { bottom }: Grid): string[] {
  const [y, whole] = [bottom + 40, WIDTH - 2 * MARGIN];
  const bar =
    totalSteps === undefined
      ? []
      : [
          `<rect x="${MARGIN}" y="${y}" width="${whole}" height="4" rx="2" class="lw-soft" fill-opacity="0.25"/>`,
          `<rect x="${MARGIN}" y="${y}" width="${place(whole * Math.min(1, step / totalSteps))}" height="4" rx="2" class="lw-soft"/>`,
        ];
  return [
    ...bar,
    svgText(MARGIN, y + 28, "in patterns: s attention, f feed-forward, i identity", { size: 14, soft: true }),
  ];
}
