/**
 * Does pre-training here do what it should? Pre-trains the laptop model, prints how deep each kind of token runs, fine-tunes it on a task of
 * GLUE, and beside it the same model with new weights. Finished parts are not done again.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { spreadOf } from "../src/base/spread.ts";
import { table } from "../src/base/table.ts";
import { type depth, finetune, glueTask, pretrain, Run, type Session, type TaskEvent } from "../src/index.ts";
import type { TaskResult } from "../src/tasks/finetune/index.ts";
import type { NewRun } from "../src/tasks/new-run.ts";
import { flagsOf } from "./flags.ts";

const { values, rest } = flagsOf(
  {
    seeds: "3",
    /** Updates of each seed. */
    steps: "1200",
    out: "runs/pretraining",
    data: undefined,
    corpus: "wikitext-2",
    /** `none`: only depths. */
    task: "SST-2",
    /** Fine-tunings of each pre-trained model, and as many from new weights. */
    tunings: "1",
    examples: "8000",
    rate: "0.001",
    "scratch-rate": "0.001",
    threads: undefined,
    json: false,
  },
  true,
);

const upTo = (count: string) => Array.from({ length: Number(count) }, (_, i) => i + 1);
const numberOf = (text: string | undefined) => (text === undefined ? null : Number(text));
const common = { data: values.data ?? null, threads: numberOf(values.threads) };

/** What stands after `--`: settings of pre-training as the command line writes them. */
function settingsOf(words: readonly string[]): Record<string, unknown> {
  const flags = words
    .join(" ")
    .split(/(?:^| )--/)
    .slice(1);
  return Object.fromEntries(
    flags.map((flag) => {
      const [name, value = "true"] = flag.split(" ") as [string, string?];
      return [name.replace(/-./g, ([, letter]) => letter!.toUpperCase()), value === "none" ? null : parse(value)];
    }),
  );
}

/** Begins a run, or goes on with it. */
async function make(path: string, begin: (into: NewRun) => Session<TaskEvent, unknown>): Promise<string> {
  const isThere = existsSync(join(path, "config.yaml"));
  const session = isThere ? Run.resume(path) : begin(await Run.create(path));
  for await (const event of session) {
    if (event.type === "evaluation")
      process.stderr.write(`${path}: step ${event.step}, loss ${event.loss.toFixed(4)}\n`);
  }
  await session.result;
  return path;
}

/** A pre-trained model. */
function pretrained(seed: number): Promise<string> {
  const { corpus } = values;
  const length = { steps: Number(values.steps), longLength: null };
  const own = settingsOf(rest);
  return make(join(values.out, `seed-${seed}`), (into) =>
    pretrain({ preset: "laptop", corpus, ...length, seed, ...common, ...own, into }),
  );
}

async function depthsIn(path: string): Promise<readonly depth.DepthRow[]> {
  const run = await Run.open(path, "pretrain");
  return (await run.depthsByKind({ data: values.data })).kinds;
}

type Weights = { readonly from: string | null; readonly like?: string; readonly embeddingDeviation?: number };

/** The score of one fine-tuning, in one pass over the examples. */
async function scored(name: string, seed: number, rate: string, { from, ...own }: Weights): Promise<number> {
  const path = join(values.out, `${values.task}-${name}-${seed}`);
  const settings = { ...common, ...own, epochs: 1, length: 64, pooling: "mean", rate: Number(rate), seed } as const;
  const examples = Number(values.examples);
  await make(path, (into) => finetune(from, { task: glueTask(values.task), ...settings, examples, into }));
  const { epochs, metric } = JSON.parse(readFileSync(join(path, "result.json"), "utf8")) as TaskResult;
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

async function depthRows(runs: readonly string[]) {
  const tables: (readonly depth.DepthRow[])[] = [];
  for (const run of runs) tables.push(await depthsIn(run));
  return tables[0]!.map(({ name }) => {
    const rows = tables.flatMap((each) => each.filter((row) => row.name === name));
    return { name, iterations: spread(rows.map(({ mean }) => mean)), atCap: spread(rows.map(({ atCap }) => atCap)) };
  });
}

const rowsOfWeights: Readonly<Record<string, (run: string) => Weights>> = {
  "pre-trained, embeddings at 0.02": (run) => ({ from: run, embeddingDeviation: 0.02 }),
  "pre-trained": (run) => ({ from: run }),
  new: (run) => ({ from: null, like: run }),
};

/** Fine-tunings of every run; the j-th of the i-th has seed i + j. */
async function taskRows(runs: readonly string[]) {
  const tunings = runs.flatMap((run, i) =>
    upTo(values.tunings).map((j) => ({ run, seed: i + j, name: `${i + 1}-${j}` })),
  );
  const rows = [];
  for (const [row, [weights, origin]] of Object.entries(rowsOfWeights).entries()) {
    const rate = weights === "new" ? values["scratch-rate"] : values.rate;
    const scores: number[] = [];
    for (const { run, seed, name } of tunings) scores.push(await scored(`${row + 1}-${name}`, seed, rate, origin(run)));
    rows.push({ weights, ...spread(scores), scores });
  }
  return rows;
}

const runs: string[] = [];
for (const seed of upTo(values.seeds)) runs.push(await pretrained(seed));
const kinds = await depthRows(runs);
const task = values.task === "none" ? [] : await taskRows(runs);
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
