import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "./command.ts";

const folder = ownFolder("train");
const env = { ...process.env, LAYERWISE_CACHE: join(folder, "cache") };
const run = join(folder, "run");

function layerwise(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["dist/cli/main.js", ...args], {
    env,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

function train(name: string, ...args: string[]) {
  return layerwise("train", "--preset", "tiny", "--steps", "12", "--out", join(folder, name), ...args);
}

describe("layerwise train", () => {
  beforeAll(() => {
    expect(train("run").status).toBe(0);
  });

  it("leaves a folder with config, events, log, TensorBoard files, tokenizer and checkpoints", () => {
    for (const file of [
      "config.yaml",
      "environment.json",
      "events.jsonl",
      "log.txt",
      "tensorboard",
      "tokenizer.model",
      "checkpoints",
    ]) {
      expect(existsSync(join(run, file)), file).toBe(true);
    }
    const events = readFileSync(join(run, "events.jsonl"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.filter(({ type }) => type === "step").map(({ step }) => step)).toEqual(
      Array.from({ length: 12 }, (_, i) => i + 1),
    );
    const {
      layerwise: version,
      node,
      onnxruntime,
      threads,
    } = JSON.parse(readFileSync(join(run, "environment.json"), "utf8"));
    expect([version, node, typeof onnxruntime, typeof threads]).toEqual(["0.1.0", process.version, "string", "number"]);
  });

  it("evaluates, generates and exports from the run", () => {
    const figures = JSON.parse(layerwise("eval", run, "--split", "test", "--json").stdout);
    expect(Object.keys(figures)).toEqual(["split", "loss", "perplexity", "perplexityPerWord", "bitsPerByte", "tokens"]);
    expect(figures.perplexity).toBeCloseTo(Math.exp(figures.loss), 6);
    const twice = [1, 2].map(
      () => layerwise("generate", run, "--prompt", "the", "--tokens", "8", "--seed", "3").stdout,
    );
    expect(twice[0]).toMatch(/^the/);
    expect(twice[0]).toBe(twice[1]);
    expect(layerwise("export", run).status).toBe(0);
    expect(existsSync(join(run, "export", "model.onnx"))).toBe(true);
    expect(layerwise("export", run)).toMatchObject({ status: 2, stderr: expect.stringContaining("--force") });
  });

  it("starts from another run's weights", () => {
    const { status } = train("second", "--init", run, "--rate", "0");
    expect(status).toBe(0);
    const hash = (path: string) => JSON.parse(layerwise("runs", "show", path, "--json").stdout).weightsHash;
    expect(hash(join(folder, "second"))).toBe(hash(run)); // a rate of 0 leaves them as they were
    expect(train("third", "--init", run, "--width", "16")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("embedding.weight: expected numbers of shape [300,16], got [300,32]"),
    });
    expect(train("third", "--init", join(folder, "nowhere")).status).not.toBe(0);
    expect(existsSync(join(folder, "third"))).toBe(false);
  });

  it("has another run's weights also when it was killed before its first checkpoint", () => {
    const [straight, cut] = [join(folder, "begun"), join(folder, "begun-cut")];
    expect(train("begun", "--init", run, "--steps", "2").status).toBe(0);
    cpSync(straight, cut, { recursive: true });
    for (const name of ["checkpoints", "events.jsonl"]) rmSync(join(cut, name), { recursive: true });
    expect(layerwise("resume", cut).status).toBe(0);
    const losses = (path: string) =>
      readFileSync(join(path, "events.jsonl"), "utf8").match(/"step","step":\d+,"loss":[\d.]+/g);
    expect(losses(cut)).toEqual(losses(straight));
    expect(losses(cut)).not.toEqual(losses(run)?.slice(0, 2));
  });

  it("prints model, plan, memory and an estimate with --dry-run, and writes nothing", () => {
    const out = join(folder, "dry");
    const { status, stdout } = layerwise("train", "--preset", "tiny", "--unique", "1", "--dry-run", "--out", out);
    expect([status, existsSync(out)]).toEqual([0, false]);
    for (const word of ["plan", "0 0", "distinct parameters", "FLOPs per token", "memory", "estimated time"])
      expect(stdout).toContain(word);
  });

  it("orders defaults, preset, file and flags, and stores what came out", () => {
    const file = join(folder, "settings.yaml");
    writeFileSync(file, "width: 48\nheads: 3\nrate: 0.01\n");
    expect(train("layers", "--config", file, "--rate", "0.005").status).toBe(0);
    const config = readFileSync(join(folder, "layers", "config.yaml"), "utf8");
    expect(config).toMatch(/width: 48\n[\s\S]*rate: 0\.005\n/);
    expect(config).toContain("length: 32");
  });

  it("answers mistakes with one line, exit code 2, and no folder", () => {
    const file = join(folder, "wrong.yaml");
    const wrong = (text: string) => {
      writeFileSync(file, text);
      return train("wrong", "--config", file).stderr;
    };
    expect(wrong("widht: 3")).toContain("expected a known key, got widht; did you mean width?");
    expect(wrong("width: -3")).toContain("/ width: expected a whole number from 1 to 65536, got -3");
    expect(wrong("[1, 2")).toContain("expected YAML settings");
    expect(train("wrong", "--width", "x")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("a whole number from 1"),
    });
    expect(train("wrong", "--preset", "tinny")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("did you mean tiny?"),
    });
    expect(train("wrong", "--epochs", "2")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("one of steps, epochs and minutes"),
    });
    expect(train("wrong", "--corpus", "nowhere.txt").status).toBe(2);
    expect(layerwise("train", "--device", "cuda", "--out", join(folder, "wrong"))).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/device: expected one that is present \(cpu.*\), got cuda/),
    });
  });

  it("stops at a loss that is not finite, with the step, the tensor and advice", () => {
    const { status, stderr } = train(
      "diverged",
      "--rate",
      "1e30",
      "--clip-norm",
      "none",
      "--warmup",
      "0",
      "--steps",
      "30",
    );
    expect(status).toBe(1);
    expect(stderr).toMatch(/at step \d+, the loss is .*lower learning rate/);
  });

  it("learns a tiny corpus by heart", () => {
    const text = join(folder, "tiny.txt");
    writeFileSync(
      text,
      "the quick brown fox jumps over the lazy dog while seven wizards quietly judge my vow\n".repeat(400),
    );
    const settings = [
      "--pieces",
      "44",
      "--steps",
      "150",
      "--dropout",
      "0",
      "--rate",
      "0.01",
      "--batch",
      "8",
      "--length",
      "16",
    ];
    const { status } = train("heart", "--corpus", text, ...settings);
    expect(status).toBe(0);
    const last = readFileSync(join(folder, "heart", "events.jsonl"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(last.filter(({ type }) => type === "step").at(-1).loss).toBeLessThan(0.1);
  });
});
