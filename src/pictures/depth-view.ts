/** A sentence coloured by depth, for the terminal, as HTML and as SVG: darker for deeper on light backgrounds, brighter on dark ones. */
import { type Background, escaped, heading, place, styleOf, svgDocument, svgText, textWidth } from "./svg.ts";

/** A piece of a sentence and how deep it ran. */
export interface ShownToken {
  readonly piece: string;
  readonly depth: number;
}

/** From pale to dark blue and, for dark backgrounds, from dark to bright. */
const SHADES: Readonly<Record<Background, readonly string[]>> = {
  light: ["#f0f4ff", "#d5e0fb", "#b3c7f5", "#8ba8ec", "#5f84de", "#3c62c4", "#24459c", "#142c6e"],
  dark: ["#18202c", "#1c2f4d", "#22446f", "#2a5b96", "#3c7ac4", "#66a3e6", "#a0c9f7", "#def0ff"],
};
/** The first levels have one ink, those from here on the other. */
const TURN: Readonly<Record<Background, number>> = { light: 4, dark: 5 };
const LEVELS = SHADES.light.length;

/** Ink that can be read on a level. */
const inkOf = (level: number, on: Background) => (level < TURN[on] === (on === "light") ? "#141414" : "#ffffff");

const rule = (level: number, on: Background) =>
  `.d${level}{fill:${SHADES[on][level]};background:${SHADES[on][level]}}.i${level}{fill:${inkOf(level, on)};color:${inkOf(level, on)}}`;
const rules = (on: Background) => SHADES[on].map((_, level) => rule(level, on)).join("");
/** Classes d0 … of the levels and i0 … of their ink. */
const STYLE = styleOf({ light: rules("light"), dark: rules("dark") });

const levelOf = (depth: number, cap: number) =>
  Math.max(0, Math.min(LEVELS - 1, Math.round(((depth - 1) / Math.max(1, cap - 1)) * (LEVELS - 1))));

const shown = (piece: string) => piece.replaceAll("▁", " ").trimStart() || "▁";
const startsWord = (piece: string) => piece.startsWith("▁") || /^[[<]/.test(piece);

const channels = (colour: string) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)).join(";");

/** Text with 24-bit colours for a background; the depths stand as small figures behind the pieces. Without colours, only the figures. */
export function terminalView(
  tokens: readonly ShownToken[],
  cap: number,
  colours: boolean,
  on: Background = "dark",
): string {
  const cells = tokens.map(({ piece, depth }) => {
    const [space, level] = [startsWord(piece) ? " " : "", levelOf(depth, cap)];
    const figure = String(depth).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]!);
    if (!colours) return `${space}${shown(piece)}${figure}`;
    const [ground, ink] = [SHADES[on][level]!, inkOf(level, on)].map(channels);
    return `${space}\x1b[48;2;${ground}m\x1b[38;2;${ink}m${shown(piece)}${figure}\x1b[0m`;
  });
  return cells.join("").trimStart();
}

/** Words in lines that are not wider than so many columns; a depth takes as many columns as it has digits. */
export function sentenceLines(tokens: readonly ShownToken[], width: number): ShownToken[][] {
  const words: ShownToken[][] = [];
  for (const token of tokens) {
    if (words.length === 0 || startsWord(token.piece)) words.push([token]);
    else words.at(-1)!.push(token);
  }
  const room = (line: readonly ShownToken[]) =>
    line.reduce((sum, { piece, depth }) => sum + [...piece].length + String(depth).length, 0);
  const lines: ShownToken[][] = [[]];
  for (const word of words) {
    if (room(lines.at(-1)!) + room(word) > width) lines.push(word);
    else lines.at(-1)!.push(...word);
  }
  return lines;
}

