/** `npm run bench`: every claim of speed, measured beside its peers in one run. */
import { existsSync, readFileSync } from "node:fs";
import os from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { messageOf } from "../src/base/errors.ts";
import { defaultThreads } from "../src/engine/ort.ts";
import { writeAtomically } from "../src/files/atomic.ts";
import { bench as act } from "./act.ts";
import { bench as blocks } from "./blocks.ts";
import { bench as browser } from "./browser.ts";
import { bench as cutoffs } from "./cutoffs.ts";
import { bench as depth } from "./depth.ts";
import { bench as encoder } from "./encoder.ts";
import { bench as encoderStep } from "./encoder-step.ts";
import { bench as generation } from "./generation.ts";
import { bench as int8 } from "./int8.ts";
import { bench as languageModel } from "./language-model.ts";
import { bench as large } from "./large.ts";
import type { Bench, BenchOptions, Fact } from "./measure.ts";
import { bench as memory } from "./memory.ts";
import { resultsJson, resultsPage, resultsTable, type Section } from "./report.ts";
import { makeRuns, overRuns, record, recorded, type Setting } from "./runs.ts";
import { commitNow, machineNow } from "./setting.ts";
import { bench as start } from "./start.ts";
import { bench as stopping } from "./stopping.ts";
import { bench as supernet } from "./supernet.ts";
import { bench as tokenizer } from "./tokenizer.ts";

const benches: Readonly<Record<string, Bench>> = {
  supernet,
  "language-model": languageModel,
  large,
  blocks,
  browser,
  encoder,
  "encoder-step": encoderStep,
  depth,
  act,
  generation,
  int8,
  stopping,
  cutoffs,
  tokenizer,
  start,
  memory,
};
const names = Object.keys(benches);
const page = fileURLToPath(new URL("results.md", import.meta.url));

const HELP = `npm run bench -- [--only NAME …] [--rounds N] [--threads N] [--json] [--out FILE]

  --only NAME    one bench; may be given several times: ${names.join(", ")}
  --rounds N     interleaved rounds (15)
  --runs N       whole runs, each in processes of its own: medians over them, with the lowest and the highest ratio (1)
  --keep DIR     where several runs leave what they found, and go on if they were stopped (runs/bench)
  --threads N    threads of every contender (${defaultThreads()})
  --cpu          processor time instead of time on the clock, for a busy machine, best with --threads 1: stopping
  --json         only [{name, ours_ms, peer, peer_ms, ratio, target}] on standard output (with npm run --silent)
  --record FILE  what was found as JSON instead of the page; benches that stand there already do not run again
  --out FILE     where the page of results goes (bench/results.md); rows of benches that do not run stay in it

LAYERWISE_PYTHON: a Python with torch, numpy, safetensors, sentencepiece. LAYERWISE_PEERS: a folder with npm packages of peers.
What is absent is named on standard error, with how to install it.
`;

function fail(text: string): never {
  process.stderr.write(`bench: ${text}\n`);
  process.exit(2);
}

function flags() {
  try {
    return parseArgs({
      options: {
        only: { type: "string", multiple: true, default: names },
        json: { type: "boolean", default: false },
        cpu: { type: "boolean", default: false },
        rounds: { type: "string", default: "15" },
        runs: { type: "string", default: "1" },
        keep: { type: "string" },
        record: { type: "string" },
        threads: { type: "string", default: String(defaultThreads()) },
        out: { type: "string", default: page },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return fail(messageOf(error));
  }
}

function whole(name: string, text: string): number {
  const value = Number(text);
  return Number.isInteger(value) && value >= 1 ? value : fail(`expected --${name} of at least 1, got ${text}`);
}

async function measure(name: string, how: Pick<BenchOptions, "rounds" | "threads" | "cpu">): Promise<Section> {
  const say = (text: string) => void process.stderr.write(`${name}: ${text}\n`);
  const load = os.loadavg()[0]!;
  const facts: Fact[] = [];
  const claims = await benches[name]!({ say, note: (fact) => facts.push(fact), ...how });
  const date = new Date().toISOString().slice(0, 16).replace("T", " ");
  return { bench: name, rows: [...claims, ...facts], commit: commitNow(), date, load };
}

const values = flags();
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const unknown = values.only.find((name) => !names.includes(name));
if (unknown !== undefined) fail(`expected --only with one of ${names.join(", ")}, got ${unknown}`);
const [rounds, threads, runs] = [
  whole("rounds", values.rounds),
  whole("threads", values.threads),
  whole("runs", values.runs),
];
const chosen = names.filter((each) => values.only.includes(each));
if (runs > 1 && values.record !== undefined)
  fail("expected --record with one run, got it with several: --keep names their folder");
if (runs === 1 && values.keep !== undefined)
  fail("expected --keep with several runs, got one: --record keeps what one finds");
const setting: Setting = { commit: commitNow(), rounds, threads, cpu: values.cpu };
const sections = await (runs > 1 ? severalRuns(values.keep ?? "runs/bench") : oneRun()).catch((error) =>
  fail(messageOf(error)),
);
process.stdout.write(`${values.json ? resultsJson(sections) : resultsTable(sections)}\n`);

function flagsOfRun(): string[] {
  const only = chosen.flatMap((name) => ["--only", name]);
  return [...only, "--rounds", values.rounds, "--threads", values.threads, ...(values.cpu ? ["--cpu"] : [])];
}

async function severalRuns(folder: string): Promise<Section[]> {
  const sections = overRuns(makeRuns(runs, folder, setting, flagsOfRun()));
  await writePage(sections);
  return sections;
}

/** Every bench once; after each what it found is written, so that an interrupted run leaves it. */
async function oneRun(): Promise<Section[]> {
  const found: Section[] = values.record === undefined ? [] : recorded(values.record, setting);
  const done = new Set(found.map(({ bench }) => bench));
  for (const name of chosen) {
    if (done.has(name)) continue;
    try {
      found.push(await measure(name, { rounds, threads, cpu: values.cpu }));
    } catch (error) {
      process.stderr.write(`${name}: failed: ${messageOf(error)}\n`);
      process.exitCode = 1;
      continue;
    }
    if (values.record !== undefined) await record(values.record, setting, found);
    else await writePage(found.slice(-1));
  }
  return found;
}

async function writePage(sections: readonly Section[]): Promise<void> {
  const before = existsSync(values.out) ? readFileSync(values.out, "utf8") : "";
  const how = { machine: machineNow(), rounds, threads, before, order: names };
  await writeAtomically(values.out, resultsPage({ sections, ...how }));
}
