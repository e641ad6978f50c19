/** What a search costs: its time against that of training the (sf)-baseline for as many steps, in turns on this machine. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "../src/base/median.ts";
import { table } from "../src/base/table.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { Run } from "../src/tasks/run.ts";
import { type Found, type SearchOptions, search } from "../src/tasks/search/index.ts";
import { flagsOf, threadsOf } from "./flags.ts";
import { searching } from "./searching.ts";

const { values } = flagsOf({
  data: undefined,
  corpus: "wikitext-2",
  tokenizer: "wiki2_12k",
  blocks: "6",
  steps: "1500",
  rounds: "2",
  threads: undefined,
  json: false,
});

const [blocks, steps] = [Number(values.blocks), Number(values.steps)];
const engine = await ortEngine(threadsOf(values.threads));
const base: SearchOptions = {
  corpus: values.corpus,
  tokenizer: values.tokenizer,
  data: values.data ?? null,
  dropout: 0,
  steps,
  evaluateEvery: steps,
  checkpointEvery: steps,
  engine,
};
const contenders: Record<string, SearchOptions> = {
  search: { ...searching, blocks },
  "search, nothing cut": { ...searching, settle: null, cut: null, blocks },
  baseline: { blocks: `(sf)x${blocks / 2}` },
};

const folder = await mkdtemp(join(tmpdir(), "layerwise-searchcost-"));
const results = new Map<string, Found[]>(Object.keys(contenders).map((name) => [name, []]));
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [name, options] of Object.entries(contenders)) {
      process.stderr.write(`round ${round + 1}: ${name}\n`);
      const into = await Run.create(join(folder, `${round}-${name}`));
      results.get(name)!.push(await search({ ...base, ...options, into }).result);
    }
  }
} finally {
  await rm(folder, { recursive: true });
}

const secondsOf = (name: string) => median(results.get(name)!.map(({ elapsedMs }) => elapsedMs)) / 1000;
const rows = [...results].map(([name, [found]]) => ({
  ...{ contender: name, seconds: secondsOf(name), ratio: secondsOf(name) / secondsOf("baseline") },
  ...{ pattern: found!.pattern, perplexity: found!.perplexity },
}));
const shown = rows.map((row) => ({
  ...row,
  seconds: row.seconds.toFixed(1),
  ratio: row.ratio.toFixed(2),
  perplexity: row.perplexity.toFixed(2),
}));
process.stdout.write(values.json ? `${JSON.stringify(rows)}\n` : table(shown));