/** Sentences as a page of HTML. */
export function htmlView(sentences: readonly (readonly ShownToken[])[], cap: number, title: string): string {
  const span = ({ piece, depth }: ShownToken) => {
    const level = levelOf(depth, cap);
    const space = startsWord(piece) ? " " : "";
    return `${space}<span class="d${level} i${level}" title="${depth} of ${cap}">${escaped(shown(piece))}<sub>${depth}</sub></span>`;
  };
  const lines = sentences.map((tokens) => `<p>${tokens.map(span).join("").trimStart()}</p>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escaped(title)}</title>
${STYLE}
<style>:root{color-scheme:light dark}body{font:18px/2 system-ui,sans-serif;margin:2em auto;max-width:50em}span{padding:.15em .2em;border-radius:.2em}sub{font-size:.6em}</style>
<h1>${escaped(title)}</h1>
<p>${depthsIn(sentences.flat(), cap)
    .map((depth) => `<span class="d${levelOf(depth, cap)} i${levelOf(depth, cap)}">${depth}</span>`)
    .join(" ")} passes: the stronger the colour, the deeper; at most ${cap}.</p>
${lines.join("\n")}
</html>
`;
}

/** The depths to name in a legend: all of them, or some eight where they are many. */
function depthsIn(tokens: readonly ShownToken[], cap: number): number[] {
  const every = Math.ceil(cap / LEVELS);
  const deepest = Math.max(cap, ...tokens.map(({ depth }) => depth));
  return Array.from({ length: deepest }, (_, i) => i + 1).filter((depth) => (deepest - depth) % every === 0);
}

const [WIDTH, MARGIN, LINE, HEIGHT, GAP] = [1000, 24, 44, 32, 7];
const [WORD, FIGURE] = [{ size: 18 }, { size: 12 }];

/** A piece in its colour with its depth; returns how wide it is. */
function boxOf(text: string, depth: number, cap: number, x: number, y: number): { element: string; width: number } {
  const level = levelOf(depth, cap);
  const [word, figure] = [textWidth(text, WORD), textWidth(String(depth), FIGURE)];
  const width = word + figure + 10;
  const box = `<rect x="${place(x)}" y="${place(y)}" width="${place(width)}" height="${HEIGHT}" rx="4" class="d${level}"/>`;
  const piece = `<text x="${place(x + 5)}" y="${place(y + 22)}" font-size="${WORD.size}" class="i${level}">${escaped(text)}</text>`;
  const below = `<text x="${place(x + width - 5)}" y="${place(y + 27)}" text-anchor="end" font-size="${FIGURE.size}" class="i${level}">${depth}</text>`;
  return { element: `<g><title>${depth} of ${cap}</title>${box}${piece}${below}</g>`, width };
}

/** Boxes in lines, each as wide as its piece, and below them what the colours mean. */
export function svgView(tokens: readonly ShownToken[], cap: number, title: string): string {
  const above = heading(title, MARGIN, WIDTH - 2 * MARGIN);
  let [x, y] = [MARGIN, above.height + 10];
  const boxes = tokens.map(({ piece, depth }) => {
    if (startsWord(piece) && x > MARGIN) x += GAP;
    let box = boxOf(shown(piece), depth, cap, x, y);
    if (x > MARGIN && x + box.width > WIDTH - MARGIN) {
      [x, y] = [MARGIN, y + LINE];
      box = boxOf(shown(piece), depth, cap, x, y);
    }
    x += box.width + 1;
    return box.element;
  });
  const description = tokens.map(({ piece, depth }) => `${shown(piece)} ${depth}`).join(", ");
  const foot = y + LINE + 14;
  return svgDocument(WIDTH, foot + 44, { title, description: `Passes of each token: ${description}.` }, [
    STYLE,
    ...above.elements,
    ...boxes,
    ...key(tokens, cap, foot),
  ]);
}

/** The colours of the depths, in a row. */
function key(tokens: readonly ShownToken[], cap: number, y: number): string[] {
  const depths = depthsIn(tokens, cap);
  const swatches = depths.map((depth, i) => {
    const [x, level] = [MARGIN + i * 30, levelOf(depth, cap)];
    const number = `<text x="${x + 13}" y="${y + 18}" text-anchor="middle" font-size="14" class="i${level}">${depth}</text>`;
    return `<rect x="${x}" y="${y}" width="26" height="26" rx="4" class="d${level}"/>${number}`;
  });
  const said = `passes through the layer, at most ${cap}`;
  return [...swatches, svgText(MARGIN + depths.length * 30 + 8, y + 18, said, { size: 14, soft: true })];
}
