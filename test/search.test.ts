import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { command, layerwise, ownFolder } from "./command.ts";

const folder = ownFolder("search");

const tiny =
  "--pieces 300 --width 16 --heads 2 --feed-forward 32 --blocks 2 --memory 4 --batch 4 --length 8 --cutoffs 40,120 --evaluation-batch 32 --evaluation-length 32".split(
    " ",
  );

function search(...args: string[]) {
  const threads = args.includes("--resume") ? [] : ["--threads", "1"]; // what goes on does so as it began
  return layerwise("search", ...tiny, ...threads, ...args);
}

/** Begins a search, and ends it by a signal once so many checkpoints are there, in the folder or in one of its seeds. */
async function interrupted(
  name: string,
  args: string[],
  how: { signal: NodeJS.Signals; after: number; seed?: string },
) {
  const child = spawn(process.execPath, command("search", ...tiny, "--threads", "1", ...args, "--out", run(name)));
  const checkpoints = join(run(name), how.seed ?? ".", "checkpoints");
  while (!existsSync(checkpoints) || readdirSync(checkpoints).length < how.after) await setTimeout(1);
  child.kill(how.signal);
  await once(child, "exit");
}

const run = (name: string) => join(folder, name);
const short = ["--steps", "6", "--warmup", "2", "--evaluate-every", "3", "--json"];
/** Losses of all steps of a run. */
const lossesOf = (name: string) =>
  readFileSync(join(run(name), "events.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === "step")
    .map(({ loss, scalars }) => [loss, scalars.temperature]);

/** Bytes of all pictures of a run, by name. */
function picturesOf(name: string): Record<string, string> {
  const files = readdirSync(join(run(name), "pictures")).sort();
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(run(name), "pictures", file), "base64")]));
}

/** Milliseconds of sf, by measured costs. */
const baselineOf = ({ rest, candidates }: { rest: { ms: number }; candidates: { ms: number }[] }) =>
  rest.ms + candidates[0]!.ms + candidates[1]!.ms;

