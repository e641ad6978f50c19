/**
 * `npm run torture -- --minutes N [--seed S] [--out DIR] [--tasks a,b] [--flips N] [--sweep] [--workers N] [--fill]`: commands of every task are
 * killed and starved at random moments and operations, and bits are turned in what they left. Each run must end as its twin did, or say what
 * is wrong. With `--sweep` each command that writes is first killed at every one of its file operations, `--workers` commands at a time.
 * The same seed and folder go on where an earlier start was stopped.
 * With `--fill` nothing is killed: longer runs go on while the small file system of `--out` is filled and freed at random.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { RandomStream } from "../../src/base/random.ts";
import { commands, extra, isBegun, longer, outcome, runsOf } from "./commands.ts";
import { unsteadyDisk } from "./disk.ts";
import { flip } from "./flips.ts";
import { type Ended, layerwise } from "./process.ts";
import { inWords, Sweep, type SweepFigures, sweepAll, totalOf } from "./sweep.ts";
import { writers } from "./writers.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    tasks: { type: "string", default: Object.keys(writers).join(",") },
    flips: { type: "string", default: "200" },
    fill: { type: "boolean", default: false },
    sweep: { type: "boolean", default: false },
    workers: { type: "string", default: "1" },
  },
});
const seed = Number(values.seed);
const root = resolve(values.out ?? mkdtempSync(join(tmpdir(), "layerwise-torture-")));
let end = Number.POSITIVE_INFINITY; // counted from when the first twins are there
const isOver = () => performance.now() > end;
const named = values.tasks.split(",");
const strangers = named.filter((name) => !Object.hasOwn(writers, name));
if (strangers.length > 0) throw new Error(`--tasks: ${strangers} are none of ${Object.keys(writers)}`);
const tasks = named.filter((name) => Object.hasOwn(commands, name));
mkdirSync(root, { recursive: true });

interface Twin {
  readonly outcome: string;
  readonly operations: number;
  readonly elapsedMs: number;
}

const totals = {
  seed,
  minutes: 0,
  runs: 0,
  kills: 0,
  killsAtOperations: 0,
  failures: 0,
  filled: 0,
  wrong: 0,
  flips: { same: 0, reported: 0, silent: 0, crashed: 0 },
  faults: [] as string[],
  sweep: {} as Record<string, SweepFigures>,
};
const sweeps = new Map<string, Sweep>();
const started = performance.now();
const reportFile = join(root, "report.json");
const earlier: typeof totals | undefined = existsSync(reportFile) && JSON.parse(readFileSync(reportFile, "utf8"));
if (earlier?.seed === seed) Object.assign(totals, earlier);
const earlierMinutes = totals.minutes;
const random = new RandomStream(seed, totals.runs > 0 ? `torture after ${totals.runs} runs` : "torture");

/** Runs a command, with a fault at an operation or a kill after a while. */
function faulty(args: readonly string[], fault = "", killMs?: number, traceFile?: string): Promise<Ended> {
  const cache = { LAYERWISE_CACHE: join(root, "cache"), LAYERWISE_FAULT: fault };
  return layerwise(args, { env: { ...cache, ...(traceFile ? { LAYERWISE_FAULT_TRACE: traceFile } : {}) }, killMs });
}

const begin = (task: string, out: string) => [
  ...commands[task]!,
  ...(task === "finetune" ? extra : []),
  ...(values.fill ? longer(task) : []),
  "--out",
  out,
];

async function twinOf(task: string): Promise<Twin> {
  const [path, trace, startedMs] = [join(root, `twin-${task}`), join(root, `trace-${task}`), performance.now()];
  rmSync(path, { recursive: true, force: true });
  rmSync(`${path}-baseline`, { recursive: true, force: true });
  const { code, stderr } = await faulty(begin(task, path), "", undefined, trace);
  if (code !== 0) throw new Error(`the twin of ${task} ended with ${code}: ${stderr.slice(-500)}`);
  const { operations } = JSON.parse(readFileSync(trace, "utf8"));
  return { outcome: outcome(path), operations, elapsedMs: performance.now() - startedMs };
}

/** One fault: at a random time, or at one of the operations. */
function drawFault({ operations, elapsedMs }: Twin): { fault: string; killMs?: number } {
  const draw = random.integer(10);
  if (draw < 3) return { fault: "", killMs: 50 + random.integer(Math.ceil(elapsedMs)) };
  const kind = draw < 8 ? "kill" : draw === 8 ? "EIO" : "ENOSPC";
  return { fault: `${kind}:${1 + random.integer(operations)}` };
}

