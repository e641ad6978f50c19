import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { command, layerwise, ownFolder } from "./command.ts";

const folder = ownFolder("retrain");

const at = (name: string) => join(folder, name);

const model = "--pieces 300 --width 16 --heads 2 --feed-forward 32 --memory 4 --batch 4 --length 8 --cutoffs 40,120";
const tiny = `${model} --evaluation-batch 32 --evaluation-length 32 --warmup 2 --evaluate-every 16 --threads 1`.split(
  " ",
);
/** Small, so that measuring takes no time. */
const quick = ["--threads", "1", "--latency", "1x8+8"];

const read = (run: string, file: string) => readFileSync(join(at(run), file), "utf8");
const lossesOf = (run: string) =>
  read(run, "events.jsonl")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === "step")
    .map(({ loss }) => loss);

describe("layerwise retrain", () => {
  beforeAll(() => {
    expect(layerwise("search", ...tiny, "--blocks", "4", "--steps", "6", "--out", at("search")).status).toBe(0);
  });

  it("trains the found network and the baseline under the search's settings, and compares them", () => {
    const { status, stdout } = layerwise("retrain", at("search"), ...quick, "--json", "--out", at("whole"));
    const { networks, ratios, latency } = JSON.parse(stdout);
    const { pattern } = JSON.parse(read("search", "architecture.json"));
    expect([status, networks.map((each: { pattern: string }) => each.pattern)]).toEqual([0, [pattern, "(sf)x2"]]);
    expect(ratios.perplexity).toBeCloseTo(networks[0].perplexity / networks[1].perplexity, 12);
    expect(networks[1].executedDepth).toBe(4);
    expect(latency).toEqual({ batch: 1, length: 8, memory: 8, threads: 1 });
    expect([lossesOf("whole").length, lossesOf("whole-baseline").length]).toEqual([6, 6]);
    expect(JSON.parse(read("whole", "retrain.json")).networks).toEqual(networks);
  });

  it("goes on after a kill, the baseline included, with the same losses", async () => {
    const args = ["retrain", at("search"), ...quick, "--checkpoint-every", "4", "--steps", "32"];
    const child = spawn(process.execPath, command(...args, "--out", at("killed")));
    const checkpoints = join(at("killed"), "checkpoints");
    while (!existsSync(checkpoints) || readdirSync(checkpoints).length < 2) {
      expect(child.exitCode).toBe(null);
      await setTimeout(5);
    }
    child.kill("SIGKILL");
    await once(child, "exit");
    const { status, stdout } = layerwise("resume", at("killed"));
    expect([status, stdout]).toEqual([0, expect.stringContaining("ratio")]);
    layerwise(...args, "--out", at("unbroken"));
    expect(lossesOf("killed")).toEqual(lossesOf("unbroken"));
    expect(lossesOf("killed-baseline")).toEqual(lossesOf("unbroken-baseline"));
    expect(lossesOf("killed")).toHaveLength(32);
  });

  it("starts from the supernet's weights where asked, and compares with a run that is there", () => {
    const from = ["--from-supernet", "--baseline", at("whole-baseline"), "--steps", "3", "--json"];
    const { stdout } = layerwise(
      "retrain",
      join(at("search"), "architecture.json"),
      ...quick,
      ...from,
      "--out",
      at("from"),
    );
    const [found, baseline] = JSON.parse(stdout).networks;
    expect(baseline.run).toBe(at("whole-baseline"));
    expect([existsSync(at("from-baseline")), found.name]).toEqual([false, "found"]);
    // Six updates of the supernet came before: the first loss is below that of fresh weights.
    expect(lossesOf("from")[0]).toBeLessThan(lossesOf("whole")[0]);
  });

  it("builds blocks of the sizes that the search chose, with the supernet's weights of just these", () => {
    const sized = ["--candidates", "f:48,f:64", "--cut", "0.6", "--blocks", "2", "--steps", "12"];
    expect(layerwise("search", ...tiny, ...sized, "--out", at("sized")).status).toBe(0);
    const { pattern } = JSON.parse(read("sized", "architecture.json"));
    const from = ["--from-supernet", "--no-baseline", "--json", "--out", at("large")];
    const { networks } = JSON.parse(layerwise("retrain", at("sized"), ...quick, ...from).stdout);
    const plain = layerwise(
      "retrain",
      "ff",
      ...tiny,
      ...quick,
      "--no-baseline",
      "--json",
      "--steps",
      "12",
      "--out",
      at("ff"),
    );
    const added = (pattern.match(/48|64/g) as string[]).map((text) => Number(text) - 32);
    expect(networks[0].pattern).toBe(pattern);
    // Two products and a bias grow with the hidden width, 16 wide each.
    const extra = networks[0].parameters - JSON.parse(plain.stdout).networks[0].parameters;
    expect(extra).toBe((pattern.includes("x2") ? 2 * added[0]! : added[0]! + added[1]!) * (2 * 16 + 1));
    expect(lossesOf("large")[0]).toBeLessThan(lossesOf("ff")[0]);
  });

  it("trains a published pattern, scaled, without a baseline", () => {
    const { stdout } = layerwise(
      "retrain",
      "par-enwik8/4",
      ...tiny,
      ...quick,
      "--no-baseline",
      "--steps",
      "2",
      "--json",
      "--out",
      at("named"),
    );
    const { networks, ratios } = JSON.parse(stdout);
    expect([networks.length, networks[0].pattern, ratios]).toEqual([1, "s(f)x3", null]);
  });

  it.each([
    [[], ["found", "baseline", "random-1", "random-2"]],
    [["--no-baseline"], ["found", "random-1", "random-2"]],
  ])("trains the baseline beside random networks unless told otherwise, %j", (flags, names) => {
    const asked = ["--random", "2", "--budget", "100ms", "--steps", "1", "--json", ...flags];
    const { stdout, stderr } = layerwise("retrain", at("search"), ...quick, ...asked, "--out", at(`null${flags}`));
    expect(stderr).not.toContain("error");
    expect(JSON.parse(stdout).networks.map(({ name }: { name: string }) => name)).toEqual(names);
  });

  it("says before it begins what both networks would take, and leaves nothing", () => {
    const { stdout } = layerwise("retrain", at("search"), ...quick, "--steps", "50", "--dry-run", "--out", at("dry"));
    expect(stdout).toMatch(/found: updates +50\n.*\n.*baseline: memory/);
    expect(existsSync(at("dry"))).toBe(false);
  });

  it.each([
    [["no-such-run"], "pattern: expected letters"],
    [["(sf)x2", "--from-supernet"], "from supernet: expected a search with weights, got (sf)x2"],
    [["SEARCH", "--width", "15"], "expected a width divisible by heads"],
    [["SEARCH", "--baseline", "nowhere"], "nowhere: expected a run folder"],
    [["BROKEN"], "expected the architecture that a search found, got JSON without a pattern"],
  ])("refuses %j", (args, message) => {
    writeFileSync(at("broken.json"), "{}");
    const named = args.map((each) => each.replace("SEARCH", at("search")).replace("BROKEN", at("broken.json")));
    const { status, stderr } = layerwise("retrain", ...named, "--out", at("refused"));
    expect([status === 0, existsSync(at("refused"))]).toEqual([false, false]);
    expect(stderr).toContain(message);
  });
});

