import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../test/command.ts";
import { sha256 } from "../files/checksum.ts";
import type { EndReason, TrainState } from "../train/events.ts";
import { RunFolder } from "./folder.ts";
import { differences, findRuns, parameterCount, sparkline, summarise, weightsHash } from "./summary.ts";

const root = ownFolder("summary");

function stateAt(step: number, finished: boolean): TrainState {
  const tensor = { shape: [3], data: new Float32Array(3) };
  const base = { step, groupUpdates: [step], position: step, streams: {}, best: null, evaluationsWithoutBest: 0 };
  return {
    progress: { ...base, elapsedMs: 5000, totalSteps: 8, finished },
    weights: new Map([["w", tensor]]),
    moments: new Map(),
  };
}

/** Four steps and two evaluations, then an end of the given kind (or none). */
async function makeRun(name: string, width: number, reason?: EndReason): Promise<RunFolder> {
  const config = `corpus: books\nwidth: ${width}\nphases:\n  search: ${width}\n`;
  const run = await RunFolder.create(join(root, name), { config, environment: { node: "v20" } });
  const rates = { learningRate: 1, gradientNorm: 1, epoch: 0 };
  for (let step = 1; step <= 4; step++) {
    run.append({ type: "step", step, loss: 5 - step, tokensPerSecond: step * 10, ...rates });
    const figures = { loss: step, perplexity: Math.exp(step), perplexityPerWord: 9, bitsPerByte: 1, tokens: 7 };
    if (step % 2 === 0) run.append({ type: "evaluation", step, split: "valid", best: step === 2, ...figures });
  }
  await run.writeCheckpoint(stateAt(4, reason === "finished"));
  if (reason) run.append({ type: "end", step: 4, reason, elapsedMs: 6000 });
  return run;
}

describe("a run's summary", () => {
  it("holds step, losses, the best evaluation and the hash of the weights", async () => {
    (await makeRun("a/figures", 8, "finished")).close();
    const run = await summarise(join(root, "a/figures"));
    expect(run).toMatchObject({ step: 4, totalSteps: 8, lastLoss: 1, losses: [4, 3, 2, 1], elapsedMs: 6000 });
    expect(run.best).toEqual({ step: 2, loss: 2, perplexity: Math.exp(2), bitsPerByte: 1 });
    expect(run.config).toEqual({ corpus: "books", width: 8, phases: { search: 8 } });
    const weights = join(root, "a/figures/checkpoints/step-00000004/weights.safetensors");
    expect(await weightsHash(run)).toBe(sha256(readFileSync(weights)));
    expect(await parameterCount(run)).toBe(3);
  });

  it("knows the best evaluation by the scalar that decides", async () => {
    const run = await RunFolder.create(join(root, "a/decided"), { config: "task: x\n", environment: {} });
    for (const [step, accuracy] of [0.5, 0.9, 0.8].entries()) {
      const figures = { loss: -step, perplexity: 1, scalars: { accuracy }, decisive: "accuracy" };
      run.append({ type: "evaluation", step, split: "valid", best: false, ...figures });
    }
    run.close();
    expect((await summarise(run.path)).best).toMatchObject({ step: 1, scalars: { accuracy: 0.9 } });
  });

  it("tells running, finished, stopped and killed apart", async () => {
    const statusOf = async (name: string) => (await summarise(join(root, name))).status;
    const running = await makeRun("a/running", 8);
    expect(await statusOf("a/running")).toBe("running");
    running.close();
    expect(await statusOf("a/running")).toBe("stopped");
    (await makeRun("a/aborted", 8, "stopped")).close();
    expect(await statusOf("a/aborted")).toBe("stopped");
    expect(await statusOf("a/figures")).toBe("finished");
    const dead = spawnSync(process.execPath, ["-e", ""]).pid;
    const lock = JSON.parse(readFileSync(join((await makeRun("a/killed", 8)).path, "lock"), "utf8"));
    writeFileSync(join(root, "a/killed/lock"), JSON.stringify({ ...lock, pid: dead }));
    expect(await statusOf("a/killed")).toBe("killed");
  });

  it("of a run that has not begun is empty, not an error", async () => {
    (await RunFolder.create(join(root, "b/new"), { config: "width: 4\nsteps: 9\n", environment: {} })).close();
    const run = await summarise(join(root, "b/new"));
    expect(run).toMatchObject({ step: 0, totalSteps: 9, lastLoss: null, best: null, checkpoints: [] });
    expect(await weightsHash(run)).toBeNull();
  });

  it("names a config that is no YAML", async () => {
    mkdirSync(join(root, "c/bad"), { recursive: true });
    writeFileSync(join(root, "c/bad/config.yaml"), "a: [1");
    await expect(summarise(join(root, "c/bad"))).rejects.toThrow("config.yaml: expected YAML settings");
  });
});

