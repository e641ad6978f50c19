/** Do masked tokens run deeper? Pre-trains the laptop model with several seeds, and prints the table of depths, mean ± deviation over seeds. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "../src/base/table.ts";
import type { DepthRow } from "../src/depth/tally.ts";

const { values, positionals } = parseArgs({
  options: {
    seeds: { type: "string", default: "3" },
    /** Updates of each seed. */
    steps: { type: "string", default: "1200" },
    out: { type: "string", default: "runs/pretraining" },
    data: { type: "string" },
    corpus: { type: "string", default: "wikitext-2" },
    json: { type: "boolean", default: false },
  },
  allowPositionals: true,
});

const where = values.data === undefined ? [] : ["--data", values.data];

function layerwise(args: readonly string[]): string {
  const command = ["--import", "tsx", "src/cli/main.ts", ...args];
  const { status, stdout } = spawnSync(process.execPath, command, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 2 ** 30,
  });
  if (status !== 0) process.exit(status ?? 1);
  return stdout;
}

/** Trains a seed, or goes on with it, and gives its table. What stands after `--` goes to pretrain. */
function depthsOf(seed: number): DepthRow[] {
  const run = join(values.out, `seed-${seed}`);
  const length = [
    "--steps",
    values.steps,
    "--minutes",
    "none",
    "--long-length",
    "none",
    "--corpus",
    values.corpus,
    ...where,
  ];
  if (existsSync(join(run, "config.yaml"))) layerwise(["resume", run]);
  else layerwise(["pretrain", "--preset", "laptop", ...length, "--seed", `${seed}`, "--out", run, ...positionals]);
  return (JSON.parse(layerwise(["depth", run, ...where, "--json"])) as { kinds: DepthRow[] }).kinds;
}

const tables = Array.from({ length: Number(values.seeds) }, (_, i) => depthsOf(i + 1));

function spread(numbers: readonly number[]): { mean: number; deviation: number } {
  const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
  const squares = numbers.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  return { mean, deviation: numbers.length > 1 ? Math.sqrt(squares / (numbers.length - 1)) : 0 };
}

const kinds = tables[0]!.map(({ name }) => {
  const rows = tables.flatMap((each) => each.filter((row) => row.name === name));
  return { name, iterations: spread(rows.map(({ mean }) => mean)), atCap: spread(rows.map(({ atCap }) => atCap)) };
});
const text = ({ mean, deviation }: { mean: number; deviation: number }) =>
  `${mean.toFixed(2)} ± ${deviation.toFixed(2)}`;
process.stdout.write(
  values.json
    ? `${JSON.stringify({ seeds: tables.length, kinds })}\n`
    : `${table(kinds.map(({ name, iterations, atCap }) => ({ kind: name, iterations: text(iterations), "at the cap": text(atCap) })))}\n`,
);
