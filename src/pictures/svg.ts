/** The few elements that the SVG pictures are made of. */

/** Which point of a text stands at its place. */
export type Anchor = "start" | "middle" | "end";

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text that may stand in an element or an attribute. */
export const escaped = (content: string): string => content.replace(/[&<>"]/g, (letter) => escapes[letter]!);

/** A coordinate with a decimal where it needs one. */
export const place = (value: number): string => String(Math.round(value * 10) / 10);

/** Text at a place. */
export function svgText(
  x: number,
  y: number,
  content: string | number,
  anchor: Anchor = "middle",
  colour = "currentColor",
) {
  return `<text x="${place(x)}" y="${place(y)}" text-anchor="${anchor}" fill="${colour}">${escaped(String(content))}</text>`;
}

/** A straight line. */
export function svgLine(x1: number, y1: number, x2: number, y2: number, colour = "currentColor"): string {
  return `<line x1="${place(x1)}" y1="${place(y1)}" x2="${place(x2)}" y2="${place(y2)}" stroke="${colour}"/>`;
}

/** Ink for light backgrounds, and for dark ones where the reader prefers those: a picture in a page inherits no colour. */
const INK = "<style>svg{color:#1f2328}@media(prefers-color-scheme:dark){svg{color:#d1d7e0}}</style>";

/** A whole picture; `label` says to those who cannot see it what it shows. */
export function svgDocument(width: number, height: number, label: string, elements: readonly string[]): string {
  const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  const font = 'font-family="system-ui, sans-serif" font-size="12"';
  const open = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${escaped(label)}" ${font}>`;
  return [open, INK, ...elements, "</svg>\n"].join("\n");
}
