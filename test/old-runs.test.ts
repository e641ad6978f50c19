import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

/** Runs of layerwise 0.1.0, as fixtures/runs/make.sh made them: killed half-way, with what they would have come to. */
const fixtures = "fixtures/runs";
const folder = mkdtempSync(join(tmpdir(), "layerwise-old-runs-"));
cpSync(fixtures, folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true }));

interface Expected {
  steps: number;
  losses: number[];
  evaluations: { step: number; loss: number }[];
  weightsHash: string;
  pattern?: string;
}
const expected: Record<string, Expected> = JSON.parse(readFileSync(join(fixtures, "expected.json"), "utf8"));

function layerwise(...args: string[]) {
  const env = { ...process.env, LAYERWISE_CACHE: join(folder, "cache") };
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", "src/cli/main.ts", ...args], {
    encoding: "utf8",
    env,
  });
  expect(status, stderr).toBe(0);
  return stdout;
}

const readJson = (...parts: string[]) => JSON.parse(readFileSync(join(...parts), "utf8"));
const eventsOf = (run: string) =>
  readFileSync(join(folder, run, "events.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** Whether this machine computes with the instructions that the fixtures were made with: then bits must agree too. */
function sameMachine(run: string): boolean {
  const now = JSON.parse(layerwise("doctor", "--json"));
  const then = readJson(fixtures, run, "environment.json");
  return (
    then.instructionSet === now.instructions.join(", ") &&
    then.node === process.version &&
    then.onnxruntime === now.versions.onnxruntime
  );
}

function checkFinished(run: string): void {
  const wanted = expected[run]!;
  const events = eventsOf(run);
  const losses = events.filter(({ type }) => type === "step").map(({ loss }) => loss);
  expect(losses).toHaveLength(wanted.steps);
  // Other processors differ in the last bits of each step.
  for (const [i, loss] of losses.entries()) expect(loss).toBeCloseTo(wanted.losses[i]!, 4);
  const evaluations = events.filter(({ type }) => type === "evaluation");
  expect(evaluations.map(({ step }) => step)).toEqual(wanted.evaluations.map(({ step }) => step));
  for (const [i, { loss }] of evaluations.entries()) expect(loss).toBeCloseTo(wanted.evaluations[i]!.loss, 4);
  const checkpoints = join(folder, run, "checkpoints");
  const last = readdirSync(checkpoints)
    .filter((name) => name.startsWith("step-"))
    .sort()
    .at(-1)!;
  const hash = createHash("sha256")
    .update(readFileSync(join(checkpoints, last, "weights.safetensors")))
    .digest("hex");
  if (sameMachine(run)) expect(hash).toBe(wanted.weightsHash);
}

describe("a run of layerwise 0.1.0", () => {
  it.each(["language", "halting", "translate", "pretrain", "glue"])("of kind %s goes on to the same end", (run) => {
    layerwise("resume", join(folder, run));
    checkFinished(run);
  });

  it("of a retrained network goes on to the same end, its baseline too", () => {
    layerwise("resume", join(folder, "retrain"));
    checkFinished("retrain");
    const { networks, ratios } = readJson(folder, "retrain", "retrain.json");
    expect(networks.map(({ pattern }: { pattern: string }) => pattern)).toEqual(["(f)x2", "sf"]);
    expect(ratios.parameters).toBeGreaterThan(0);
  });

  it("of a search from several seeds goes on seed by seed", () => {
    layerwise("resume", join(folder, "seeds"));
    for (const seed of ["seeds/seed-1", "seeds/seed-2"]) checkFinished(seed);
    const { pattern, seeds } = readJson(folder, "seeds", "architecture.json");
    expect(seeds.map((each: { pattern: string }) => each.pattern)).toEqual([
      expected["seeds/seed-1"]!.pattern,
      expected["seeds/seed-2"]!.pattern,
    ]);
    expect(seeds.map((each: { pattern: string }) => each.pattern)).toContain(pattern);
  });

  it("is measured, continued and exported", () => {
    const last = (run: string) => expected[run]!.evaluations.at(-1)!.loss;
    for (const run of ["search", "retrain-baseline"]) {
      const { loss } = JSON.parse(layerwise("eval", join(folder, run), "--checkpoint", "last", "--json"));
      expect(loss).toBeCloseTo(last(run), 4);
    }
    expect(JSON.parse(layerwise("eval", join(folder, "albert"), "--json")).masked).toBeGreaterThan(0);
    expect(layerwise("generate", join(folder, "search"), "--tokens", "4", "--prompt", "it was")).toMatch(/^it was/);
    layerwise("export", join(folder, "retrain-baseline"));
    layerwise("export", join(folder, "imported"));
    expect(existsSync(join(folder, "imported", "export", "model.safetensors"))).toBe(true);
    expect(JSON.parse(layerwise("depth", join(folder, "albert"), "--text", "it was", "--json")).tokens[0].piece).toBe(
      "[CLS]",
    );
  });
});
