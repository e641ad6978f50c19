/** π of a search as a picture for the terminal: one row a candidate, one column a block, the stronger the more probable. */
import { huesOf } from "./hues.ts";

const shades = [" ", "░", "▒", "▓", "█"];

const shadeOf = (share: number) => shades[Math.min(shades.length - 1, Math.floor(share * shades.length))]!;

/** One cell: the shade, with the largest share of a block written in. */
function cell(share: number, largest: boolean): string {
  const shade = shadeOf(share);
  return largest ? `${shade}${share.toFixed(2)}${shade}` : shade.repeat(6);
}

const BLACK = 24;
/** Green, of which the eye sees most, above this asks for dark ink. */
const BRIGHT = 120;

/** The same in a hue, out of the dark as the share grows. */
function hued(share: number, largest: boolean, hue: string): string {
  const channels = [1, 3, 5].map((at) => Number.parseInt(hue.slice(at, at + 2), 16));
  const ground = channels.map((channel) => Math.round(BLACK + share * (channel - BLACK)));
  const ink = ground[1]! > BRIGHT ? "0;0;0" : "255;255;255";
  return `\x1b[48;2;${ground.join(";")}m\x1b[38;2;${ink}m${largest ? ` ${share.toFixed(2)} ` : " ".repeat(6)}\x1b[0m`;
}

const CELL = 7;

/**
 * `names` are those of the candidates, in order; blocks with fewer candidates leave cells empty. Blocks that do not fit into `columns`
 * stand below the others.
 */
export function heatMap(
  probabilities: readonly (readonly number[])[],
  names: readonly string[],
  colours = false,
  columns = Number.POSITIVE_INFINITY,
): string {
  const width = Math.max(...names.map((name) => name.length));
  const fitting = Math.max(1, Math.min(probabilities.length, Math.floor((columns - width - 3) / CELL)));
  const bands = Array.from({ length: Math.max(1, Math.ceil(probabilities.length / fitting)) }, (_, i) => i * fitting);
  const band = (first: number) => bandOf(probabilities.slice(first, first + fitting), names, { colours, width, first });
  return bands.map(band).join("\n");
}

function bandOf(
  probabilities: readonly (readonly number[])[],
  names: readonly string[],
  { colours, width, first }: { colours: boolean; width: number; first: number },
): string {
  const hues = huesOf(names);
  const rows = names.map((name, row) => {
    const cells = probabilities.map((shares) => {
      const share = shares[row];
      if (share === undefined) return " ".repeat(6);
      const largest = share === Math.max(...shares);
      return colours ? hued(share, largest, hues.get(name)!) : cell(share, largest);
    });
    return `${name.padEnd(width)} |${cells.join("|")}|`;
  });
  const blocks = probabilities
    .map((_, i) =>
      String(first + i + 1)
        .padStart(4)
        .padEnd(6),
    )
    .join(" ");
  return [`${"".padEnd(width)}  ${blocks}`.trimEnd(), ...rows].join("\n");
}
