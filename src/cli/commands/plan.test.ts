import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";

const folder = ownFolder("plan");

const node = ["--import", "tsx", "src/cli/main.ts", "plan"];
const plan = (...args: string[]) => execFileSync(process.execPath, [...node, ...args], { encoding: "utf8" });

describe("layerwise plan", () => {
  it("prints the picture, the array, the parameters and the FLOPs", () => {
    const text = plan("--unique", "3", "--depth", "6", "--share", "cycle");
    expect(text).toContain("layer 2   · · ■ · · ■\n");
    expect(text).toMatch(/plan +0,1,2,0,1,2\n/);
    expect(text).toMatch(/parameters +9.46 M \(unshared: 18.91 M\)/);
  });

  it("gives JSON, a plan by hand, and an SVG", () => {
    const file = join(folder, "plan.svg");
    const found = JSON.parse(plan("--plan", "0,1,1", "--width", "16", "--heads", "2", "--json", "--svg", file));
    expect(Object.keys(found)).toEqual(["plan", "unique", "depth", "parameters", "flopsPerToken"]);
    expect(found).toMatchObject({ plan: [0, 1, 1], unique: 2, depth: 3, parameters: 2 * 3280 });
    // Products alone: 3 layers of 24·C² and 4·T·C for the scores.
    expect(found.flopsPerToken).toBeGreaterThan(3 * (24 * 256 + 4 * 100 * 16));
    expect(readFileSync(file, "utf8")).toContain("<svg");
  });

  it("draws a depth in words, part by part", () => {
    const text = plan("--depth", "1 + 2*2 halt", "--width", "16", "--heads", "2");
    expect(text).toContain("1 + 2*2 halt\n\nlayer 2   · · ■ · ■\n");
    expect(text).toMatch(/all +3 +5 .* tokens decide /);
  });

  it("draws depths of other models", () => {
    const small = ["--width", "16", "--heads", "2", "--length", "8"];
    const found = (...args: string[]) => JSON.parse(plan(...small, "--json", ...args));
    expect(found("--model", "encoder", "--depth", "4")).toMatchObject({ depth: "1*4", unique: 1, executedDepth: 4 });
    const { encoder, decoder } = found("--model", "translate", "--depth", "2*2 halt", "--decoder-depth", "3");
    expect([encoder.executedDepth, decoder.executedDepth, decoder.sourceBytesPerToken]).toEqual([4, 3, 3 * 128]);
    expect(plan(...small, "--model", "translate", "--depth", "1")).toMatch(/encoder: 1\n[\s\S]*decoder: 1\n/);
    const network = found("--model", "transformer-xl", "--depth", "(sf)x1*2", "--memory", "4");
    expect(network).toMatchObject({ unique: 2, executedDepth: 4, plan: [0, 1, 0, 1], keyValueBytesPerToken: 2 * 128 });
  });

  it.each([
    [["--model", "encoder", "--depth", "1*4 exits(gate)"], "an encoder has no head"],
    [["--model", "transformer-xl", "--depth", "1*4 halt"], "leave out halt, or train a model without memory"],
    [["--depth", "4*3", "--decoder-depth", "2"], "expected --model translate for --decoder-depth"],
    [["--depth", "2 + 4x3"], "write 4*3 to run them 3 times with the same weights"],
    [["--depth", "4*3", "--share", "cycle"], 'got --share beside "4*3"; leave out --share'],
  ])("answers %j with a way out", (args, message) => {
    const { status, stderr } = spawnSync(process.execPath, [...node, ...args]);
    expect([status, String(stderr)]).toEqual([2, expect.stringContaining(message)]);
  });

  it("does not load the runtime", () => {
    const script =
      "process.on('exit', () => { if (process.report.getReport().sharedObjects.some((path) => path.includes('onnxruntime'))) process.exitCode = 9; })";
    const watched = ["--import", `data:text/javascript,${encodeURIComponent(script)}`, ...node];
    expect(spawnSync(process.execPath, [...watched, "--json"]).status).toBe(0);
    expect(spawnSync(process.execPath, [...watched, "--json", "--depth", "2*3 halt"]).status).toBe(0);
  });

  it("answers mistakes with exit code 2 and a way out", () => {
    const { status, stderr } = spawnSync(process.execPath, [...node, "--unique", "4", "--depth", "3"]);
    expect([status, String(stderr)]).toEqual([
      2,
      "layerwise: plan: expected 1 ≤ unique ≤ depth ≤ 4096, both whole, got unique 4, depth 3; lower unique or raise depth\n",
    ]);
  });
});