describe("finding and comparing runs", () => {
  it("finds runs at any depth, numbers in order", async () => {
    for (const name of ["10", "9", "more/1"])
      (await RunFolder.create(join(root, "found", name), { config: "a: 1", environment: {} })).close();
    expect(await findRuns(join(root, "found"))).toEqual(["9", "10", "more/1"].map((name) => join(root, "found", name)));
    expect(await findRuns(join(root, "nowhere"))).toEqual([]);
  });

  it("names the settings that differ, nested and missing ones too", () => {
    const found = differences([
      { a: 1, same: [1], deep: { x: 1, y: 2 } },
      { a: 2, same: [1], deep: { x: 1, y: 3 }, extra: null },
    ]);
    expect([...found]).toEqual([
      ["a", [1, 2]],
      ["deep.y", [2, 3]],
      ["extra", [undefined, null]],
    ]);
  });

  it("draws curves in a line", () => {
    expect(sparkline([8, 7, 6, 5, 4, 3, 2, 1])).toBe("█▇▆▅▄▃▂▁");
    expect(sparkline([1, 1, 3, 3], 2)).toBe("▁█");
    expect(sparkline([1, NaN])).toBe("▁×");
    expect(sparkline([2], 4, [0, 4])).toBe("▅");
    expect(sparkline([])).toBe("");
  });
});

describe("layerwise runs", () => {
  const cli = (...args: string[]) =>
    spawnSync(process.execPath, ["--import", "tsx", new URL("../cli/main.ts", import.meta.url).pathname, ...args], {
      encoding: "utf8",
    });

  it("lists runs, with those that cannot be read", () => {
    const { stdout } = cli("runs", root);
    expect(stdout).toMatch(/a\/figures +language books .*perplexity 7\.39 +4 \/ 8 +finished +now +1\.0000/);
    expect(stdout).toMatch(/c\/bad +(– +)+unreadable/);
    expect(stdout).toContain("config.yaml: expected YAML settings, got Flow sequence");
    expect(cli("runs", join(root, "nowhere")).stdout).toContain("no runs under");
  });

  it("shows one as JSON", () => {
    const shown = JSON.parse(cli("runs", "show", join(root, "a/figures"), "--json").stdout);
    expect(shown).toMatchObject({ status: "finished", step: 4, totalSteps: 8, lastLoss: 1, best: { step: 2 } });
    expect(shown.weightsHash).toMatch(/^[0-9a-f]{64}$/);
    expect(shown.checkpoints).toMatchObject([{ step: 4, best: false }]);
    expect(shown.environment).toEqual({ node: "v20" });
  });

  it("compares, and refuses what is no run", async () => {
    (await makeRun("a/wide", 16, "finished")).close();
    const [narrow, wide] = [join(root, "a/figures"), join(root, "a/wide")];
    const { differences: differing } = JSON.parse(cli("runs", "compare", narrow, wide, "--json").stdout);
    expect(differing).toEqual({ width: [8, 16], "phases.search": [8, 16] });
    const { status, stderr } = cli("runs", "show", root);
    expect([status, stderr]).toEqual([2, expect.stringContaining("expected a run folder, got no config.yaml in it")]);
  });
});
