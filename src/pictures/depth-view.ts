/** A sentence coloured by depth, darker for deeper: for the terminal, as HTML and as SVG. */
import { escaped, svgDocument } from "./svg.ts";

/** A piece of a sentence and how deep it ran. */
export interface ShownToken {
  readonly piece: string;
  readonly depth: number;
}

/** From pale to dark blue; the last ones ask for light ink. */
const SHADES = ["#f0f4ff", "#d5e0fb", "#b3c7f5", "#8ba8ec", "#5f84de", "#3c62c4", "#24459c", "#142c6e"];
const DARK_FROM = 4;

const levelOf = (depth: number, cap: number) =>
  Math.max(0, Math.min(SHADES.length - 1, Math.round(((depth - 1) / Math.max(1, cap - 1)) * (SHADES.length - 1))));

const shown = (piece: string) => piece.replaceAll("▁", " ").trimStart() || "▁";
const startsWord = (piece: string) => piece.startsWith("▁") || /^[[<]/.test(piece);

const channels = (colour: string) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)).join(";");

/** Text with 24-bit colours; the depths stand as small figures behind the pieces. Without colours, only the figures. */
export function terminalView(tokens: readonly ShownToken[], cap: number, colours: boolean): string {
  const cells = tokens.map(({ piece, depth }) => {
    const [space, level] = [startsWord(piece) ? " " : "", levelOf(depth, cap)];
    const figure = String(depth).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]!);
    if (!colours) return `${space}${shown(piece)}${figure}`;
    const ink = level >= DARK_FROM ? "255;255;255" : "20;20;20";
    return `${space}\x1b[48;2;${channels(SHADES[level]!)}m\x1b[38;2;${ink}m${shown(piece)}${figure}\x1b[0m`;
  });
  return cells.join("").trimStart();
}

/** Sentences as a page of HTML. */
export function htmlView(sentences: readonly (readonly ShownToken[])[], cap: number, title: string): string {
  const span = ({ piece, depth }: ShownToken) => {
    const level = levelOf(depth, cap);
    const ink = level >= DARK_FROM ? "#fff" : "#141414";
    const space = startsWord(piece) ? " " : "";
    return `${space}<span style="background:${SHADES[level]};color:${ink}" title="${depth} of ${cap}">${escaped(shown(piece))}<sub>${depth}</sub></span>`;
  };
  const lines = sentences.map((tokens) => `<p>${tokens.map(span).join("").trimStart()}</p>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escaped(title)}</title>
<style>body{font:18px/2 system-ui,sans-serif;margin:2em auto;max-width:50em}span{padding:.15em .2em;border-radius:.2em}sub{font-size:.6em}</style>
<h1>${escaped(title)}</h1>
<p>Darker means deeper, at most ${cap} iterations.</p>
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
    const ink = level >= DARK_FROM ? "#fff" : "#141414";
    const at = x;
    x += wide;
    return [
      `<rect x="${at.toFixed(1)}" y="${y - 16}" width="${wide.toFixed(1)}" height="24" rx="3" fill="${SHADES[level]}"><title>${depth} of ${cap}</title></rect>`,
      `<text x="${(at + 4).toFixed(1)}" y="${y}" font-family="monospace" font-size="13" fill="${ink}">${escaped(text)}<tspan font-size="9" dy="3">${depth}</tspan></text>`,
    ];
  });
  return svgDocument(WIDTH, y + 24, title, [
    `<text x="10" y="16" fill="currentColor">${escaped(title)}</text>`,
    ...boxes,
  ]);
}
