import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { layerwise, ownFolder } from "../../../test/command.ts";

const folder = ownFolder("initial");
const at = (name: string) => join(folder, name);
const train = (name: string, ...args: string[]) => layerwise("train", "--preset", "tiny", ...args, "--out", at(name));
const losses = (name: string) =>
  readFileSync(join(at(name), "events.jsonl"), "utf8").match(/"step","step":\d+,"loss":[\d.]+/g)!;
const firstLoss = (name: string) => Number(/loss":([\d.]+)/.exec(losses(name)[0]!)![1]);

beforeAll(() => {
  expect(train("deep", "--depth", "4", "--steps", "30").status).toBe(0);
});

describe("first weights out of a run of another depth", () => {
  it("are mapped onto shared blocks, and said with their errors", () => {
    const { status, stderr } = train(
      "relaxed",
      "--depth",
      "2*2 relax(32, norms, biases)",
      "--steps",
      "3",
      "--init",
      at("deep"),
    );
    expect(status).toBe(0);
    expect(stderr).toContain(`first weights out of ${at("deep")}, step 30 (shared blocks by average)`);
    expect(stderr).toMatch(/blocks\.1 +2 +blocks\.3 +0\.000/);
    expect(stderr).toContain("unused of the source: nothing");
    // Additions of full rank lose nothing: the loss is a trained model's, not ln 300 = 5.7.
    expect(firstLoss("relaxed")).toBeLessThan(5.3);
  });

  it("leave gates to the seed and name blocks that nothing stands for", () => {
    const { status, stderr } = train(
      "halting",
      "--depth",
      "1 + 1 halt",
      "--steps",
      "3",
      "--init",
      at("deep"),
      "--init-blocks",
      "first",
    );
    expect([status, stderr.includes("(shared blocks by first)")]).toEqual([0, true]);
    expect(stderr).toContain("drawn from the seed: halting.unit.weight, halting.unit.bias");
    expect(stderr).toMatch(/unused of the source: blocks\.1 \(norm1\.weight.* and 8 more\), blocks\.2/);
  });

  it("are the same where the run was killed before its first checkpoint", () => {
    cpSync(at("halting"), at("cut"), { recursive: true });
    for (const name of ["checkpoints", "events.jsonl"]) rmSync(join(at("cut"), name), { recursive: true });
    expect(layerwise("resume", at("cut")).status).toBe(0);
    expect(losses("cut")).toEqual(losses("halting"));
  });

  it("are not needed again by a run that has a checkpoint", () => {
    cpSync(at("deep"), at("gone"), { recursive: true });
    expect(train("begun", "--depth", "2*2", "--steps", "3", "--init", at("gone")).status).toBe(0);
    rmSync(at("gone"), { recursive: true });
    expect(layerwise("resume", at("begun"), "--steps", "5").status).toBe(0);
    expect(losses("begun").length).toBe(5);
  });

  it("are refused where sizes differ, and what means something else is said", () => {
    const wide = train("wide", "--depth", "2*2 halt", "--width", "16", "--init", at("deep"));
    expect(wide).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("expected [300,16] for embedding.weight"),
    });
    const { stderr } = train("heads", "--depth", "2*2 halt", "--heads", "4", "--steps", "1", "--init", at("deep"));
    expect(stderr).toContain("heads is 4 here and was 2 in the source");
  });
});
