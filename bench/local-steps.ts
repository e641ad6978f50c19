/**
 * `npx tsx bench/local-steps.ts [--processes 2] [--every 1,8,32] [--seeds 3] [--steps 300] [--hosts a,b] [--json]`: what averaging weights every H
 * updates (`--local-steps`) does to the loss of held-out text, and how much of its time a process spends in reductions, at equal
 * updates: a small language model on the embedded books, one thread per process.
 */
import { spawnSync } from "node:child_process";
import { median } from "../src/base/median.ts";
import { spreadOf } from "../src/base/spread.ts";
import { formatNumber, table } from "../src/base/table.ts";
import type { World } from "../src/engine/engine.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { openJob } from "../src/tasks/jobs.ts";
import { languageSettings } from "../src/tasks/language/settings.ts";
import { joinWorld, worldSize } from "../src/tasks/mpi.ts";
import { perform } from "../src/tasks/perform.ts";
import { flagsOf } from "./flags.ts";

const flags = { processes: "2", every: "1,8,32", seeds: "3", steps: "300", hosts: undefined, json: false } as const;
const { values } = flagsOf(flags);
const size = { pieces: 500, width: 64, heads: 4, depth: 2, batch: 16, length: 32, rate: 0.002, warmup: 20, threads: 1 };

/** One training: the loss of held-out text at its end, and shares of its steps' time. */
interface Row {
  readonly every: number;
  readonly seed: number;
  readonly loss: number;
  /** In sums of gradients or weights. */
  readonly share: number;
  /** In sums of a few numbers (the loss, whether to stop): waiting for the slower process. */
  readonly waiting: number;
  readonly stepMs: number;
}

/** Sums of fewer numbers carry no weights. */
const FEW = 16;

/** Trains in the processes of `mpirun`, all of which call it. */
async function trained(world: World, every: number, seed: number): Promise<Row> {
  const spent = { many: 0, few: 0 };
  const sum: World["sum"] = async (numbers) => {
    const started = performance.now();
    await world.sum(numbers);
    spent[numbers.length < FEW ? "few" : "many"] += performance.now() - started;
  };
  const engine = Object.assign(await ortEngine({ threads: 1 }), { world: { ...world, localSteps: every, sum } });
  const steps = Number(values.steps);
  const own = { ...size, steps, seed, evaluateEvery: steps, checkpointEvery: steps, localSteps: every };
  const settings = languageSettings.resolve([{ source: "bench", values: own }]);
  const now = () => ({ at: performance.now(), ...spent });
  let [first, last, loss] = [now(), now(), Number.NaN];
  for await (const event of perform(await openJob({ ...settings, task: "language" }, { engine }))) {
    if (event.type === "evaluation") loss = event.loss;
    if (event.type !== "step") continue;
    last = now();
    if (event.step === 1) first = last;
  }
  const time = last.at - first.at;
  const [share, waiting] = [(last.many - first.many) / time, (last.few - first.few) / time];
  return { every, seed, loss, share, waiting, stepMs: time / (steps - 1) };
}

/** Inside the job: every H with every seed, by turns; the first process prints a line each. */
async function inside(): Promise<void> {
  const world = (await joinWorld())!;
  for (let seed = 1; seed <= Number(values.seeds); seed++) {
    for (const every of values.every.split(",").map(Number)) {
      const row = await trained(world, every, seed);
      if (world.rank !== 0) continue;
      process.stdout.write(`${JSON.stringify(row)}\n`);
      process.stderr.write(`${every} updates between averages, seed ${seed}: ${row.loss.toFixed(4)}\n`);
    }
  }
}

function rows(): Row[] {
  const hosts = values.hosts ? ["--host", values.hosts] : ["--oversubscribe"];
  const args = [...hosts, "-n", values.processes, process.execPath, "--import", "tsx", ...process.argv.slice(1)];
  const env = { ...process.env, OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" };
  const { status, stdout } = spawnSync("mpirun", args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (status !== 0) throw new Error(`mpirun ended with ${status}`);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);
}

const percent = (shares: readonly number[]) => `${formatNumber(100 * median(shares)!, 0)} %`;

function summary(found: readonly Row[]) {
  return [...new Set(found.map(({ every }) => every))].map((every) => {
    const own = found.filter((row) => row.every === every);
    const { mean, deviation } = spreadOf(own.map(({ loss }) => loss))!;
    return {
      "updates between averages": every,
      "held-out loss": `${formatNumber(mean, 4)}${deviation === null ? "" : ` ± ${formatNumber(deviation, 4)}`}`,
      "time in reductions": percent(own.map(({ share }) => share)),
      "time waiting": percent(own.map(({ waiting }) => waiting)),
      "ms per update": formatNumber(median(own.map(({ stepMs }) => stepMs))!, 1),
    };
  });
}

if (worldSize() > 1) await inside();
else {
  const found = rows();
  console.log(values.json ? JSON.stringify(found) : table(summary(found)));
}
