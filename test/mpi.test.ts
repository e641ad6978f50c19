import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";

const hasMpi = spawnSync("mpirun", ["--version"], { encoding: "utf8" }).stdout?.includes("Open MPI") ?? false;
if (!hasMpi) console.warn("skipped: training over MPI (no mpirun of Open MPI here; Debian: openmpi-bin)");

const folder = mkdtempSync(join(tmpdir(), "layerwise-mpi-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const env = { ...process.env, OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" };
const mpirun = (processes: number, args: readonly string[]) => [
  "--oversubscribe",
  "-n",
  `${processes}`,
  process.execPath,
  "dist/cli/main.js",
  ...args,
];
const alone = (args: readonly string[]) =>
  spawnSync(process.execPath, ["dist/cli/main.js", ...args], { encoding: "utf8" });
const together = (processes: number, args: readonly string[]) =>
  spawnSync("mpirun", mpirun(processes, args), { env, encoding: "utf8" });

function passed({ status, stderr }: SpawnSyncReturns<string>): void {
  expect(status, stderr).toBe(0);
}

const data = "fixtures/runs/data";
const text = ["--corpus", `${data}/text`, "--tokenizer", `${data}/tokenizer.model`];
const small = ["--width", "16", "--heads", "2", "--length", "16", "--batch", "4", "--threads", "1"];
const habits = ["--steps", "12", "--warmup", "3", "--evaluate-every", "4", "--checkpoint-every", "4"];
const words = (line: string) => line.split(" ");
const tasks: Readonly<Record<string, readonly string[]>> = {
  train: ["train", ...text, ...small, "--depth", "4", "--unique", "2", "--dropout", "0.1", ...habits],
  search: ["search", ...text, ...small, ...words("--blocks 2 --memory 8 --cutoffs 40,100 --latency 1x8+8"), ...habits],
  pretrain: ["pretrain", ...text, ...small, ...words("--embedding 8 --depth 3 --evaluate-texts 16 --steps 6")],
};

/** The last of the processes that `mpirun` started. */
const lastChildOf = (pid: number) =>
  Number(
    spawnSync("pgrep", ["-P", `${pid}`], { encoding: "utf8" })
      .stdout.trim()
      .split("\n")
      .at(-1),
  );

/** Flags as settings of a file. */
function settingsOf(flags: readonly string[]): Record<string, string | number> {
  const named = flags.flatMap((word, i) => {
    const key = word.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const value = flags[i + 1]!;
    return word.startsWith("--") ? [[key, Number.isNaN(Number(value)) ? value : Number(value)]] : [];
  });
  return Object.fromEntries(named);
}

const path = (name: string) => join(folder, name);
const lossesOf = (run: string): number[] =>
  readFileSync(join(run, "events.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
    .flatMap(({ type, loss }) => (type === "end" ? [] : [loss as number]));
const weightsOf = (run: string, step = 12) =>
  readFileSync(join(run, `checkpoints/step-${String(step).padStart(8, "0")}/weights.safetensors`));

describe.skipIf(!hasMpi)("training over MPI", { timeout: 120_000 }, () => {
  it("by one process gives the very bits of a process without it", () => {
    passed(alone([...tasks.train!, "--out", path("train")]));
    passed(together(1, [...tasks.train!, "--out", path("one")]));
    expect(weightsOf(path("one")).equals(weightsOf(path("train")))).toBe(true);
  });

  it.each(Object.keys(tasks))("%s by two processes gives the losses of one, dropout included", (task) => {
    if (!existsSync(path(task))) passed(alone([...tasks[task]!, "--out", path(task)]));
    passed(together(2, [...tasks[task]!, "--out", path(`${task}-2`)]));
    expectEqualLosses(path(`${task}-2`), path(task));
    expect(JSON.parse(readFileSync(join(path(`${task}-2`), "environment.json"), "utf8"))).toMatchObject({
      processes: 2,
    });
  });

  it("ends when a process is killed, and is resumed by any number of them", async () => {
    const run = path("killed");
    const longer = tasks.train!.map((word, i, all) => (all[i - 1] === "--steps" ? "400" : word));
    const job = spawn("mpirun", mpirun(2, [...longer, "--out", run]), { env });
    let said = "";
    job.stderr.on("data", (data) => (said += data));
    const ended = new Promise<number | null>((done) => job.on("close", done));
    while (!existsSync(join(run, "checkpoints/step-00000008"))) await sleep(50);
    process.kill(lastChildOf(job.pid!), "SIGKILL");
    expect(await ended).not.toBe(0);
    expect(said).toMatch(/another process of this job has ended|exited on signal 9/);
    passed(together(4, ["resume", run, "--steps", "40"]));
    const expected = lossesOf(path("train"));
    expect(lossesOf(run)[0]).toBeCloseTo(expected[0]!, 5);
    expect(weightsOf(run, 40).length).toBeGreaterThan(0);
  });

  it("averages weights every few updates where it is asked to", () => {
    passed(together(2, [...tasks.train!, "--local-steps", "4", "--out", path("local")]));
    const losses = lossesOf(path("local"));
    expect(losses.at(-1)).toBeLessThan(losses[0]!);
  });

  it("refuses a batch that cannot be shared before anything is written", () => {
    const { status, stderr } = together(2, [...tasks.train!, "--batch", "3", "--out", path("refused")]);
    expect(stderr).toContain("a batch that 2 processes can share evenly, got 3 rows");
    expect([status === 0, existsSync(path("refused"))]).toEqual([false, false]);
    expect(stderr.split("layerwise: ").length).toBe(2); // said once
  });
});

/** Sweeps by their command, with the folders of their runs. */
const shared = [...text, ...small, "--dropout", "0.1", ...habits];
const sweeps: Readonly<Record<string, readonly [args: readonly string[], runs: readonly string[]]>> = {
  compare: [
    ["compare", ...shared, "--only", "vanilla 3/3", "--seeds", "2"],
    ["vanilla-3-3/seed-1", "vanilla-3-3/seed-2"],
  ],
  "search --seeds": [
    [...tasks.search!, "--seeds", "2"],
    ["seed-1", "seed-2"],
  ],
};

function expectEqualLosses(found: string, expected: string): void {
  const [some, others] = [lossesOf(found), lossesOf(expected)];
  expect(some.length).toBe(others.length);
  expect(Math.max(...some.map((loss, i) => Math.abs(loss - others[i]!)))).toBeLessThan(1e-5);
}

describe.skipIf(!hasMpi)("a sweep over MPI", { timeout: 120_000 }, () => {
  it.each(Object.keys(sweeps))("%s by two processes trains each trial as one would", (name) => {
    const [args, runs] = sweeps[name]!;
    const [one, two] = [path(`${name}-one`), path(`${name}-two`)];
    passed(alone([...args, "--json", "--out", one]));
    const { stdout, ...ended } = together(2, [...args, "--json", "--out", two]);
    passed({ stdout, ...ended });
    for (const run of runs) expectEqualLosses(join(two, run), join(one, run));
    expect(stdout.trim().split("\n").length).toBe(1); // said once
    const { processes } = JSON.parse(readFileSync(join(two, runs[1]!, "environment.json"), "utf8"));
    expect(processes).toBe(2);
  });

  it("goes on after a process was killed, with what it had", async () => {
    const spec = path("rates.yaml");
    const settings = { ...settingsOf(shared), depth: 2, steps: 120, checkpointEvery: 10, evaluateEvery: 60 };
    writeFileSync(spec, JSON.stringify({ task: "language", settings, seeds: 2 }));
    const command = (out: string) => ["sweep", spec, "--json", "--out", path(out)];
    passed(alone(command("alone")));
    const job = spawn("mpirun", mpirun(2, command("rates")), { env, stdio: "ignore" });
    const ended = new Promise<number | null>((done) => job.on("close", done));
    while (!existsSync(join(path("rates"), "seed-2/checkpoints/step-00000010"))) await sleep(10);
    process.kill(lastChildOf(job.pid!), "SIGKILL");
    expect(await ended).not.toBe(0);
    const resumed = together(2, command("rates"));
    passed(resumed);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ reason: "finished", failed: [] });
    for (const seed of ["seed-1", "seed-2"]) expectEqualLosses(join(path("rates"), seed), join(path("alone"), seed));
  });

  it("refuses a batch that cannot be shared before anything is written", () => {
    const { status, stderr } = together(2, [...sweeps.compare![0], "--batch", "3", "--out", path("uneven")]);
    expect(stderr).toContain("a batch that 2 processes can share evenly, got 3 rows");
    expect([status === 0, existsSync(path("uneven"))]).toEqual([false, false]);
  });
});

it.each(["redis://:secret@localhost:1", "slurm", "local:2"])("a sweep over MPI refuses --on %s", (on) => {
  const world = { ...env, OMPI_COMM_WORLD_SIZE: "2", OMPI_COMM_WORLD_RANK: "0" }; // the first speaks for all
  const args = ["dist/cli/main.js", ...sweeps.compare![0], "--on", on, "--out", path("elsewhere")];
  const { status, stderr } = spawnSync(process.execPath, args, { env: world, encoding: "utf8" });
  expect([status, stderr]).toEqual([2, expect.stringContaining("trials in the processes of mpirun, got --on")]);
  expect([stderr.includes("secret"), existsSync(path("elsewhere"))]).toEqual([false, false]);
});

it("local steps want several processes", () => {
  const { status, stderr } = alone([...tasks.train!, "--local-steps", "4", "--out", path("one-local")]);
  expect([status, stderr]).toEqual([2, expect.stringContaining("local steps: expected several processes, got one")]);
  expect(existsSync(path("one-local"))).toBe(false);
});
