/** π of a search as a picture for the terminal: one row a candidate, one column a block, darker means more probable. */

const shades = [" ", "░", "▒", "▓", "█"];

const shadeOf = (share: number) => shades[Math.min(shades.length - 1, Math.floor(share * shades.length))]!;

/** One cell: the shade, with the largest share of a block written in. */
function cell(share: number, largest: boolean): string {
  const shade = shadeOf(share);
  return largest ? `${shade}${share.toFixed(2)}${shade}` : shade.repeat(6);
}

/** `names` are those of the candidates, in order; blocks with fewer candidates leave cells empty. */
export function heatMap(probabilities: readonly (readonly number[])[], names: readonly string[]): string {
  const width = Math.max(...names.map((name) => name.length));
  const rows = names.map((name, row) => {
    const cells = probabilities.map((shares) => {
      const share = shares[row];
      return share === undefined ? " ".repeat(6) : cell(share, share === Math.max(...shares));
    });
    return `${name.padEnd(width)} |${cells.join("|")}|`;
  });
  const blocks = probabilities
    .map((_, i) =>
      String(i + 1)
        .padStart(4)
        .padEnd(6),
    )
    .join(" ");
  return [`${"".padEnd(width)}  ${blocks}`.trimEnd(), ...rows].join("\n");
}
