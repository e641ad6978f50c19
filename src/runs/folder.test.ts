import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../test/command.ts";
import type { EvaluationEvent, StepEvent, TrainState } from "../train/events.ts";
import { writeFault } from "./faults.ts";
import { RunFolder } from "./folder.ts";

const root = ownFolder("runs");

const content = { config: "task: language\nwidth: 8\n", environment: { node: "v20", threads: 2 } };
const module = new URL("./folder.ts", import.meta.url).href;
let made = 0;
const newPath = () => join(root, `run-${made++}`);

function stateAt(step: number): TrainState {
  const tensor = (value: number) => ({ shape: [2, 2], data: new Float32Array([value, -0, 1e-40, step]) });
  return {
    progress: {
      step,
      groupUpdates: [step],
      position: step * 3,
      streams: { masks: { seed: 1, name: "masks", position: step } },
      best: { step, loss: Infinity },
      evaluationsWithoutBest: 0,
      elapsedMs: 12.5,
      totalSteps: null,
      finished: false,
    },
    weights: new Map([
      ["b", tensor(1)],
      ["a", tensor(2)],
    ]),
    moments: new Map([["m a", tensor(3)]]),
  };
}

const stepEvent = (step: number, loss = 1 / step): StepEvent => ({
  type: "step",
  step,
  loss,
  learningRate: 1e-3,
  gradientNorm: 0.5,
  tokensPerSecond: 1000,
  epoch: 0,
});

const evaluation = (step: number): EvaluationEvent => ({
  type: "evaluation",
  step,
  split: "valid",
  loss: 2,
  perplexity: Math.exp(2),
  perplexityPerWord: 10,
  bitsPerByte: 1.5,
  tokens: 100,
  best: true,
});

/** A run with checkpoints at the given steps, closed. */
async function runWith(...steps: number[]): Promise<string> {
  const path = newPath();
  const run = await RunFolder.create(path, content);
  for (let step = 1; step <= Math.max(...steps); step++) {
    run.append(stepEvent(step));
    if (steps.includes(step)) await run.writeCheckpoint(stateAt(step));
  }
  run.close();
  return path;
}

const stepsOf = async (run: RunFolder) => (await run.checkpoints()).map(({ step }) => step);
const checkpointsIn = (path: string) => readdirSync(join(path, "checkpoints")).sort();

describe("creating a run", () => {
  it("writes config and environment at once, and refuses a second run by naming resume", async () => {
    const path = newPath();
    const run = await RunFolder.create(path, content);
    expect(readFileSync(join(path, "config.yaml"), "utf8")).toBe(content.config);
    expect(JSON.parse(readFileSync(join(path, "environment.json"), "utf8"))).toEqual(content.environment);
    run.close();
    await expect(RunFolder.create(path, content)).rejects.toThrow(`layerwise resume ${path}`);
  });

  it("refuses a folder with other things in it, and a file", async () => {
    const path = newPath();
    mkdirSync(path);
    writeFileSync(join(path, "thesis.txt"), "");
    await expect(RunFolder.create(path, content)).rejects.toThrow("expected an empty or new folder, got thesis.txt");
    await expect(RunFolder.create(join(path, "thesis.txt"), content)).rejects.toThrow("got a file");
    expect(readdirSync(path)).toEqual(["thesis.txt"]);
  });

  it("takes a folder in which one was killed before its config", async () => {
    const path = newPath();
    mkdirSync(path);
    writeFileSync(join(path, "lock"), "");
    writeFileSync(join(path, "environment.json"), "{");
    (await RunFolder.create(path, content)).close();
    expect((await RunFolder.read(path)).environment).toEqual(content.environment);
  });

  it("gives the folder back when it fails", async () => {
    const path = newPath();
    await expect(RunFolder.create(path, content, { keep: 0 })).rejects.toThrow("at least 1 checkpoint to keep, got 0");
    const environment = { unwritable: 1n };
    await expect(RunFolder.create(path, { ...content, environment })).rejects.toThrow("cannot write the run folder");
    (await RunFolder.create(path, content)).close();
  });
});

