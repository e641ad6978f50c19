/**
 * `npm run torture -- --minutes N [--seed S] [--out DIR] [--tasks a,b] [--flips N] [--fill]`: commands of every task are killed and starved at
 * random moments and at every file operation, and bits are turned in what they left. Each run must end as its twin did, or say what is wrong.
 * With `--fill` nothing is killed: longer runs go on while the small file system of `--out` is filled and freed at random.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { RandomStream } from "../../src/base/random.ts";
import { commands, extra, isBegun, longer, outcome, runsOf } from "./commands.ts";
import { unsteadyDisk } from "./disk.ts";
import { flip } from "./flips.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    tasks: { type: "string", default: Object.keys(commands).join(",") },
    flips: { type: "string", default: "200" },
    fill: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);
const root = resolve(values.out ?? mkdtempSync(join(tmpdir(), "layerwise-torture-")));
let end = Number.POSITIVE_INFINITY; // counted from when the twins are there
const isOver = () => performance.now() > end;
const random = new RandomStream(seed, "torture");
const tasks = values.tasks.split(",");
const preload = new URL("faults.mjs", import.meta.url).href;
mkdirSync(root, { recursive: true });

interface Twin {
  readonly outcome: string;
  readonly operations: number;
  readonly elapsedMs: number;
}

const totals = {
  seed,
  runs: 0,
  kills: 0,
  killsAtOperations: 0,
  failures: 0,
  filled: 0,
  wrong: 0,
  flips: { same: 0, reported: 0, silent: 0, crashed: 0 },
  faults: [] as string[],
};

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

/** Runs a command, with a fault at an operation or a kill after a while. */
function layerwise(args: readonly string[], fault = "", killMs?: number, countFile?: string): Promise<Ended> {
  const env = {
    ...process.env,
    LAYERWISE_CACHE: join(root, "cache"),
    LAYERWISE_FAULT: fault,
    ...(countFile ? { LAYERWISE_FAULT_COUNT: countFile } : {}),
  };
  const child = spawn(process.execPath, ["--import", preload, "dist/cli/main.js", ...args], { env });
  const timer = killMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killMs);
  let stderr = "";
  child.stderr.on("data", (data) => (stderr += data));
  child.stdout.resume();
  return new Promise((done) => {
    child.on("close", (code) => {
      clearTimeout(timer);
      done({ code, stderr });
    });
  });
}

const begin = (task: string, out: string) => [
  ...commands[task]!,
  ...(task === "finetune" ? extra : []),
  ...(values.fill ? longer(task) : []),
  "--out",
  out,
];

async function twinOf(task: string): Promise<Twin> {
  const [path, counts, started] = [join(root, `twin-${task}`), join(root, `count-${task}`), performance.now()];
  rmSync(path, { recursive: true, force: true });
  rmSync(`${path}-baseline`, { recursive: true, force: true });
  const { code, stderr } = await layerwise(begin(task, path), "", undefined, counts);
  if (code !== 0) throw new Error(`the twin of ${task} ended with ${code}: ${stderr.slice(-500)}`);
  const operations = Number(readFileSync(counts, "utf8"));
  return { outcome: outcome(path), operations, elapsedMs: performance.now() - started };
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
    const { code, stderr } = await layerwise(isBegun(path) ? ["resume", path] : begin(task, path), fault, killMs);
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
  writeFileSync(join(root, "report.json"), `${JSON.stringify(totals, null, 2)}\n`);
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

const twins = new Map<string, Twin>();
for (const task of tasks) twins.set(task, await twinOf(task));
end = performance.now() + Number(values.minutes) * 60_000;
const disk = values.fill ? unsteadyDisk(root, new RandomStream(seed, "disk")) : undefined;
while (!isOver()) {
  for (const task of tasks) {
    if (isOver()) break;
    await torture(task, twins.get(task)!);
    if (!disk) await flips(task);
    if (!disk) report(); // there is no room for it on a full disk
  }
}
await disk?.stop();
totals.filled = disk?.filled() ?? 0;
report();
const { faults, ...figures } = totals;
console.log(JSON.stringify({ ...figures, out: root }));
for (const fault of faults) console.log(fault);
process.exitCode = totals.wrong + totals.flips.silent + totals.flips.crashed > 0 ? 1 : 0;
