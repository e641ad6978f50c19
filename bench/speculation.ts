/**
 * Self-speculative generation on a model that was trained for it: a language model with layer dropout and a loss at the depth that
 * drafts, on the embedded books. Greedy texts with and without drafts, interleaved; they must be the same. The training goes on where it was stopped.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { table } from "../src/base/table.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { Run } from "../src/index.ts";
import { type Drafting, openWriter, type Writer } from "../src/model/generation.ts";
import type { DraftCounts } from "../src/model/speculation.ts";
import { openJob } from "../src/tasks/jobs.ts";
import { languageSettings } from "../src/tasks/language/settings.ts";
import { perform } from "../src/tasks/perform.ts";
import { flagsOf, threadsOf } from "./flags.ts";
import { cpuTimed, interleave, median, timed } from "./measure.ts";

const { values } = flagsOf({
  /** Folder of the run; one that is there already is taken as it is. */
  out: "runs/speculation",
  depth: "4*9 drop(0.1, exit=3, exitLoss=1)",
  /** Depths that draft, and how many tokens at a time. */
  drafts: "3",
  at: "4,5",
  width: "128",
  heads: "2",
  pieces: "2000",
  length: "64",
  steps: "450",
  tokens: "48",
  rounds: "11",
  threads: undefined,
  /** Processor time instead of time on the clock. */
  cpu: false,
});

const say = (text: string) => void process.stderr.write(`${text}\n`);
const engine = await ortEngine(threadsOf(values.threads));

async function trained(): Promise<void> {
  const sizes = { width: Number(values.width), heads: Number(values.heads), length: Number(values.length) };
  const course = { corpus: "books", pieces: Number(values.pieces), steps: Number(values.steps), batch: 16 };
  const given = { source: "bench", values: { depth: values.depth, ...sizes, ...course } };
  const settings = { ...languageSettings.resolve([given]), task: "language" } as const;
  const session = existsSync(join(values.out, "config.yaml"))
    ? Run.resume(values.out, { engine })
    : perform(await openJob(settings, { engine }), { into: await Run.create(values.out) });
  for await (const event of session) {
    if (event.type === "evaluation") say(`step ${event.step}: perplexity ${Math.exp(event.loss).toFixed(1)}`);
  }
}
if (!existsSync(join(values.out, "result.json"))) await trained();

const run = await Run.open(values.out, "language", { engine });
const prompts = [
  "Alice was beginning to get very tired of sitting by her",
  "It was a dark night, and the old man",
  "The door opened, and she saw that the",
  "“I do not know,” said he, “what you",
  "There was nothing to be done but to",
  "In the morning they went down to the river and",
];

/** All texts, one after another. */
async function written(writer: Writer): Promise<string> {
  let text = "";
  for (const prompt of prompts) {
    for await (const piece of writer.write({ prompt, maxTokens: Number(values.tokens), temperature: 0 })) {
      text += piece.text;
    }
  }
  return text;
}

const opened = (draft?: Drafting) =>
  openWriter(run, { engine, tokenizer: run.tokenizer.tokenizer, ...(draft ? { draft } : {}) });

const plain = await opened();
const expected = await written(plain);
say(`greedy: ${expected.slice(0, 200)} …`);
const time = values.cpu ? cpuTimed : timed;
const rows: Awaited<ReturnType<typeof measured>>[] = [];
const numbers = (text: string) => text.split(",").map(Number);
for (const depth of numbers(values.drafts)) {
  for (const tokens of numbers(values.at)) rows.push(await measured({ depth, tokens }));
}
await plain.release();
const { perplexity } = await run.evaluate();
process.stdout.write(`${table(rows)}\nvalid perplexity ${perplexity.toFixed(2)}\n`);

/** A row of the table: texts with drafts and without, in turns. */
async function measured({ depth, tokens }: Drafting) {
  let counts: DraftCounts | undefined;
  const onEnd = (each: DraftCounts) => {
    counts = each;
  };
  const drafted = await opened({ depth, tokens, onEnd });
  const isSame = (await written(drafted)) === expected; // a warm-up, too
  const both = { drafted: () => time(() => written(drafted)), plain: () => time(() => written(plain)) };
  const times = await interleave(both, Number(values.rounds));
  await drafted.release();
  const [ours, theirs] = [median(times.get("drafted")!), median(times.get("plain")!)];
  const accepted = (100 * counts!.accepted) / counts!.drafted;
  say(`depth ${depth}, ${tokens} drafts: ${(ours / theirs).toFixed(3)}, ${accepted.toFixed(0)} % accepted`);
  return {
    "draft depth": depth,
    drafts: tokens,
    accepted: `${accepted.toFixed(0)} %`,
    ms: ours.toFixed(0),
    "plain ms": theirs.toFixed(0),
    ratio: (ours / theirs).toFixed(3),
    "same text": isSame ? "yes" : "NO",
  };
}
