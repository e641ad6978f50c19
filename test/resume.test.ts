import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RandomStream } from "../src/base/random.ts";
import { ownFolder } from "./command.ts";

const folder = ownFolder("resume");

const command = ["dist/cli/main.js"];
const env = { ...process.env, LAYERWISE_CACHE: join(folder, "cache") };
const settings = [
  "--preset",
  "tiny",
  "--seed",
  "1",
  "--checkpoint-every",
  "7",
  "--evaluate-every",
  "15",
  "--batch",
  "16",
];

function layerwise(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...command, ...args], { env, encoding: "utf8" });
  return { status, stdout, stderr };
}

/** Runs the command and kills it after a while; true when it had ended by itself before. */
function killedAfter(delayMs: number, args: string[]): Promise<boolean> {
  const child = spawn(process.execPath, [...command, ...args], { env, stdio: "ignore" });
  const timer = setTimeout(() => child.kill("SIGKILL"), delayMs);
  return new Promise((resolve) => {
    child.on("exit", (code) => {
      clearTimeout(timer);
      resolve(code === 0);
    });
  });
}

/** Step losses and evaluations in order, without times and rates. A run killed between its last checkpoint and its end lacks the latter. */
function lossesOf(run: string) {
  const lines = readFileSync(join(run, "events.jsonl"), "utf8").trimEnd().split("\n");
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type !== "end")
    .map(({ type, step, loss, learningRate, gradientNorm }) => ({ type, step, loss, learningRate, gradientNorm }));
}

const show = (run: string) => JSON.parse(layerwise("runs", "show", run, "--json").stdout);

describe("exact resume", () => {
  const straight = join(folder, "straight");

  it("trains twice to the same bits from one seed", () => {
    expect(layerwise("train", ...settings, "--out", straight).status).toBe(0);
    const again = join(folder, "again");
    expect(layerwise("train", ...settings, "--out", again).status).toBe(0);
    expect(lossesOf(again)).toEqual(lossesOf(straight));
    expect(show(again).weightsHash).toBe(show(straight).weightsHash);
  });

  it("gives the same losses and weights after SIGKILL at 20 random moments", async () => {
    const random = new RandomStream(Date.now(), "kill moments");
    let [kills, runs] = [0, 0];
    while (kills < 20) {
      const run = join(folder, `killed-${runs++}`);
      let done = await killedAfter(250 + random.integer(1000), ["train", ...settings, "--out", run]);
      while (!done) {
        kills++;
        const args = existsSync(join(run, "config.yaml")) ? ["resume", run] : ["train", ...settings, "--out", run];
        done = await killedAfter(kills < 20 ? 250 + random.integer(1000) : 60_000, args);
      }
      expect(lossesOf(run)).toEqual(lossesOf(straight));
      expect(show(run).weightsHash).toBe(show(straight).weightsHash);
    }
  });

  it("finishes the step on SIGINT, saves, and says how to resume", async () => {
    const run = join(folder, "interrupted");
    const child = spawn(process.execPath, [...command, "train", ...settings, "--steps", "5000", "--out", run], { env });
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    while (!existsSync(join(run, "checkpoints", "step-00000007")))
      await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGINT");
    const code = await new Promise((resolve) => child.on("exit", resolve));
    expect(code).toBe(0);
    expect(output).toMatch(`layerwise resume ${run}`);
    expect(show(run).step).toBe(lossesOf(run).at(-1)!.step);
  });

  it("goes on to its end when nobody reads its output any more", async () => {
    const run = join(folder, "unread");
    const child = spawn(process.execPath, [...command, "train", ...settings, "--out", run], { env });
    child.stderr.once("data", () => {
      child.stdout.destroy();
      child.stderr.destroy();
    });
    expect(await new Promise((resolve) => child.on("exit", resolve))).toBe(0);
    expect(show(run)).toMatchObject({ step: 60, weightsHash: show(straight).weightsHash });
  });

  it("tells by its exit code that output which was the point was cut off", async () => {
    const child = spawn("sh", ["-c", `node dist/cli/main.js schema pretrain; echo $? >&2`], { env });
    child.stdout.destroy();
    let code = "";
    child.stderr.on("data", (data) => (code += data));
    await new Promise((resolve) => child.on("exit", resolve));
    expect(code.trim()).toBe("141");
  });

  it("says that a finished run is finished, and changes nothing", () => {
    const before = readFileSync(join(straight, "events.jsonl"), "utf8");
    const { status, stdout } = layerwise("resume", straight);
    expect([status, stdout]).toEqual([0, expect.stringContaining("is finished: 60 steps")]);
    expect(readFileSync(join(straight, "events.jsonl"), "utf8")).toBe(before);
  });

  it("refuses to train into an existing run, naming resume", () => {
    const { status, stderr } = layerwise("train", ...settings, "--out", straight);
    expect([status, stderr]).toEqual([2, expect.stringContaining(`layerwise resume ${straight}`)]);
  });
});
