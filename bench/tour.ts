/** The tour's figures over seeds: `npx tsx bench/tour.ts --out DIR --seeds 5`. Goes on if stopped; DIR lies outside the repository. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ortEngine, type TourResult, tour } from "../src/index.ts";

const { values } = parseArgs({
  options: {
    out: { type: "string" },
    seeds: { type: "string", default: "5" },
    threads: { type: "string", default: "2" },
  },
});
if (values.out === undefined) throw new Error("bench/tour: name a folder outside the repository with --out");

const DECIDED = 0.9;
const percent = (value: number) => `${value >= 0 ? "+" : ""}${(100 * value).toFixed(1)} %`;

function rowOf({ seed, elapsedMs, share, search, adapt }: TourResult, cpuSeconds: number): string {
  const { shared, unshared } = share!;
  const { found, baseline, certainty, pattern } = search!;
  const depth = (name: string) => adapt!.kinds.find((kind) => kind.name === name)!.mean.toFixed(2);
  const kinds = ["pieces inside words", "other words", "common words", "punctuation"].map(depth);
  const cells = [
    seed,
    `${((100 * shared.parameters) / unshared.parameters).toFixed(0)} %`,
    `${shared.loss.toFixed(3)} / ${unshared.loss.toFixed(3)} (${percent(shared.loss / unshared.loss - 1)})`,
    `\`${pattern}\``,
    `${certainty.filter((each) => each >= DECIDED).length} of ${certainty.length}, ${Math.min(...certainty).toFixed(2)}`,
    `${((100 * found.parameters) / baseline.parameters).toFixed(0)} %`,
    `${found.perplexity.toFixed(1)} / ${baseline.perplexity.toFixed(1)} (${percent(found.perplexity / baseline.perplexity - 1)})`,
    ...kinds,
    adapt!.meanDepth.toFixed(2),
    `${(elapsedMs / 1000).toFixed(0)} (${cpuSeconds.toFixed(0)})`,
  ];
  return `| ${cells.join(" | ")} |`;
}

const head = [
  ...["seed", "parameters, shared ÷ unshared", "valid loss", "pattern found", "blocks decided, least π"],
  ...[
    "parameters, found ÷ baseline",
    "perplexity",
    "inside words",
    "other words",
    "common words",
    "punctuation",
    "mean depth",
  ],
  "seconds (CPU, this session)",
];
console.log(`| ${head.join(" | ")} |\n|${"---|".repeat(head.length)}`);
const engine = await ortEngine({ threads: Number(values.threads) });
for (let seed = 1; seed <= Number(values.seeds); seed++) {
  const before = process.cpuUsage();
  const result = await tour({ out: join(values.out, `seed-${seed}`), seed, engine }).result;
  const { user, system } = process.cpuUsage(before);
  console.log(rowOf(result, (user + system) / 1e6));
}
