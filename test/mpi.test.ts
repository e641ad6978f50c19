import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
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
    const [expected, found] = [lossesOf(path(task)), lossesOf(path(`${task}-2`))];
    expect(found.length).toBe(expected.length);
    const furthest = Math.max(...found.map((loss, i) => Math.abs(loss - expected[i]!)));
    expect(furthest).toBeLessThan(1e-5);
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
    const children = spawnSync("pgrep", ["-P", `${job.pid}`], { encoding: "utf8" })
      .stdout.trim()
      .split("\n");
    process.kill(Number(children.at(-1)), "SIGKILL");
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

it("sweeps want one process", () => {
  const world = { OMPI_COMM_WORLD_SIZE: "2", OMPI_COMM_WORLD_RANK: "0" }; // the first speaks for all
  const args = ["dist/cli/main.js", "compare", "--preset", "tiny", "--only", "vanilla 3/3", "--out", path("sweep")];
  const { status, stderr } = spawnSync(process.execPath, args, { env: { ...env, ...world }, encoding: "utf8" });
  expect([status, stderr]).toEqual([2, expect.stringContaining("sweep: expected one process, got 2 of mpirun")]);
  expect(existsSync(path("sweep"))).toBe(false);
});

it("local steps want several processes", () => {
  const { status, stderr } = alone([...tasks.train!, "--local-steps", "4", "--out", path("one-local")]);
  expect([status, stderr]).toEqual([2, expect.stringContaining("local steps: expected several processes, got one")]);
  expect(existsSync(path("one-local"))).toBe(false);
});
