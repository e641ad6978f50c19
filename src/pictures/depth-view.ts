/** A sentence coloured by depth, for the terminal, as HTML and as SVG: darker for deeper on light backgrounds, brighter on dark ones. */
import { escaped, svgDocument } from "./svg.ts";

/** A piece of a sentence and how deep it ran. */
export interface ShownToken {
  readonly piece: string;
  readonly depth: number;
}

/** What a view is read on. */
export type Background = "light" | "dark";

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
const STYLE = `${rules("light")}@media(prefers-color-scheme:dark){${rules("dark")}}`;

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
<title>${escaped(title)}</title>
<style>:root{color-scheme:light dark}${STYLE}body{font:18px/2 system-ui,sans-serif;margin:2em auto;max-width:50em}span{padding:.15em .2em;border-radius:.2em}sub{font-size:.6em}</style>
<h1>${escaped(title)}</h1>
<p>The stronger the colour, the deeper: at most ${cap} iterations.</p>
${lines.join("\n")}
</html>
`;
}

const [LETTER, LINE, GAP, WIDTH] = [8.5, 34, 6, 900];

/** Boxes in lines, each as wide as its piece. */
export function svgView(tokens: readonly ShownToken[], cap: number, title: string): string {
  let [x, y] = [10, 40];
  const boxes = tokens.flatMap(({ piece, depth }) => {
    const text = shown(piece);
    const wide = LETTER * [...text].length + 12;
    if (startsWord(piece)) x += GAP;
    if (x + wide > WIDTH - 10) [x, y] = [10, y + LINE];
    const level = levelOf(depth, cap);
    const at = x;
    x += wide;
    return [
      `<rect x="${at.toFixed(1)}" y="${y - 16}" width="${wide.toFixed(1)}" height="24" rx="3" class="d${level}"><title>${depth} of ${cap}</title></rect>`,
      `<text x="${(at + 4).toFixed(1)}" y="${y}" font-family="monospace" font-size="13" class="i${level}">${escaped(text)}<tspan font-size="9" dy="3">${depth}</tspan></text>`,
    ];
  });
  return svgDocument(WIDTH, y + 24, title, [
    `<style>${STYLE}</style>`,
    `<text x="10" y="16" fill="currentColor">${escaped(title)}</text>`,
    ...boxes,
  ]);
}