describe("runs of search and retrain", () => {
  it("are measured on any split, with any memory, mixed or decided", () => {
    const run = at("search");
    const figures = (...args: string[]) => JSON.parse(layerwise("eval", run, "--json", ...args).stdout);
    const plain = figures();
    expect(plain.perplexity).toBeCloseTo(JSON.parse(read("search", "architecture.json")).perplexity, 6);
    expect(plain.perplexity).toBeCloseTo(Math.exp(plain.loss), 6);
    const other = figures("--split", "test", "--evaluation-memory", "12", "--mixture", "arg-max");
    expect([other.split, other.evaluationMemory, other.mixture]).toEqual(["test", 12, "arg-max"]);
    expect(other.loss).not.toBe(plain.loss);
  });

  it("continue a text out of their memory, the same from the same seed", () => {
    const text = () =>
      layerwise("generate", at("whole"), "--tokens", "12", "--evaluation-memory", "9", "--json").stdout;
    const { text: first } = JSON.parse(text());
    expect(first.length).toBeGreaterThan(5);
    expect(JSON.parse(text()).text).toBe(first);
  });

  it("are listed with their blocks, go on as others do, and are exported, their blocks decided or not", () => {
    expect(layerwise("runs", folder).stdout).toMatch(/retrain books +\(sf\)x2/);
    expect(layerwise("resume", at("search")).stdout).toContain("retrain");
    expect(layerwise("export", at("whole")).stdout).toContain("token.onnx");
    expect(readdirSync(join(at("whole"), "export"))).toContain("model.safetensors");
    expect(layerwise("export", at("search")).status).toBe(0);
    expect(readdirSync(join(at("search"), "export"))).toContain("model.safetensors");
  });
});
