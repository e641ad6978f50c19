/** What all SVG pictures are drawn with: themes, text that is measured, headings, legends, and the document around them. */

/** Which point of a text stands at its place. */
export type Anchor = "start" | "middle" | "end";

/** What a picture is read on. */
export type Background = "light" | "dark";

/** How a text is set; sizes are in pixels. */
export interface TextStyle {
  readonly anchor?: Anchor;
  readonly size?: number;
  readonly bold?: boolean;
  /** A colour that does not change with the background. Default: the picture's ink. */
  readonly colour?: string;
  /** Paler than the rest. */
  readonly soft?: boolean;
  /** What it stands on, where that is not the paper: the ink is then the one that can be read there. */
  readonly on?: Paint;
  /** With an edge in the colour of the paper, over lines. */
  readonly halo?: boolean;
}

/** A colour over the paper. */
export interface Paint {
  readonly colour: string;
  readonly opacity: number;
}

const SIZE = 12;
const FONT = "Inter, system-ui, sans-serif";

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text that may stand in an element or an attribute. */
export const escaped = (content: string): string => content.replace(/[&<>"]/g, (letter) => escapes[letter]!);

/** A coordinate with a decimal where it needs one. */
export const place = (value: number): string => String(Math.round(value * 10) / 10);

/** Text at a place. */
export function svgText(x: number, y: number, content: string | number, style: TextStyle = {}): string {
  const { anchor = "start", size, bold, colour = "currentColor", soft, on, halo } = style;
  const font = `${size === undefined ? "" : ` font-size="${size}"`}${bold ? ' font-weight="600"' : ""}`;
  const named = [...(on ? [inkOn(on)] : soft ? ["lw-soft"] : []), ...(halo ? ["lw-halo"] : [])];
  const ink = `${on || soft ? "" : `fill="${colour}" `}${named.length > 0 ? `class="${named.join(" ")}"` : ""}`.trim();
  return `<text x="${place(x)}" y="${place(y)}" text-anchor="${anchor}"${font} ${ink}>${escaped(String(content))}</text>`;
}

/** A straight line. */
export function svgLine(x1: number, y1: number, x2: number, y2: number, colour = "currentColor"): string {
  return `<line x1="${place(x1)}" y1="${place(y1)}" x2="${place(x2)}" y2="${place(y2)}" stroke="${colour}"/>`;
}

/** A box with round corners; `more` holds further attributes. */
export function svgBox(x: number, y: number, width: number, height: number, more: string): string {
  return `<rect x="${place(x)}" y="${place(y)}" width="${place(width)}" height="${place(height)}" rx="4" ${more}/>`;
}

/** Hundredths of the font's size that each letter from the space to the tilde takes in Inter. */
const WIDTHS = [
  28, 29, 47, 63, 64, 98, 64, 30, 36, 36, 50, 66, 29, 46, 29, 36, 63, 41, 61, 62, 65, 59, 62, 57, 62, 62, 29, 30, 66,
  66, 66, 51, 97, 69, 65, 73, 72, 60, 59, 75, 74, 27, 57, 67, 57, 90, 75, 76, 64, 76, 64, 64, 65, 74, 69, 99, 68, 68,
  63, 36, 36, 36, 47, 46, 32, 56, 61, 57, 61, 58, 37, 61, 59, 24, 24, 55, 24, 88, 59, 60, 61, 61, 38, 53, 33, 59, 56,
  82, 55, 56, 55, 43, 33, 43, 66,
];
const [OTHER, WIDE, FIRST_WIDE] = [66, 110, 0x2e80];
/** Other fonts that a browser may take are up to this much wider. */
const SPARE = 1.1;

const letterWidth = (code: number) => WIDTHS[code - 32] ?? (code >= FIRST_WIDE ? WIDE : OTHER);

/** The room that a text needs, in pixels, with some to spare. */
export function textWidth(content: string, { size = SIZE, bold = false }: TextStyle = {}): number {
  const hundredths = [...content].reduce((sum, letter) => sum + letterWidth(letter.codePointAt(0)!), 0);
  return (hundredths / 100) * size * SPARE * (bold ? 1.03 : 1);
}

/** A text in lines that are no wider than `width`; a word that is wider has a line of its own. */
export function wrapped(content: string, width: number, style: TextStyle = {}): string[] {
  const lines: string[] = [];
  for (const word of content.split(/\s+/).filter(Boolean)) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && textWidth(longer, style) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Elements, and the height that they take. */
export interface Part {
  readonly elements: readonly string[];
  readonly height: number;
}

/** A title in as many lines as it needs. */
export function heading(title: string, x: number, width: number, size = 18): Part {
  const lines = wrapped(title, width, { size, bold: true });
  const step = Math.round(size * 1.35);
  const elements = lines.map((line, i) => svgText(x, size + 10 + i * step, line, { size, bold: true }));
  return { elements, height: lines.length * step + 14 };
}

/** A name and the colour that stands for it. */
export interface LegendEntry {
  readonly name: string;
  readonly colour: string;
}

const [SWATCH, LEGEND_LINE] = [12, 22];

/** Names beside their colours from left to right, in as many lines as they need. */
export function legend(entries: readonly LegendEntry[], left: number, top: number, width: number): Part {
  let [x, y] = [left, top];
  const elements = entries.flatMap(({ name, colour }) => {
    const wide = SWATCH + 6 + textWidth(name) + 16;
    if (x > left && x + wide > left + width) [x, y] = [left, y + LEGEND_LINE];
    const at = x;
    x += wide;
    return [svgBox(at, y, SWATCH, SWATCH, `fill="${colour}"`), svgText(at + SWATCH + 6, y + SWATCH - 1.5, name)];
  });
  return { elements, height: entries.length === 0 ? 0 : y - top + LEGEND_LINE };
}

/** Colours that can be told from white and from black, and by brightness for those who see few hues. */
export const COLOURS = ["#2f81f7", "#d1661f", "#2a9d4a", "#a371f7", "#d63d6b", "#8b949e"] as const;

/** The colour behind a picture. */
export const PAPER: Readonly<Record<Background, string>> = { light: "#ffffff", dark: "#0d1117" };
const INKS = { k: "#1f2328", w: "#ffffff" } as const;

const channelsOf = (colour: string) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);

/** How bright the eye sees a colour, from 0 to 1, as the guidelines for accessible pages have it. */
function luminance(channels: readonly number[]): number {
  const [r, g, b] = channels.map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

/** The ink with more contrast on a paint over the paper: k, black, or w, white. */
function betterInk({ colour, opacity }: Paint, background: Background): keyof typeof INKS {
  const paper = channelsOf(PAPER[background]);
  const mixed = luminance(channelsOf(colour).map((each, i) => opacity * each + (1 - opacity) * paper[i]!));
  return 1.05 / (mixed + 0.05) > (mixed + 0.05) / (luminance(channelsOf(INKS.k)) + 0.05) ? "w" : "k";
}

/** The class of a text on a paint, by what can be read on light and on dark paper. */
const inkOn = (paint: Paint) => `lw-${betterInk(paint, "light")}${betterInk(paint, "dark")}`;

const onPaint = (background: Background) =>
  ["kk", "kw", "wk", "ww"].map(
    (name) => `.lw-${name}{fill:${INKS[name[background === "light" ? 0 : 1] as "k" | "w"]}}`,
  );

/** Ink and paper by background: a picture brings its own, since the page around it may differ from what the reader prefers. */
const rules: Readonly<Record<Background, string>> = {
  light: `svg{color:#1f2328}.lw-paper{fill:${PAPER.light}}.lw-halo{stroke:${PAPER.light};stroke-width:4;paint-order:stroke}.lw-soft{fill:#59636e}.lw-line{stroke:#d1d9e0}${onPaint("light").join("")}`,
  dark: `svg{color:#e6edf3}.lw-paper{fill:${PAPER.dark}}.lw-halo{stroke:${PAPER.dark};stroke-width:4;paint-order:stroke}.lw-soft{fill:#9198a1}.lw-line{stroke:#3d444d}${onPaint("dark").join("")}`,
};

/** Rules for light backgrounds, and those that hold where the reader prefers dark ones. */
export const styleOf = (byBackground: Readonly<Record<Background, string>>): string =>
  `<style>${byBackground.light}@media(prefers-color-scheme:dark){${byBackground.dark}}</style>`;

const DARK_RULES = /@media\(prefers-color-scheme:dark\)\{((?:[^{}]*\{[^{}]*\})*)\}/g;

/** The same picture for one background only: for what cannot ask the reader, such as pixels. */
export const onBackground = (svg: string, background: Background): string =>
  svg.replace(DARK_RULES, background === "dark" ? "$1" : "");

/** What a picture says to those who cannot see it. */
export interface Described {
  readonly title: string;
  /** What can be read off it. */
  readonly description?: string;
}

/** A whole picture. */
export function svgDocument(width: number, height: number, said: Described, elements: readonly string[]): string {
  const { title, description } = said;
  const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  const font = `font-family="${FONT}" font-size="${SIZE}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${escaped(title)}" ${font}>`,
    `<title>${escaped(title)}</title>`,
    ...(description ? [`<desc>${escaped(description)}</desc>`] : []),
    styleOf(rules),
    `<rect width="${width}" height="${height}" rx="6" class="lw-paper"/>`,
    ...elements,
    "</svg>\n",
  ].join("\n");
}
