/** Draws valid perplexity over minutes of searches on WikiText-2, beside what the TensorFlow original reports of its own. */
import { reject } from "../src/base/errors.ts";
import { writeAtomically } from "../src/files/atomic.ts";
import { type Curve, curvesSvg } from "../src/pictures/trade-off-picture.ts";
import { RunFolder } from "../src/runs/folder.ts";
import { flagsOf, placeFor } from "./flags.ts";

// --out FILE, or --write for the picture of docs/; otherwise the picture is printed.
const { values, rest: positionals } = flagsOf({ out: undefined, write: false }, true);

/** Minutes and perplexities (mean of exp(batch loss)) from the original's README; it ran on a Colab GPU. */
const original: Curve = {
  name: "original, on a GPU",
  points: [
    { minutes: 1 + 58 / 60, perplexity: 114.4 },
    { minutes: 5 + 37 / 60, perplexity: 62.33 },
    { minutes: 9 + 28 / 60, perplexity: 51.88 },
    { minutes: 18 + 40 / 60, perplexity: 42.61 },
    { minutes: 31 + 51 / 60, perplexity: 39.57 },
    { minutes: 37 + 14 / 60, perplexity: 39.41 },
  ],
};

/** The same figure at each evaluation of a run. */
async function curveOf(argument: string): Promise<Curve> {
  const [path = "", name = path] = argument.split("=");
  const events = await (await RunFolder.read(path)).events();
  const start = events[0]?.timeMs;
  if (start === undefined) reject({ who: path, needed: "a run of layerwise search with events", got: "none" }, 2);
  const points = events
    .filter((event) => event.type === "evaluation")
    .map((event) => ({
      minutes: (event.timeMs - start) / 60_000,
      perplexity: event.meanBatchPerplexity ?? Number.NaN,
    }));
  return { name, points };
}

if (positionals.length === 0) {
  reject(
    { who: "curve", needed: "runs of layerwise search", got: "none", remedy: "npx tsx bench/curve.ts RUN=name" },
    2,
  );
}
const curves = [];
for (const argument of positionals) curves.push(await curveOf(argument));
const svg = curvesSvg([...curves, original], { name: "to beat", perplexity: 39.41 });
const place = placeFor(values.out, values.write, "docs/headline.svg");
if (place === undefined) process.stdout.write(svg);
else await writeAtomically(place, svg);
