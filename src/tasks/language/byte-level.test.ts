import { copyFileSync, cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layerwise, ownFolder } from "../../../test/command.ts";

const folder = ownFolder("byte-level");
const at = (name: string) => join(folder, name);
const losses = (name: string) =>
  readFileSync(join(at(name), "events.jsonl"), "utf8").match(/"step","step":\d+,"loss":[\d.]+/g)!;

describe("a run with a tokenizer.json", () => {
  it("keeps its bytes, goes on without the file, evaluates and generates", () => {
    copyFileSync("fixtures/byte-level/llama3.json", at("tokenizer.json"));
    const tiny = ["--preset", "tiny", "--tokenizer", at("tokenizer.json"), "--checkpoint-every", "2"];
    const { status, stderr } = layerwise("train", ...tiny, "--steps", "4", "--out", at("run"));
    expect([status, stderr]).toEqual([0, expect.stringContaining("tokenizer (424 pieces)")]);
    expect(readFileSync(join(at("run"), "tokenizer.model"))).toEqual(readFileSync("fixtures/byte-level/llama3.json"));
    cpSync(at("run"), at("again"), { recursive: true });
    rmSync(at("tokenizer.json"));
    expect(layerwise("resume", at("again"), "--steps", "6").status).toBe(0);
    expect(losses("again").slice(0, 4)).toEqual(losses("run"));
    const { stdout } = layerwise("eval", at("run"), "--json");
    expect(JSON.parse(stdout).bitsPerByte).toBeGreaterThan(0);
    expect(layerwise("generate", at("run"), "--prompt", "it was", "--tokens", "4").stdout).toMatch(/^it was/);
  });

  it("encodes, decodes and describes it on the command line", () => {
    const model = ["--model", "fixtures/byte-level/smollm.json"];
    expect(layerwise("tokenizer", "inspect", ...model, "--json").stdout).toContain('"kind": "byte-level BPE"');
  });
});
