/**
 * What strategies of keys and values cost and save: a language model whose tokens halt, trained with one strategy or with each, then evaluated
 * and continued with all of them: perplexity, time, and bytes that generation keeps per token. Trainings go on where they were stopped, and
 * one that has ended is taken as it is.
 */
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reject } from "../src/base/errors.ts";
import { table } from "../src/base/table.ts";
import { parseDepth, printDepth } from "../src/depth/notation.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { Run } from "../src/index.ts";
import { openWriter } from "../src/model/generation.ts";
import { openJob } from "../src/tasks/jobs.ts";
import { languageSettings } from "../src/tasks/language/settings.ts";
import { perform } from "../src/tasks/perform.ts";
import { flagsOf, threadsOf } from "./flags.ts";
import { cpuTimed, interleave, median, timed } from "./measure.ts";

const { values } = flagsOf({
  /** Folder of the runs, outside the work tree. */
  out: join(tmpdir(), "layerwise-keys"),
  /** A part whose tokens stop; its word gets the strategy of training. */
  depth: "2*6 halt(biasInitial=-2)",
  /** Strategies to train with, a model each: own,first,last. */
  trained: "own",
  corpus: "books",
  data: undefined,
  tokenizer: undefined,
  width: "128",
  heads: "4",
  pieces: "2000",
  length: "64",
  batch: "16",
  steps: "600",
  seed: "1",
  /** Tokens of the valid text that are evaluated. */
  evaluate: "32768",
  /** Tokens that each prompt is continued by. */
  tokens: "48",
  rounds: "5",
  threads: undefined,
  /** Processor time of generation instead of time on the clock. */
  cpu: false,
  json: false,
});

const STRATEGIES = ["own", "first", "last", "running"] as const;
type Strategy = (typeof STRATEGIES)[number];
const isStrategy = (name: string): name is Strategy => (STRATEGIES as readonly string[]).includes(name);
const strategies = values.trained.split(",").map((name) => {
  return isStrategy(name)
    ? name
    : reject({ who: "--trained", needed: `some of ${STRATEGIES.join(", ")}`, got: name }, 2);
});
const prompts = ["Alice was beginning to", "It was a dark night, and", "The door opened, and she saw that the"];

const say = (text: string) => void process.stderr.write(`${text}\n`);
const engine = await ortEngine(threadsOf(values.threads));

/** The depth with a strategy for its tokens that stop. */
function depthWith(keys: Strategy): string {
  const depth = parseDepth(values.depth).map((part) => ({
    ...part,
    words: part.words.map((word) => {
      const stops = ["halt", "route", "exits"].includes(word.name);
      return stops ? { ...word, options: { ...word.options, keys } } : word;
    }),
  }));
  const text = printDepth(depth);
  if (text.includes("keys=")) return text;
  return reject({ who: "--depth", needed: "a part with halt, route or exits", got: values.depth }, 2);
}

/** Trains a model, or goes on with its run. */
async function trainedWith(keys: Strategy): Promise<string> {
  const path = join(values.out, `${keys}-${values.steps}-seed-${values.seed}`);
  if (existsSync(join(path, "result.json"))) return path;
  const number = (key: "width" | "heads" | "length" | "batch" | "steps" | "seed") =>
    [key, Number(values[key])] as const;
  const sizes = (["width", "heads", "length", "batch", "steps", "seed"] as const).map(number);
  const text = {
    corpus: values.corpus,
    data: values.data ?? null,
    ...(values.tokenizer === undefined ? { pieces: Number(values.pieces) } : { tokenizer: values.tokenizer }),
  };
  const given = { source: "bench", values: { depth: depthWith(keys), ...Object.fromEntries(sizes), ...text } };
  const settings = { ...languageSettings.resolve([given]), task: "language" } as const;
  const session = existsSync(join(path, "config.yaml"))
    ? Run.resume(path, { engine })
    : perform(await openJob(settings, { engine }), { into: await Run.create(path) });
  for await (const event of session) {
    if (event.type === "evaluation") say(`keys=${keys}, step ${event.step}: ${Math.exp(event.loss).toFixed(1)}`);
  }
  return path;
}

/** A model with one of the strategies: its figures, and what there is to time. */
async function usedWith(path: string, keys: Strategy) {
  const run = await Run.open(path, "language", { engine, use: { keys } });
  const writer = await openWriter(run, { engine, tokenizer: run.tokenizer.tokenizer });
  const depths = await run.depths(prompts);
  const { policy, options } = run.model;
  const { perplexity } = await run.evaluate({ evaluateTokens: Number(values.evaluate) });
  return {
    perplexity,
    meanDepth: depths.flat().reduce((sum, { depth }, _, all) => sum + depth / all.length, 0),
    /** Keys and values of all caches, in single precision. */
    bytes: (policy.caches ?? Number.NaN) * 2 * options.width * 4,
    /** Milliseconds per batch, without what opening takes. */
    evaluate: async () => {
      const marks: number[] = [];
      await run.evaluate({ evaluateTokens: Number(values.evaluate), onBatch: () => marks.push(performance.now()) });
      return (marks.at(-1)! - marks[0]!) / (marks.length - 1);
    },
    generate: () =>
      (values.cpu ? cpuTimed : timed)(async () => {
        for (const prompt of prompts) {
          const asked = { prompt, maxTokens: Number(values.tokens), temperature: 0 };
          for await (const _ of writer.write(asked));
        }
      }),
    release: () => writer.release(),
  };
}

const rows = [];
for (const trained of strategies) {
  const path = await trainedWith(trained);
  const used = new Map<Strategy, Awaited<ReturnType<typeof usedWith>>>();
  for (const keys of STRATEGIES) used.set(keys, await usedWith(path, keys));
  const contenders = [...used].flatMap(([keys, { evaluate, generate }]) => [
    [`evaluate ${keys}`, evaluate] as const,
    [`generate ${keys}`, generate] as const,
  ]);
  const times = await interleave(Object.fromEntries(contenders), Number(values.rounds));
  for (const [keys, { perplexity, meanDepth, bytes, release }] of used) {
    rows.push({
      trained,
      used: keys,
      perplexity: Number(perplexity.toFixed(3)),
      "mean depth of prompts": Number(meanDepth.toFixed(2)),
      "ms per batch": Number(median(times.get(`evaluate ${keys}`)!).toFixed(2)),
      "ms of generation": Number(median(times.get(`generate ${keys}`)!).toFixed(1)),
      "key/value bytes per token": bytes,
    });
    await release();
  }
}
process.stdout.write(values.json ? `${JSON.stringify({ depth: values.depth, rows })}\n` : `${table(rows)}\n`);