/** Faults until a run is left in peace; a disk is full as often as it happens to be. */
const MOST_FAULTS = values.fill ? 1000 : 5;

/** Begins a run and goes on with it through faults, until it has ended; then it is held against its twin. */
async function torture(task: string, twin: Twin): Promise<void> {
  const path = join(root, `run-${task}`);
  for (const each of [path, `${path}-baseline`]) rmSync(each, { recursive: true, force: true });
  const history: string[] = [];
  for (let i = 0; ; i++) {
    const { fault, killMs } = i < MOST_FAULTS && !values.fill ? drawFault(twin) : { fault: "" };
    history.push(fault || (killMs ? `after ${killMs} ms` : "none"));
    const { code, stderr } = await faulty(isBegun(path) ? ["resume", path] : begin(task, path), fault, killMs);
    if (code === 0) break;
    if (code === null) totals[killMs === undefined ? "killsAtOperations" : "kills"]++;
    else totals.failures++;
    if (code !== null && (i >= MOST_FAULTS || /TypeError|RangeError|^\s+at /m.test(stderr)))
      return wrong(task, history, `exit ${code}: ${stderr.slice(-300)}`);
  }
  totals.runs++;
  if (outcome(path) !== twin.outcome) wrong(task, history, "it ended otherwise than its twin");
}

function wrong(task: string, history: readonly string[], what: string): void {
  totals.wrong++;
  totals.faults.push(`${task}: ${history.join(", ")}: ${what}`);
}

function report(): void {
  totals.minutes = earlierMinutes + (performance.now() - started) / 60_000;
  totals.sweep = Object.fromEntries([...sweeps].map(([name, sweep]) => [name, sweep.figures]));
  writeFileSync(reportFile, `${JSON.stringify(totals, null, 2)}\n`);
  writeFileSync(join(root, "report.txt"), `${words().join("\n")}\n`);
}

/** The report for people. */
function words(): string[] {
  const { minutes, runs, kills, killsAtOperations, failures, wrong, flips, sweep } = totals;
  const swept = Object.entries(sweep);
  const lines = swept.map(([name, found]) => inWords(name, found));
  const all = swept.length > 1 ? [inWords("all", totalOf(Object.values(sweep)))] : [];
  return [
    ...lines,
    ...all,
    `at random: ${kills} kills at moments, ${killsAtOperations} at operations, ${failures} failures in ${runs} runs, ${wrong} wrong`,
    `bits turned over: ${flips.reported} reported, ${flips.same} without effect, ${flips.silent} silent, ${flips.crashed} crashed`,
    `${minutes.toFixed(1)} minutes, seed ${seed}`,
  ];
}

async function flips(task: string): Promise<void> {
  const count = Number(values.flips);
  for (const folder of [...runsOf(join(root, `twin-${task}`)), ...(task === "trained" ? [join(root, "cache")] : [])]) {
    const found = await flip(folder, join(root, "flipped"), count, random, isOver);
    rmSync(join(root, "flipped"), { recursive: true, force: true });
    for (const key of ["same", "reported", "silent", "crashed"] as const) totals.flips[key] += found[key];
    totals.faults.push(...found.faults.map((fault) => `${task}: ${fault}`));
  }
}

if (values.sweep) {
  for (const name of named) sweeps.set(name, await Sweep.open(name, writers[name]!, join(root, "sweep", name), seed));
  end = performance.now() + Number(values.minutes) * 60_000;
  await sweepAll([...sweeps.values()], Number(values.workers), isOver, report);
}
const twins = new Map<string, Twin>();
for (const task of isOver() ? [] : tasks) twins.set(task, await twinOf(task));
end = Math.min(end, performance.now() + Number(values.minutes) * 60_000);
const disk = values.fill ? unsteadyDisk(root, new RandomStream(seed, "disk")) : undefined;
while (!isOver() && twins.size > 0) {
  for (const [task, twin] of twins) {
    if (isOver()) break;
    await torture(task, twin);
    if (!disk) await flips(task);
    if (!disk) report(); // there is no room for it on a full disk
  }
}
await disk?.stop();
totals.filled = disk?.filled() ?? 0;
report();
for (const line of words()) console.log(line);
const swept = Object.values(totals.sweep);
for (const fault of [...swept.flatMap(({ faults }) => faults), ...totals.faults]) console.log(fault);
console.log(`report.json in ${root}`);
const found = [totals.wrong, totals.flips.silent, totals.flips.crashed, ...swept.map(({ wrong }) => wrong)];
process.exitCode = found.some((count) => count > 0) ? 1 : 0;
