/** A search as one picture: π of every block over the updates in three hues, with temperature, perplexity and the pattern found. */
import { formatNumber } from "../base/table.ts";
import { type Choice, shareOf } from "./choice-picture.ts";
import { place, svgDocument, svgText } from "./svg.ts";

/** π at a step, and what went with it. */
export interface SearchMoment {
  readonly step: number;
  readonly choices: readonly Choice[];
  readonly perplexity: number;
  readonly temperature: number | null;
}

const WIDTH = 1000;
const [LEFT, RIGHT, TOP, BAND, GAP, AXIS] = [84, 150, 84, 54, 12, 92];

/** Hues that differ in brightness too, for those who see few colours. */
export const KIND_HUES = ["#3b76c4", "#e08a1e", "#9aa5ae", "#7a4fb5", "#2a9d6f", "#c23b5a"] as const;

/** One band a block: the hues' heights are π. `names` are the candidates in the order of their hues. */
export function searchSvg(moments: readonly SearchMoment[], names: readonly string[], pattern: string): string {
  const blocks = moments.at(-1)?.choices.length ?? 0;
  const height = TOP + blocks * (BAND + GAP) + AXIS;
  const title = `π of ${blocks} blocks over the search, which found ${pattern}`;
  const last = Math.max(1, moments.at(-1)?.step ?? 1);
  const x = (step: number) => LEFT + (step / last) * (WIDTH - LEFT - RIGHT);
  const top = (block: number) => TOP + block * (BAND + GAP);
  const bands = Array.from({ length: blocks }, (_, block) => band(moments, names, block, top(block), x));
  const ends = Array.from({ length: blocks }, (_, block) => chosen(moments.at(-1)!.choices[block]!, top(block)));
  return svgDocument(WIDTH, height, title, [
    large(svgText(16, 28, title, "start")),
    ...legend(names),
    ...bands.flat(),
    ...ends,
    ...axis(moments, x, height - AXIS + 18),
  ]);
}

const large = (text: string) => text.replace("<text ", '<text font-size="18" font-weight="600" ');

function legend(names: readonly string[]): string[] {
  return names.flatMap((name, i) => {
    const x = LEFT + i * 170;
    return [
      `<rect x="${x}" y="46" width="16" height="16" rx="3" fill="${KIND_HUES[i % KIND_HUES.length]}"/>`,
      svgText(x + 24, 59, name, "start"),
    ];
  });
}

/** The shares stacked, the first candidate at the bottom. Before the first look they were equal. */
function band(
  moments: readonly SearchMoment[],
  names: readonly string[],
  block: number,
  top: number,
  x: (step: number) => number,
): string[] {
  const equal = { names, probabilities: names.map(() => 1 / names.length) };
  const points = [
    { step: 0, choice: equal },
    ...moments.map(({ step, choices }) => ({ step, choice: choices[block]! })),
  ];
  const level = (choice: Choice, upTo: number) =>
    top + BAND * (1 - names.slice(0, upTo).reduce((sum, name) => sum + shareOf(choice, name), 0));
  const areas = names.map((name, i) => {
    const upper = points.map(({ step, choice }) => `${place(x(step))},${place(level(choice, i + 1))}`);
    const lower = points.map(({ step, choice }) => `${place(x(step))},${place(level(choice, i))}`).reverse();
    return `<polygon points="${[...upper, ...lower].join(" ")}" fill="${KIND_HUES[i % KIND_HUES.length]}"><title>block ${block + 1}: ${name}</title></polygon>`;
  });
  return [svgText(LEFT - 12, top + BAND / 2 + 4, `block ${block + 1}`, "end"), ...areas];
}

/** What a block became, beside its band. */
function chosen({ names, probabilities }: Choice, top: number): string {
  const share = Math.max(...probabilities);
  const name = names[probabilities.indexOf(share)]!;
  return svgText(WIDTH - RIGHT + 12, top + BAND / 2 + 4, `${name} ${share.toFixed(2)}`, "start");
}

const ROWS = ["update", "τ", "perplexity"] as const;
const COLUMNS = 7;

/** Below the bands, at a few steps: the update, the temperature, the perplexity. */
function axis(moments: readonly SearchMoment[], x: (step: number) => number, top: number): string[] {
  const every = Math.max(1, Math.ceil(moments.length / COLUMNS));
  const shown = moments.filter((_, i) => (moments.length - 1 - i) % every === 0);
  const cells = ({ step, temperature, perplexity }: SearchMoment) => [
    formatNumber(step),
    temperature === null ? "–" : formatNumber(temperature, 2),
    formatNumber(perplexity, 1),
  ];
  return [
    ...ROWS.map((name, row) => svgText(LEFT - 12, top + 20 * row, name, "end")),
    ...shown.flatMap((moment) => cells(moment).map((text, row) => svgText(x(moment.step), top + 20 * row, text))),
  ];
}
