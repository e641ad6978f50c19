/**
 * Does pre-training here do what it should? Pre-trains the laptop model, prints how deep each kind of token runs, fine-tunes it on a task of
 * GLUE, and beside it the same model with new weights. Finished parts are not done again.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "../src/base/table.ts";
import type { DepthRow } from "../src/depth/tally.ts";
import { spreadOf } from "../src/sweep/comparison.ts";

const { values, positionals } = parseArgs({
  options: {
    seeds: { type: "string", default: "3" },
    /** Updates of each seed. */
    steps: { type: "string", default: "1200" },
    out: { type: "string", default: "runs/pretraining" },
    data: { type: "string" },
    corpus: { type: "string", default: "wikitext-2" },
    /** `none`: only depths. */
    task: { type: "string", default: "SST-2" },
    /** Fine-tunings of each pre-trained model, and as many from new weights. */
    tunings: { type: "string", default: "1" },
    examples: { type: "string", default: "8000" },
    rate: { type: "string", default: "0.001" },
    "scratch-rate": { type: "string", default: "0.001" },
    threads: { type: "string" },
    json: { type: "boolean", default: false },
  },
  allowPositionals: true,
});

const given = (name: "data" | "threads" | "examples") =>
  values[name] === undefined ? [] : [`--${name}`, values[name]];
const where = given("data");
const upTo = (count: string) => Array.from({ length: Number(count) }, (_, i) => i + 1);

function layerwise(...args: readonly string[]): string {
  const command = ["--import", "tsx", "src/cli/main.ts", ...args];
  const { status, stdout } = spawnSync(process.execPath, command, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 2 ** 30,
  });
  if (status !== 0) process.exit(status ?? 1);
  return stdout;
}

/** Makes a run, or goes on with it. */
function make(run: string, ...args: readonly string[]): string {
  if (existsSync(join(run, "config.yaml"))) layerwise("resume", run);
  else layerwise(...args, ...where, ...given("threads"), "--out", run);
  return run;
}

/** A pre-trained model. What stands after `--` goes to pretrain. */
function pretrained(seed: number): string {
  const length = ["--steps", values.steps, "--minutes", "none", "--long-length", "none"];
  const args = ["--preset", "laptop", "--corpus", values.corpus, ...length, "--seed", `${seed}`];
  return make(join(values.out, `seed-${seed}`), "pretrain", ...args, ...positionals);
}

const depthsOf = (run: string) =>
  (JSON.parse(layerwise("depth", run, ...where, "--json")) as { kinds: DepthRow[] }).kinds;

/** The score of one fine-tuning, in one pass over the examples. */
function scored(name: string, seed: number, rate: string, ...origin: readonly string[]): number {
  const run = join(values.out, `${values.task}-${name}-${seed}`);
  const settings = ["--epochs", "1", "--length", "64", "--pooling", "mean", "--rate", rate, "--seed", `${seed}`];
  make(run, "glue", values.task, ...origin, ...settings, ...given("examples"));
  const { epochs, metric } = JSON.parse(readFileSync(join(run, "result.json"), "utf8")) as {
    epochs: { figures: Record<string, number> }[];
    metric: string;
  };
  return 100 * epochs.at(-1)!.figures[metric]!;
}

interface Spread {
  readonly mean: number;
  readonly deviation: number;
}

function spread(numbers: readonly number[]): Spread {
  const { mean, deviation } = spreadOf(numbers)!;
  return { mean, deviation: deviation ?? 0 };
}

const text = ({ mean, deviation }: Spread) => `${mean.toFixed(2)} ± ${deviation.toFixed(2)}`;

function depthRows(runs: readonly string[]) {
  const tables = runs.map(depthsOf);
  return tables[0]!.map(({ name }) => {
    const rows = tables.flatMap((each) => each.filter((row) => row.name === name));
    return { name, iterations: spread(rows.map(({ mean }) => mean)), atCap: spread(rows.map(({ atCap }) => atCap)) };
  });
}

const rowsOfWeights = {
  "pre-trained, embeddings at 0.02": (run: string) => ["--from", run, "--embedding-deviation", "0.02"],
  "pre-trained": (run: string) => ["--from", run],
  new: (run: string) => ["--scratch", "--like", run],
} as const;

/** Fine-tunings of every run; the j-th of the i-th has seed i + j. */
function taskRows(runs: readonly string[]) {
  const tunings = runs.flatMap((run, i) =>
    upTo(values.tunings).map((j) => ({ run, seed: i + j, name: `${i + 1}-${j}` })),
  );
  return Object.entries(rowsOfWeights).map(([weights, origin], row) => {
    const rate = weights === "new" ? values["scratch-rate"] : values.rate;
    const scores = tunings.map(({ run, seed, name }) => scored(`${row + 1}-${name}`, seed, rate, ...origin(run)));
    return { weights, ...spread(scores), scores };
  });
}

const runs = upTo(values.seeds).map(pretrained);
const kinds = depthRows(runs);
const task = values.task === "none" ? [] : taskRows(runs);
const depthTable = table(
  kinds.map(({ name, iterations, atCap }) => ({ kind: name, iterations: text(iterations), "at the cap": text(atCap) })),
);
const taskTable = table(
  task.map((row) => ({
    weights: row.weights,
    [values.task]: text(row),
    scores: row.scores.map((x) => x.toFixed(2)).join(", "),
  })),
);
process.stdout.write(
  values.json
    ? `${JSON.stringify({ seeds: runs.length, kinds, task })}\n`
    : `${depthTable}\n${task.length > 0 ? `\n${taskTable}\n` : ""}`,
);