describe("opening a run", () => {
  it("says what a path that is no run lacks", async () => {
    await expect(RunFolder.read(join(root, "nowhere"))).rejects.toThrow("expected a run folder, got no such folder");
    await expect(RunFolder.open(root)).rejects.toThrow("got no config.yaml in it; list runs with `layerwise runs`");
  });

  it("excludes other processes until the owner is gone, even by SIGKILL", async () => {
    const path = await runWith(2);
    const script = `import { RunFolder } from ${JSON.stringify(module)};
      await RunFolder.open(${JSON.stringify(path)}); console.log("mine"); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script]);
    await once(child.stdout, "data");
    await expect(RunFolder.open(path)).rejects.toThrow(`in use by process ${child.pid}`);
    expect((await RunFolder.read(path)).owner()).toEqual({ pid: child.pid, live: true });
    child.kill("SIGKILL");
    await once(child, "exit");
    (await RunFolder.open(path)).close();
  });

  it("for reading writes nothing", async () => {
    const run = await RunFolder.read(await runWith(1));
    expect(() => run.append(stepEvent(2))).toThrow("one opened for reading");
    await expect(run.writeCheckpoint(stateAt(2))).rejects.toThrow("one opened for reading");
  });
});

describe("checkpoints", () => {
  it("give back every bit", async () => {
    const run = await RunFolder.read(await runWith(3));
    const { step, state, warnings } = await run.readCheckpoint("last");
    expect([step, warnings]).toEqual([3, []]);
    expect(state.progress).toEqual(stateAt(3).progress);
    expect(new Map([...state.weights].sort().reverse())).toEqual(stateAt(3).weights);
    expect(state.moments).toEqual(stateAt(3).moments);
    expect(Object.is(state.weights.get("a")!.data[1], -0)).toBe(true);
  });

  it("keep the last k and the best", async () => {
    const path = newPath();
    const run = await RunFolder.create(path, content, { keep: 2 });
    for (let step = 1; step <= 6; step++) await run.writeCheckpoint(stateAt(step), { best: step <= 2 });
    expect(checkpointsIn(path)).toEqual(["best.json", "step-00000002", "step-00000005", "step-00000006"]);
    expect((await run.readCheckpoint("best")).step).toBe(2);
    expect((await run.readCheckpoint(5)).step).toBe(5);
    await expect(run.readCheckpoint(4)).rejects.toThrow("a checkpoint of step 4, got checkpoints of steps 2, 5, 6");
    run.close();
  });

  it("of a step written twice hold the second state", async () => {
    const run = await RunFolder.create(newPath(), content);
    await run.writeCheckpoint(stateAt(1));
    const second = stateAt(1);
    second.progress.finished = true;
    await run.writeCheckpoint(second);
    expect((await run.readCheckpoint("last")).state.progress.finished).toBe(true);
    expect(checkpointsIn(run.path)).toEqual(["step-00000001"]);
    run.close();
  });

  it("of many small tensors and some large ones hold each where it belongs", async () => {
    const path = newPath();
    const run = await RunFolder.create(path, content);
    const tensor = (length: number, salt: number) => ({
      shape: [length],
      data: Float32Array.from({ length }, (_, i) => i * 7 + salt),
    });
    const weights = new Map([1, 3, 20_000, 5, 40_000, 2].map((length, i) => [`w${i}`, tensor(length, i)]));
    await run.writeCheckpoint({ ...stateAt(1), weights });
    run.close();
    expect((await (await RunFolder.read(path)).readCheckpoint("last")).state.weights).toEqual(weights);
  });

  it("that are absent are an error with a way out", async () => {
    const run = await RunFolder.create(newPath(), content);
    await expect(run.readCheckpoint("last")).rejects.toThrow("a last checkpoint, got none yet; train further with");
    run.close();
  });
});

describe("a kill", () => {
  it("before the folder is a run leaves nothing to the one that begins there", async () => {
    const path = newPath();
    mkdirSync(path, { recursive: true });
    for (const name of [".lock.1.0123456789abcdef.tmp", ".environment.json.1.01234567.tmp", "environment.json"])
      writeFileSync(join(path, name), "{");
    (await RunFolder.create(path, content)).close();
    expect(readdirSync(path).sort()).toEqual(["checkpoints", "config.yaml", "environment.json", "identity.json"]);
    expect(readFileSync(join(path, "environment.json"), "utf8")).not.toBe("{");
  });

  it("while a checkpoint is written leaves the one before", async () => {
    const path = await runWith(2, 4);
    for (const [i, files] of [[], ["weights.safetensors"], ["weights.safetensors", "moments.safetensors"]].entries()) {
      const half = join(path, "checkpoints", `.tmp-${i}`);
      mkdirSync(half);
      for (const file of files) cpSync(join(path, "checkpoints/step-00000004", file), join(half, file));
    }
    const run = await RunFolder.open(path);
    expect((await run.readCheckpoint("last")).step).toBe(4);
    expect(checkpointsIn(path)).toEqual(["step-00000002", "step-00000004"]);
    run.close();
  });

  it("while checkpoints are removed leaves no more than are kept, once the run goes on", async () => {
    const path = await runWith(1, 2, 3);
    const run = await RunFolder.open(path, { keep: 1 });
    await run.prune();
    expect(checkpointsIn(path)).toEqual(["step-00000003"]);
    run.close();
  });

  it("between the two renames that replace a checkpoint loses neither", async () => {
    const path = await runWith(2);
    const place = join(path, "checkpoints/step-00000002");
    cpSync(place, `${place}.replaced`, { recursive: true });
    rmSync(place, { recursive: true });
    const run = await RunFolder.open(path);
    expect((await run.readCheckpoint("last")).step).toBe(2);
    run.close();
  });

  it("before best.json is written does not lose the best", async () => {
    const path = newPath();
    const run = await RunFolder.create(path, content, { keep: 1 });
    await run.writeCheckpoint(stateAt(1), { best: true });
    await run.writeCheckpoint(stateAt(2), { best: true });
    writeFileSync(join(path, "checkpoints/best.json"), '{"step":1}');
    run.close();
    const again = await RunFolder.open(path, { keep: 1 });
    await again.writeCheckpoint(stateAt(3));
    expect(await again.checkpoints()).toMatchObject([
      { step: 2, best: true },
      { step: 3, best: false },
    ]);
    again.close();
  });

  it("at random moments always leaves a valid last checkpoint, and what it claims in events.jsonl", async () => {
    const path = newPath();
    (await RunFolder.create(path, content)).close();
    const script = `import { RunFolder } from ${JSON.stringify(module)};
      const run = await RunFolder.open(${JSON.stringify(path)}, { keep: 1 });
      let step = (await run.checkpoints()).at(-1)?.step ?? 0;
      await run.cutBack(step);
      const tensors = new Map([["w", { shape: [50_000], data: new Float32Array(50_000) }]]);
      for (;;) {
        step++;
        run.append({ type: "step", step, loss: step, learningRate: 1, gradientNorm: 1, tokensPerSecond: 1, epoch: 0 });
        await run.writeCheckpoint({ progress: { step }, weights: tensors, moments: tensors }, { best: step % 3 === 0 });
        console.log(step);
      }`;
    let step = 0;
    for (const delayMs of [0, 7, 19, 41]) {
      const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script]);
      let [said] = await once(child.stdout, "data");
      child.stdout.on("data", (text) => (said = text));
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      child.kill("SIGKILL");
      await once(child, "close");
      const loaded = await (await RunFolder.read(path)).readCheckpoint("last");
      expect(loaded.warnings).toEqual([]);
      expect(loaded.step).toBeGreaterThan(step);
      step = loaded.step;
      expect(step).toBeGreaterThanOrEqual(Number(String(said).trim().split("\n").at(-1)));
      const steps = (await (await RunFolder.read(path)).events()).map((event) => event.step);
      expect(steps.slice(0, step)).toEqual(Array.from({ length: step }, (_, i) => i + 1));
    }
    const run = await RunFolder.open(path);
    expect((await run.readCheckpoint("best")).step).toBe(step - (step % 3));
    run.close();
  });

  it("while a line is written costs that line only", async () => {
    const path = await runWith(3);
    appendFileSync(join(path, "events.jsonl"), '{"type":"step","step":4,"lo');
    const run = await RunFolder.open(path);
    await run.cutBack(3);
    run.append(stepEvent(4));
    run.close();
    expect((await run.events()).map(({ step }) => step)).toEqual([1, 2, 3, 4]);
  });
});

describe("a damaged checkpoint", () => {
  const damages: Record<string, (folder: string) => void> = {
    "without its moments": (folder) => rmSync(join(folder, "moments.safetensors")),
    "with weights cut short": (folder) => truncateSync(join(folder, "weights.safetensors"), 100),
    "with one bit turned": (folder) => {
      const bytes = readFileSync(join(folder, "weights.safetensors"));
      bytes[bytes.length - 1]! ^= 1;
      writeFileSync(join(folder, "weights.safetensors"), bytes);
    },
    "with another step in its state": (folder) => {
      const file = join(folder, "state.json");
      writeFileSync(file, readFileSync(file, "utf8").replace('"position": 4', '"position": 6'));
    },
    "with half a state": (folder) => truncateSync(join(folder, "state.json"), 20),
    "with a foreign state": (folder) => writeFileSync(join(folder, "state.json"), '{"step":4}'),
    "without a state": (folder) => rmSync(join(folder, "state.json")),
  };
  for (const [how, damage] of Object.entries(damages))
    it(`${how} is passed over with a warning, and refused by step`, async () => {
      const path = await runWith(2, 4);
      const folder = join(path, "checkpoints/step-00000004");
      damage(folder);
      const run = await RunFolder.open(path);
      const { step, warnings } = await run.readCheckpoint("last");
      expect(step).toBe(2);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain(folder);
      expect(warnings[0]).toContain("took step 2 instead");
      await expect(run.readCheckpoint(4)).rejects.toThrow(folder);
      await run.cutBack(2);
      expect(await stepsOf(run)).toEqual([2]);
      run.close();
    });

  it("of a later version says so", async () => {
    const path = await runWith(4);
    const file = join(path, "checkpoints/step-00000004/state.json");
    writeFileSync(
      file,
      readFileSync(file, "utf8").replace(/"version": 2|,\s*"sha256": "\w+"/g, (part) =>
        part.includes("version") ? '"version": 9' : "",
      ),
    );
    await expect((await RunFolder.read(path)).readCheckpoint("last")).rejects.toThrow(
      "expected version 2 at most, got 9",
    );
    const run = await RunFolder.open(path, { keep: 1 });
    await run.writeCheckpoint(stateAt(5));
    expect(checkpointsIn(path)).toEqual(["step-00000004", "step-00000005"]); // it is not ours to remove
    run.close();
  });
});

describe("events", () => {
  it("are one JSON object a line, also with numbers that JSON lacks", async () => {
    const run = await RunFolder.create(newPath(), content);
    run.append(stepEvent(1, NaN));
    run.append({ ...stepEvent(2, Infinity), scalars: { temperature: -Infinity } });
    run.close();
    const lines = readFileSync(join(run.path, "events.jsonl"), "utf8").trimEnd().split("\n");
    expect(lines[0]).toMatch(/^\{"type":"step","step":1,"loss":"NaN",/);
    expect(lines.map((line) => JSON.parse(line).step)).toEqual([1, 2]);
    const [first, second] = await run.events();
    expect(first).toMatchObject({ loss: NaN });
    expect(second).toMatchObject({ loss: Infinity, scalars: { temperature: -Infinity } });
  });

  it("before a checkpoint are on disk when it appears", async () => {
    const run = await RunFolder.create(newPath(), content);
    run.append(stepEvent(1));
    await run.writeCheckpoint(stateAt(1));
    await expect((await RunFolder.read(run.path)).events()).resolves.toHaveLength(1);
    run.close();
  });

  it("after a step are cut, with any end", async () => {
    const path = await runWith(2, 6);
    const run = await RunFolder.open(path);
    run.append(evaluation(6));
    run.append({ type: "end", step: 6, reason: "stopped", elapsedMs: 1 });
    await run.cutBack(6);
    expect((await run.events()).map(({ type, step }) => `${type} ${step}`).slice(-2)).toEqual([
      "step 6",
      "evaluation 6",
    ]);
    await run.cutBack(2);
    expect((await run.events()).map(({ step }) => step)).toEqual([1, 2]);
    expect(await stepsOf(run)).toEqual([2]);
    await run.cutBack(0);
    expect(await run.events()).toEqual([]);
    run.close();
  });

  it("are told in words every hundred steps and at evaluations", async () => {
    const run = await RunFolder.create(newPath(), content);
    run.log("a model");
    for (let step = 1; step <= 200; step++) run.append(stepEvent(step, step <= 100 ? 1 : 3));
    run.append(evaluation(200));
    run.append({ type: "end", step: 200, reason: "finished", elapsedMs: 61_000 });
    run.close();
    const lines = readFileSync(join(run.path, "log.txt"), "utf8").split("\n");
    expect(lines).toHaveLength(6);
    expect(lines[1]).toMatch(/^step 100 {2}epoch 0 {2}loss 1.0000 {2}perplexity 2.72 /);
    expect(lines[2]).toContain("loss 3.0000");
    expect(lines[3]).toContain("valid at step 200  loss 2.0000  perplexity 7.39");
    expect(lines[4]).toBe("finished at step 200  1:01 of training");
  });
});

it("shows the first step at once, and those of the next second together", async () => {
  const run = await RunFolder.create(newPath(), content);
  run.log("begins");
  const linesAfter = (step: number) => {
    run.append(stepEvent(step));
    return readFileSync(join(run.path, "events.jsonl"), "utf8").trim().split("\n").length;
  };
  expect([1, 2, 3].map(linesAfter)).toEqual([1, 1, 1]);
  run.close();
});

describe("a fault of the disk", () => {
  it.runIf(existsSync("/dev/full"))("when it is full stops with advice and keeps the checkpoint", async () => {
    const path = await runWith(2);
    const run = await RunFolder.open(path);
    rmSync(join(path, "events.jsonl"));
    symlinkSync("/dev/full", join(path, "events.jsonl"));
    const full = `cannot write events.jsonl: the disk is full; free some space, then continue from the last checkpoint with \`layerwise resume ${path}\``;
    expect(() => run.append(stepEvent(3))).toThrow(full);
    await expect(run.writeCheckpoint(stateAt(3))).rejects.toThrow(full);
    run.close();
    expect((await (await RunFolder.read(path)).readCheckpoint("last")).step).toBe(2);
  });

  it("when it is read-only says that, and not that the folder is gone", () => {
    const error = Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
    expect(writeFault("runs/1", "events.jsonl", error).message).toMatch(
      /the file system is read-only; make it writable/,
    );
  });

  it("when the folder is deleted is an error, and nothing grows in its place", async () => {
    const run = await RunFolder.create(newPath(), content);
    rmSync(run.path, { recursive: true });
    expect(() => run.append(stepEvent(1))).toThrow("the folder is gone");
    await expect(run.writeCheckpoint(stateAt(1))).rejects.toThrow("the folder is gone");
    run.close();
    expect(existsSync(run.path)).toBe(false);
  });

  it("when another run took the folder does not touch that", async () => {
    const run = await RunFolder.create(newPath(), content);
    rmSync(run.path, { recursive: true });
    const other = await RunFolder.create(run.path, content);
    expect(() => run.append(stepEvent(1))).toThrow("expected this process's lock on the folder");
    run.close();
    expect(other.owner()?.live).toBe(true);
    other.close();
  });

  it.runIf(process.platform === "linux")(
    "while a checkpoint is written keeps the one before and no rubbish",
    async () => {
      const path = await runWith(2);
      const script = `import { RunFolder } from ${JSON.stringify(module)};
      const run = await RunFolder.open(${JSON.stringify(path)});
      const weights = new Map([["w", { shape: [100_000], data: new Float32Array(100_000) }]]);
      const state = { progress: { step: 3 }, weights, moments: new Map() };
      await run.writeCheckpoint(state).catch((error) => console.log(error.name, error.message));
      run.close();`;
      const limited = 'ulimit -f 100; exec "$@"'; // files of at most 100 KiB
      const args = ["-c", limited, "-", process.execPath, "--import", "tsx", "--input-type=module", "-e", script];
      const { stdout } = spawnSync("bash", args, { encoding: "utf8" });
      expect(stdout).toContain(
        `LayerwiseError ${path}: cannot write the checkpoint of step 3: the file would be larger`,
      );
      expect(checkpointsIn(path)).toEqual(["step-00000002"]);
    },
  );
});
