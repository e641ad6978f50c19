/** Guesses the loss of networks that were not measured from those that were: what is likely to be good is measured next. */
import type { Path } from "../../../train/path-program.ts";
import { type Choices, patternOfPath, type Ranked } from "./paths.ts";

/** How strongly weights are drawn to 0, in networks. */
const SHRINKAGE = 1;
const SWEEPS = 40;

/** A guess: the mean loss, plus a weight for what each block takes and one for how often each candidate is taken (ridge regression). */
export function guessFrom(choices: Choices, measured: readonly Ranked[]): (path: Path) => number {
  const mean = measured.reduce((sum, { loss }) => sum + loss, 0) / measured.length;
  const rest = measured.map(({ loss }) => loss - mean);
  const rowsOf = new Map<string, number[]>();
  for (const [row, { path }] of measured.entries()) {
    for (const term of termsOf(choices, path)) rowsOf.set(term, [...(rowsOf.get(term) ?? []), row]);
  }
  const weights = new Map([...rowsOf.keys()].map((term) => [term, 0]));
  // One weight after another is set to its best while the others rest (Gauss-Seidel).
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const [term, rows] of rowsOf) {
      const before = weights.get(term)!;
      const wanted = rows.reduce((sum, row) => sum + rest[row]! + before, 0) / (rows.length + SHRINKAGE);
      for (const row of rows) rest[row]! -= wanted - before;
      weights.set(term, wanted);
    }
  }
  return (path) => termsOf(choices, path).reduce((sum, term) => sum + (weights.get(term) ?? 0), mean);
}

function termsOf(choices: Choices, path: Path): string[] {
  const names = path.map((place, i) => patternOfPath([choices[i]!], [place]));
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...names.map((name, i) => `${name} at ${i}`), ...[...counts].map(([name, count]) => `${count} of ${name}`)];
}
