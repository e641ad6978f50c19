/**
 * `npx tsx bench/mpi.ts [--processes 2] [--steps 40] [--hosts a,b]`: what training over MPI costs here. Times an all-reduce of 12 MB, and the
 * steps of a language model by one process and by several with the same batch and one thread each, in turn.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median } from "../src/base/median.ts";
import { joinWorld } from "../src/tasks/mpi.ts";

const { values } = parseArgs({
  options: {
    processes: { type: "string", default: "2" },
    steps: { type: "string", default: "40" },
    hosts: { type: "string" },
    reduce: { type: "boolean", default: false },
  },
});
const NUMBERS = 3_000_000;
const ROUNDS = 20;
const WARM = 5;

/** Inside the job: the first process prints the median time of a sum. */
async function reduce(): Promise<void> {
  const world = await joinWorld();
  const gradients = new Float32Array(NUMBERS).fill(1);
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const started = performance.now();
    await world!.sum(gradients);
    times.push(performance.now() - started);
  }
  if (world!.rank === 0) process.stdout.write(`${median(times)}\n`); // mpirun gives a terminal, on which numbers would be coloured
}

const env = { ...process.env, OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" };

function mpirun(processes: number, args: readonly string[]): string {
  const hosts = values.hosts ? ["--host", values.hosts] : ["--oversubscribe"];
  const { status, stdout, stderr } = spawnSync("mpirun", [...hosts, "-n", `${processes}`, process.execPath, ...args], {
    env,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`mpirun ended with ${status}: ${stderr.slice(0, 500)}`);
  return stdout;
}

/** Median milliseconds between the steps of a short training. */
function stepMs(processes: number, folder: string): number {
  const size = [
    "--pieces",
    "2000",
    "--width",
    "256",
    "--heads",
    "4",
    "--depth",
    "4",
    "--batch",
    "16",
    "--length",
    "128",
  ];
  const flags = [...size, "--steps", values.steps, "--warmup", "4", "--evaluate-every", values.steps, "--threads", "1"];
  const run = join(folder, `run-${processes}-${Math.round(performance.now())}`);
  mpirun(processes, ["dist/cli/main.js", "train", ...flags, "--out", run]);
  const events = readFileSync(join(run, "events.jsonl"), "utf8").trimEnd().split("\n");
  const times = events.map((line) => JSON.parse(line)).flatMap(({ type, timeMs }) => (type === "step" ? [timeMs] : []));
  return median(times.slice(1 + WARM).map((time, i) => time - times[i + WARM]!));
}

if (values.reduce) await reduce();
else {
  const [processes, folder] = [Number(values.processes), mkdtempSync(join(tmpdir(), "layerwise-mpi-"))];
  try {
    const sumMs = Number(mpirun(processes, ["--import", "tsx", "bench/mpi.ts", "--reduce"]).trim());
    const rounds = Array.from({ length: 3 }, () => [stepMs(1, folder), stepMs(processes, folder)] as const);
    const [one, several] = [0, 1].map((i) => median(rounds.map((round) => round[i]!)));
    console.log(
      JSON.stringify({ processes, allReduceOf12MbMs: sumMs, oneMs: one, severalMs: several, ratio: several! / one! }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
