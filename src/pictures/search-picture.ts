/** A search as one picture: π of every block over the updates in three hues, with temperature, perplexity and the pattern found. */
import { formatNumber } from "../base/table.ts";
import { type Choice, likeliest, shareOf } from "./choice-picture.ts";
import { huesOf } from "./hues.ts";
import { escaped, heading, legend, place, svgDocument, svgText, textWidth } from "./svg.ts";

/** π at a step, and what went with it. */
export interface SearchMoment {
  readonly step: number;
  readonly choices: readonly Choice[];
  /** Of the valid text, when it was last evaluated. */
  readonly perplexity: number | null;
  readonly temperature: number | null;
  /** The network that would be taken then. */
  readonly pattern?: string | undefined;
}

const [WIDTH, MARGIN, BAND, GAP, AXIS] = [1000, 24, 54, 12, 92];
const LABEL = { size: 14 };

/** Where things stand in the picture. */
interface Frame {
  readonly left: number;
  readonly right: number;
  x(step: number): number;
  top(block: number): number;
}

/** One band a block: the hues' heights are π. `names` are the candidates in the order in which they are stacked. */
export function searchSvg(moments: readonly SearchMoment[], names: readonly string[], pattern: string): string {
  const choices = moments.at(-1)?.choices ?? [];
  const title = `π of ${choices.length} blocks over the search, which found ${pattern}`;
  const above = heading(title, MARGIN, WIDTH - 2 * MARGIN);
  const hues = huesOf(names);
  const key = legend(
    names.map((name) => ({ name, colour: hues.get(name)! })),
    MARGIN,
    above.height + 4,
    WIDTH - 2 * MARGIN,
  );
  const frame = frameOf(moments, names, above.height + key.height + 12);
  const bottom = frame.top(choices.length);
  const said = choices.map((choice, i) => `block ${i + 1} ${chosen(choice)}`).join(", ");
  return svgDocument(WIDTH, bottom + AXIS, { title, description: `At the end: ${said}.` }, [
    ...above.elements,
    ...key.elements,
    ...choices.flatMap((_, block) => band(moments, names, block, frame)),
    ...choices.map((choice, block) =>
      svgText(frame.right + 12, frame.top(block) + BAND / 2 + 5, chosen(choice), { ...LABEL, bold: true }),
    ),
    ...axis(moments, frame, bottom + 18),
  ]);
}

function frameOf(moments: readonly SearchMoment[], names: readonly string[], top: number): Frame {
  const left = MARGIN + textWidth("perplexity", LABEL) + 8;
  const widest = Math.max(0, ...names.map((name) => textWidth(`${name} 0.00`, { ...LABEL, bold: true })));
  const right = WIDTH - MARGIN - 12 - widest;
  const last = Math.max(1, moments.at(-1)?.step ?? 1);
  return {
    left,
    right,
    x: (step) => left + (step / last) * (right - left),
    top: (block) => top + block * (BAND + GAP),
  };
}

/** What a block became. */
const chosen = (choice: Choice) => `${likeliest(choice).name} ${likeliest(choice).share.toFixed(2)}`;

/** The shares stacked, the first candidate at the bottom. Before the first look they were equal. */
function band(
  moments: readonly SearchMoment[],
  names: readonly string[],
  block: number,
  { left, x, top }: Frame,
): string[] {
  const equal = { names, probabilities: names.map(() => 1 / names.length) };
  const points = [
    { step: 0, choice: equal },
    ...moments.map(({ step, choices }) => ({ step, choice: choices[block]! })),
  ];
  const hues = huesOf(names);
  const level = (choice: Choice, upTo: number) =>
    top(block) + BAND * (1 - names.slice(0, upTo).reduce((sum, name) => sum + shareOf(choice, name), 0));
  const areas = names.map((name, i) => {
    const upper = points.map(({ step, choice }) => `${place(x(step))},${place(level(choice, i + 1))}`);
    const lower = points.map(({ step, choice }) => `${place(x(step))},${place(level(choice, i))}`).reverse();
    return `<polygon points="${[...upper, ...lower].join(" ")}" fill="${hues.get(name)}"><title>block ${block + 1}: ${escaped(name)}</title></polygon>`;
  });
  return [svgText(left - 12, top(block) + BAND / 2 + 5, `block ${block + 1}`, { ...LABEL, anchor: "end" }), ...areas];
}

const ROWS = ["update", "τ", "perplexity"] as const;
const COLUMNS = 7;

/** Below the bands, at a few steps: the update, the temperature, the perplexity. */
function axis(moments: readonly SearchMoment[], { left, x }: Frame, top: number): string[] {
  const last = moments.at(-1)?.step ?? 0;
  const shown = Array.from({ length: COLUMNS }, (_, i) => (last * (i + 1)) / COLUMNS).map((wanted) =>
    moments.reduce((best, each) => (Math.abs(each.step - wanted) < Math.abs(best.step - wanted) ? each : best)),
  );
  const cells = ({ step, temperature, perplexity }: SearchMoment) => [
    formatNumber(step),
    temperature === null ? "–" : formatNumber(temperature, 2),
    perplexity === null ? "–" : formatNumber(perplexity, 1),
  ];
  const middle = { ...LABEL, anchor: "middle" } as const;
  return [
    ...ROWS.map((name, row) => svgText(left - 12, top + 22 * row, name, { ...LABEL, anchor: "end", soft: true })),
    ...[...new Set(moments.length === 0 ? [] : shown)].flatMap((moment) =>
      cells(moment).map((text, row) => svgText(x(moment.step), top + 22 * row, text, middle)),
    ),
  ];
}