describe("layerwise search", () => {
  it("trains, shows π at evaluations, and leaves the architecture that it found", () => {
    const { status, stdout, stderr } = search(...short, "--out", run("first"));
    expect([status, stderr.match(/feed-forward \|/g)?.length]).toEqual([0, 2]);
    const found = JSON.parse(stdout);
    expect(found.pattern).toMatch(/^[sfi()x\d]+$/);
    expect(found.noisyMeanBatchPerplexity).toBeGreaterThan(1);
    expect(found.noisyMeanBatchPerplexity).not.toBe(found.meanBatchPerplexity);
    expect(found.probabilities.map((shares: number[]) => shares.reduce((a, b) => a + b).toFixed(6))).toEqual([
      "1.000000",
      "1.000000",
    ]);
    expect(JSON.parse(readFileSync(join(run("first"), "architecture.json"), "utf8")).pattern).toBe(found.pattern);
    const pictures = ["pi-000003.png", "pi-000003.svg", "pi-000006.png", "pi-000006.svg", "pi-dark.gif", "pi.gif"];
    expect(Object.keys(picturesOf("first"))).toEqual(pictures);
  });

  it("gives the same losses from the same seed, the temperature annealed on the way", () => {
    search(...short, "--out", run("again"));
    expect(lossesOf("again")).toEqual(lossesOf("first"));
    const temperatures = lossesOf("first").map(([, temperature]) => temperature);
    expect(temperatures[0]).toBe(5);
    expect(temperatures.every((each, i) => i === 0 || each < temperatures[i - 1])).toBe(true);
  });

  it("goes on after a kill with the same losses and pictures, memory included", async () => {
    const hasty = ["--architecture-rate", "0.2", "--cut", "0.7", "--cut-every", "10"];
    const long = ["--steps", "120", "--evaluate-every", "10", "--checkpoint-every", "5", "--json", ...hasty];
    await interrupted("killed", long, { signal: "SIGKILL", after: 2 });
    expect(search("--resume", run("killed"), "--json").status).toBe(0);
    search(...long, "--out", run("whole"));
    expect(lossesOf("killed")).toHaveLength(120);
    expect(lossesOf("killed")).toEqual(lossesOf("whole"));
    const { cuts } = JSON.parse(readFileSync(join(run("whole"), "architecture.json"), "utf8"));
    expect(cuts.length).toBeGreaterThan(0);
    expect(Object.keys(picturesOf("whole"))).toHaveLength(2 * 12 + 2);
    expect(picturesOf("killed")).toEqual(picturesOf("whole"));
  });

  it("stops on SIGINT without a result, and goes on to the same one", async () => {
    const long = ["--steps", "300", "--evaluate-every", "300", "--checkpoint-every", "5", "--json"];
    await interrupted("stopped", long, { signal: "SIGINT", after: 1 });
    expect(lossesOf("stopped").length).toBeLessThan(300);
    expect(existsSync(join(run("stopped"), "architecture.json"))).toBe(false);
    const resumed = search("--resume", run("stopped"), "--json");
    expect([resumed.status, resumed.stderr.includes("not as when the run began")]).toEqual([0, false]);
    search(...long, "--out", run("unstopped"));
    expect(lossesOf("stopped")).toEqual(lossesOf("unstopped"));
  });

  it("by turns leaves π alone while it is frozen, and moves only it in its own turns", () => {
    const args = ["--procedure", "alternate", "--architecture-rate", "0.01", "--freeze", "0.5", "--steps", "8"];
    const frozen = search(...args, "--freeze", "1", "--json", "--out", run("frozen"));
    const third = 1 / 3;
    for (const shares of JSON.parse(frozen.stdout).probabilities) {
      for (const share of shares) expect(share).toBeCloseTo(third, 12);
    }
    const moved = search(...args, "--json", "--out", run("moved"));
    expect(JSON.parse(moved.stdout).probabilities[0][0]).not.toBeCloseTo(third, 6);
  });

  it("searches from several seeds under a budget, judged by one measurement, and knows when it is done", () => {
    const args = ["--seeds", "2", "--budget", "0.9", "--latency", "1x8+16", "--steps", "4", "--json"];
    const { status, stdout, stderr } = search(...args, "--out", run("seeds"));
    expect([status, stderr.match(/embedding and softmax/g)?.length]).toEqual([0, 2]);
    const best = JSON.parse(stdout);
    expect(best.seeds.map(({ seed }: { seed: number }) => seed)).toEqual([1, 2]);
    const costs = (seed: number) => readFileSync(join(run("seeds"), `seed-${seed}`, "costs.json"), "utf8");
    expect(costs(2)).toBe(costs(1));
    expect(best.targetMs).toBeCloseTo(0.9 * baselineOf(best.costs), 10);
    const again = search("--resume", run("seeds"), "--json");
    expect(JSON.parse(again.stdout).seeds).toEqual(best.seeds);
  });

  it("goes on with the seeds that a kill left unfinished, and ends with the same words", async () => {
    const args = ["--seeds", "3,5,4", "--steps", "60", "--checkpoint-every", "5", "--latency", "1x8+8"];
    await interrupted("cut", args, { signal: "SIGKILL", after: 2, seed: "seed-5" });
    expect(existsSync(join(run("cut"), "seed-4"))).toBe(false);
    const resumed = layerwise("resume", run("cut"));
    const whole = search(...args, "--out", run("uncut"));
    // Milliseconds are measured anew, and time passes; nothing else differs.
    const words = (text: string) => text.replaceAll("uncut", "cut").replace(/\d+\.\d+ ms|in \d+ s/g, "");
    const rows = (name: string) =>
      JSON.parse(readFileSync(join(run(name), "architecture.json"), "utf8")).seeds.map(
        ({ seed, pattern, perplexity }: Record<string, unknown>) => [seed, pattern, perplexity],
      );
    expect(words(resumed.stdout)).toBe(words(whole.stdout));
    expect(rows("cut")).toEqual(rows("uncut"));
    expect(resumed.stderr).toContain("chosen");
    for (const seed of [3, 5, 4]) expect(lossesOf(`cut/seed-${seed}`)).toEqual(lossesOf(`uncut/seed-${seed}`));
    const used = layerwise("eval", run("cut"), "--json");
    expect(whole.stdout).toContain(`found ${JSON.parse(used.stdout).pattern} after`);
  });

  it("trains a pattern as an ordinary network", () => {
    const { status, stdout } = search(...short, "--pattern", "(sf)x2", "--out", run("pattern"));
    const { pattern, noisyMeanBatchPerplexity } = JSON.parse(stdout);
    expect([status, pattern, noisyMeanBatchPerplexity]).toEqual([0, "(sf)x2", null]);
  });

  it("says before it begins what it would be and take, and leaves nothing", () => {
    const { status, stdout } = search(
      "--steps",
      "50",
      "--latency",
      "1x8+8",
      "--dry-run",
      "--json",
      "--out",
      run("dry"),
    );
    const facts = new Map(JSON.parse(stdout).map(({ what, value }: { what: string; value: string }) => [what, value]));
    expect([status, facts.get("updates"), existsSync(run("dry"))]).toEqual([0, "50", false]);
    expect(facts.get("blocks")).toBe("2, each of attention, feed-forward, identity");
    expect(facts.get("measured step")).toContain("tokens/s");
  });

  it.each([
    [["--cutoffs", "120,40"], "softmax / cutoffs: expected rising whole numbers"],
    [["--cutoffs", "40,400"], "softmax / cutoffs"],
    [["--cutoffs", "40,40"], "softmax / cutoffs: expected rising whole numbers"],
    [["--projection-sizes", "4"], "softmax / projection sizes: expected 2 whole numbers from 1, one per tail, got [4]"],
    [["--cutoffs", "none", "--projection-sizes", "4"], "projection sizes: expected cutoffs to have tails, got [4]"],
    [["--memory", "1000000"], "memory: expected at most"],
    [["--heads", "3"], "expected a width divisible by heads"],
    [["--pattern", "sq"], "pattern: expected letters"],
    [["--steps", "2", "--epochs", "1"], "expected one of steps, epochs and minutes, got steps and epochs"],
    [["--budget", "cheap"], "budget: expected milliseconds above 0, such as 3.2ms"],
    [["--budget", "0.000001ms"], "the cheapest network here"],
    [["--length", "100000"], "expected at least batch · (length + 1)"],
    [["--seeds", "0"], "seeds: expected a number from 1"],
    [["--seeds", "2", "--cutoffs", "40,40"], "softmax / cutoffs: expected rising whole numbers"],
  ])("refuses %j before it trains", (args, message) => {
    const { status, stderr } = search("--out", run("refused"), ...args);
    expect(status).not.toBe(0);
    expect(stderr).toContain(message);
    expect(existsSync(run("refused"))).toBe(false);
  });
});
