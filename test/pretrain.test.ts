import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { RunFolder } from "../src/runs/folder.ts";
import { summarise, weightsHash } from "../src/runs/summary.ts";
import { layerwiseWith, ownFolder } from "./command.ts";

const folder = ownFolder("pretrain");
const whole = join(folder, "whole");

const env = { ...process.env, NO_COLOR: "1" };
const layerwise = (...args: string[]) => layerwiseWith({ env }, ...args);

const settings = ["--preset", "trial", "--threads", "1", "--dropout", "0.1", "--accumulate", "2", "--steps", "12"];
const rest = ["--ponder-from", "0.4"];
const phases = ["--long-length", "48", "--long-share", "0.5", "--checkpoint-every", "3", "--evaluate-every", "4"];

beforeAll(() => {
  const { status, stderr } = layerwise("pretrain", ...settings, ...rest, ...phases, "--keep", "9", "--out", whole);
  expect(status, stderr).toBe(0);
});

const lossesOf = async (path: string) =>
  (await (await RunFolder.read(path)).events()).flatMap((event) => ("loss" in event ? [event.loss] : []));

describe("layerwise pretrain", () => {
  it("writes every part of the loss and every kind's depth at each evaluation", async () => {
    const events = await (await RunFolder.read(whole)).events();
    const evaluations = events.filter((event) => event.type === "evaluation");
    expect(evaluations.map(({ step }) => step)).toEqual([4, 8, 12]);
    expect(evaluations[0]!.decisive).toBe("mlm_accuracy");
    const names = Object.keys(evaluations[0]!.scalars ?? {});
    expect(names).toEqual(
      expect.arrayContaining(["mlm_loss", "mlm_accuracy", "sop_loss", "sop_accuracy", "ponder_cost", "ponder_loss"]),
    );
    expect(names).toEqual(
      expect.arrayContaining(["depth/all", "depth/[MASK/MASK]", "depth/[CLS]", "depth/[SEP]", "depth/at cap"]),
    );
  });

  it("leaves the halting unit alone until it is to learn", async () => {
    const run = await RunFolder.read(whole);
    const biasAt = async (step: number) => {
      const { state } = await run.readCheckpoint(step);
      return [...state.weights.get("encoder.halting.unit.bias")!.data];
    };
    expect(await biasAt(3)).toEqual([-2]);
    expect(await biasAt(12)).not.toEqual([-2]);
  });

  it.each([3, 6, 9])("goes on from step %i, before, between and after the phases, to the same bits", async (step) => {
    const cut = join(folder, `cut-${step}`);
    cpSync(whole, cut, { recursive: true });
    const run = await RunFolder.open(cut);
    await run.cutBack(step);
    run.close();
    expect(layerwise("resume", cut).status).toBe(0);
    expect(await lossesOf(cut)).toEqual(await lossesOf(whole));
    expect(await weightsHash(await summarise(cut))).toBe(await weightsHash(await summarise(whole)));
  });

  it("begun with another run's weights has them also when it was killed before its first checkpoint", async () => {
    const [straight, cut] = [join(folder, "begun"), join(folder, "begun-cut")];
    const flags = [
      "--init",
      whole,
      ...settings,
      ...phases,
      "--steps",
      "2",
      "--evaluate-texts",
      "16",
      "--out",
      straight,
    ];
    expect(layerwise("pretrain", ...flags).status).toBe(0);
    cpSync(straight, cut, { recursive: true });
    for (const name of ["checkpoints", "events.jsonl"]) rmSync(join(cut, name), { recursive: true });
    expect(layerwise("resume", cut).status).toBe(0);
    expect(await lossesOf(cut)).toEqual(await lossesOf(straight));
    expect((await lossesOf(straight))[0]).toBeLessThan((await lossesOf(whole))[0]!);
  });

  it("has a baseline of fixed depth, and one without a penalty", () => {
    const short = [...settings, "--steps", "2", "--evaluate-texts", "16"];
    for (const [name, flags] of Object.entries({ fixed: ["--no-halt"], free: ["--ponder", "0"] })) {
      const { status, stderr } = layerwise("pretrain", ...short, ...flags, "--out", join(folder, name));
      expect(status, stderr).toBe(0);
    }
    expect(readFileSync(join(folder, "fixed", "config.yaml"), "utf8")).not.toContain("halting:");
    expect(readFileSync(join(folder, "fixed", "events.jsonl"), "utf8")).not.toContain("ponder");
  });

  it("leaves the order of sentences alone where it is told to, but not with random ones", async () => {
    const [path, flags] = [join(folder, "orderless"), [...settings, "--no-sentence-order"]];
    const short = ["--steps", "2", "--evaluate-texts", "16", "--out", path];
    const { status, stdout, stderr } = layerwise("pretrain", ...flags, ...short);
    expect([status, stdout], stderr).toEqual([0, expect.stringMatching(/masked words [\d.]+ %$/m)]);
    expect(readFileSync(join(path, "config.yaml"), "utf8")).not.toContain("sentenceOrder: {}");
    expect(readFileSync(join(path, "events.jsonl"), "utf8")).not.toContain("sop_loss");
    const refused = layerwise("pretrain", ...flags, "--random-next", "--out", join(folder, "refused"));
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining("got --no-sentence-order")]);
    expect(existsSync(join(folder, "refused"))).toBe(false);
  });

  it("tries one batch of each phase and makes no folder with --dry-run", () => {
    const out = join(folder, "dry");
    const { status, stdout, stderr } = layerwise("pretrain", ...settings, ...phases, "--dry-run", "--out", out);
    expect([status, existsSync(out)], stderr).toEqual([0, false]);
    expect(stdout).toMatch(/^phase 1: updates +6$/m);
    expect(stdout).toMatch(/^phase 2: measured step .* tokens\/s$/m);
  });

  it("refuses settings it does not know", () => {
    const file = join(folder, "bad.yaml");
    writeFileSync(file, "ponderWarmpu: 0.5\n");
    const { status, stderr } = layerwise("pretrain", "--config", file);
    expect([status, stderr]).toEqual([2, expect.stringContaining("did you mean ponderWarmup?")]);
  });
});

describe("layerwise depth", () => {
  it("gives a row a token, whose means are those of the table", () => {
    const { stdout } = layerwise("depth", whole, "--texts", "16", "--threads", "1", "--json");
    const { kinds, tokens, cap } = JSON.parse(stdout);
    const own = tokens.filter(({ kind }: { kind: string }) => kind === "[MASK/MASK]");
    const mean = own.reduce((sum: number, { depth }: { depth: number }) => sum + depth, 0) / own.length;
    const row = kinds.find(({ name }: { name: string }) => name === "[MASK/MASK]");
    expect([cap, row.tokens]).toEqual([4, own.length]);
    expect(row.mean).toBeCloseTo(mean, 10);
  });

  it("names file and line of a bad treebank", () => {
    const file = join(folder, "bad.conllu");
    writeFileSync(file, "# text = a\n1\ta\n");
    const { status, stderr } = layerwise("depth", whole, "--conllu", file, "--threads", "1");
    expect([status, stderr]).toEqual([1, expect.stringContaining("bad.conllu:2: expected 10 columns")]);
  });
});
