import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../test/command.ts";
import { lockHolder } from "../files/lock.ts";
import { parseSettings } from "../runs/settings-file.ts";
import { summarise, weightsHash } from "../runs/summary.ts";
import { openJob } from "../tasks/jobs.ts";
import { languageSettings } from "../tasks/language/settings.ts";
import { newRun } from "../tasks/new-run.ts";
import { perform } from "../tasks/perform.ts";
import { hereLauncher } from "./here.ts";
import { sweep } from "./sweep.ts";
import {
  beginSweep,
  isTrialOf,
  nextRound,
  openSweep,
  readSpec,
  readSweep,
  runTrial,
  statesOf,
} from "./sweep-folder.ts";
import { planSweep, type SweepSpec } from "./sweep-plan.ts";

const folder = ownFolder("sweep");
const spec: SweepSpec = {
  task: "language",
  preset: "tiny",
  settings: { steps: 4, evaluateEvery: 2, checkpointEvery: 1, threads: 1, width: 16 },
  vary: { rate: [0.001, 0.01] },
};
const named = (candidates: object) => ({ vary: undefined, candidates });
const hashOf = async (path: string) => weightsHash(await summarise(path));

/** Trains the settings of a trial's file as a run of their own. */
async function trainedAlone(sweepPath: string, index: number): Promise<string> {
  const [file, into] = [join(sweepPath, "trials", `${index}.yaml`), `${sweepPath}-alone-${index}`];
  const settings = languageSettings.resolve([
    { source: file, values: parseSettings(languageSettings, readFileSync(file, "utf8"), file) },
  ]);
  await perform(await openJob({ ...settings, task: "language" }), { into: await newRun(into) }).result;
  return into;
}

const refusalOf = (path: string) =>
  runTrial(path, 0).result.then(
    () => "none",
    ({ message }: Error) => message,
  );

describe("a trial", () => {
  it("gives the weights of a single run with its settings, also when it was stopped, and does nothing once it has ended", async () => {
    const path = join(folder, "trial");
    await beginSweep(path, await planSweep(spec));
    for await (const event of runTrial(path, 1)) if (event.type === "checkpoint") break;
    expect((await statesOf(await openSweep(path))).map(({ status }) => status)).toEqual(["waiting", "stopped"]);
    const state = await runTrial(path, 1).result;
    expect([state.status, state.step, state.figure]).toEqual(["finished", 4, expect.any(Number)]);
    expect(await hashOf(state.run)).toBe(await hashOf(await trainedAlone(path, 1)));
    const before = statSync(join(state.run, "events.jsonl")).mtimeMs;
    expect(await runTrial(path, 1).result).toEqual(state);
    expect(statSync(join(state.run, "events.jsonl")).mtimeMs).toBe(before);
    await expect(runTrial(path, 2).result).rejects.toThrow("expected an index from 0 to 1, got 2");
  });

  it("is run by one process at a time", async () => {
    const path = join(folder, "twice");
    await beginSweep(path, await planSweep(spec));
    let second: Promise<unknown> | undefined;
    for await (const event of runTrial(path, 0)) if (event.type === "step") second ??= refusalOf(path);
    expect(await second).toContain(`process ${process.pid}`);
  });

  it("that diverges has ended, without a figure", async () => {
    const path = join(folder, "diverged");
    const settings = { ...spec.settings, optimiser: "sgd", clipNorm: null, warmup: 0, schedule: "constant" };
    await beginSweep(path, await planSweep({ ...spec, settings, vary: { rate: [1e30] } }));
    expect(await runTrial(path, 0).result).toMatchObject({ status: "diverged", figure: null });
    expect(await readSweep(path)).toMatchObject({ best: null, rows: [{ figure: null }] });
  });
});

describe("the folder of a sweep", () => {
  it("is for one sweep: another is refused with what differs, and so are other files", async () => {
    const path = join(folder, "one");
    await beginSweep(path, await planSweep(spec));
    const other = planSweep({ ...spec, settings: { ...spec.settings, steps: 5 } });
    await expect(beginSweep(path, await other)).rejects.toThrow(
      "begun with (settings.steps 4), got settings.steps 5; give",
    );
    expect((await beginSweep(path, await planSweep(spec))).trials).toHaveLength(2);
    writeFileSync(join(folder, "note"), "");
    await expect(beginSweep(folder, await planSweep(spec))).rejects.toThrow("expected an empty or new folder");
    await expect(openSweep(join(folder, "none"))).rejects.toThrow("expected the folder of a sweep, got no such folder");
  });

  it("grows by seeds and named candidates, whose folders have their names; others stay as they are", async () => {
    const path = join(folder, "grows");
    const two = { ...spec, ...named({ slow: { rate: 0.001 }, "fast 1/2": { rate: 0.01 } }) } as SweepSpec;
    const { trials } = await beginSweep(path, await planSweep({ ...two, seeds: [4] }));
    const before = trials.map(({ folder: own }) => own);
    expect(before).toEqual(["slow/seed-4", "fast-1-2/seed-4"]);
    const more = { ...two, candidates: { slow: { rate: 0.001 }, mid: { rate: 0.003 } }, seeds: [4, 2] };
    await beginSweep(path, await planSweep(more));
    const grown = await openSweep(path);
    const after = grown.trials.map(({ folder: own }) => own);
    expect([after.slice(0, 2), new Set(after).size, after.length]).toEqual([before, 6, 6]);
    expect(grown.trials.filter((each) => isTrialOf(grown.plan, each))).toHaveLength(6);
    const file = (index: number) => readFileSync(join(path, "trials", `${index}.yaml`), "utf8");
    const mid = grown.trials.find(({ name, seed }) => name === "mid" && seed === 2)!;
    expect([file(1), file(mid.index)]).toEqual([
      expect.stringMatching(/^rate: 0\.01$/m),
      expect.stringMatching(/^rate: 0\.003$/m),
    ]);
    const other = planSweep({ ...two, candidates: { slow: { rate: 0.002 } } });
    await expect(beginSweep(path, await other)).rejects.toThrow(
      "(candidates.slow.rate 0.001), got candidates.slow.rate",
    );
    await expect(beginSweep(path, await planSweep(spec))).rejects.toThrow("named true");
  });

  it("with more named candidates than asked for runs only those", async () => {
    const path = join(folder, "grows");
    const candidates = { mid: { rate: 0.003 } };
    const session = sweep({ ...spec, vary: undefined, candidates, seeds: [2], into: path, on: hereLauncher() });
    const steps: string[] = [];
    for await (const event of session) if (event.type === "event") steps.push(event.trial.folder);
    const { reason, rows, best } = await session.result;
    const ran = rows.flatMap(({ trials }) => trials).filter(({ status }) => status === "finished");
    expect([reason, new Set(steps), ran.map(({ run }) => run)]).toEqual([
      "finished",
      new Set(["mid/seed-2"]),
      [join(path, "mid", "seed-2")],
    ]);
    expect(best).toBeNull();
  });

  it("has a file per trial that --config takes, and fills in what a kill left out", async () => {
    const path = join(folder, "files");
    const plan = await planSweep({ ...spec, seeds: [3, 7] });
    await beginSweep(path, plan);
    rmSync(join(path, "sweep.yaml")); // as after a kill: it is written last
    rmSync(join(path, "trials", "3.yaml"));
    const { trials } = await beginSweep(path, plan);
    expect(trials.map(({ seed, values }) => [seed, values.rate])).toEqual([
      [3, 0.001],
      [7, 0.001],
      [3, 0.01],
      [7, 0.01],
    ]);
    const file = join(path, "trials", "3.yaml");
    expect(parseSettings(languageSettings, readFileSync(file, "utf8"), file)).toMatchObject({
      rate: 0.01,
      seed: 7,
      steps: 4,
    });
  });
});

describe("strategies", () => {
  it("draw different candidates within ranges, the same for the same file", async () => {
    const vary = { rate: { low: 1e-4, high: 1e-1, scale: "log" as const }, width: { low: 8, high: 64 }, heads: [1] };
    const given: SweepSpec = { ...spec, settings: { steps: 4 }, vary, strategy: "random", trials: 20 };
    const { candidates } = await planSweep(given);
    expect((await planSweep(given)).candidates).toEqual(candidates);
    expect(new Set(candidates.map((each) => JSON.stringify(each))).size).toBe(20);
    const rates = candidates.map(({ rate }) => rate as number);
    expect([
      Math.min(...rates) >= 1e-4,
      Math.max(...rates) <= 0.1,
      rates.filter((rate) => rate < 3e-3).length > 4,
    ]).toEqual([true, true, true]);
    expect(candidates.every(({ width }) => Number.isInteger(width))).toBe(true);
  });

  it("go on after the process of a trial was killed, to the same bits", async () => {
    process.execArgv.push("--import", "tsx"); // for the processes of trials
    const path = join(folder, "killed");
    const options = {
      ...spec,
      settings: { ...spec.settings, steps: 150, checkpointEvery: 20 },
      vary: { rate: [0.01] },
      into: path,
    };
    const session = sweep(options);
    const kill = () => process.kill(lockHolder(join(path, "runs", "0", "lock"))!.holder.pid, "SIGKILL");
    for await (const event of session) if (event.type === "trial" && event.report) kill();
    const broken = await session.result;
    expect([broken.reason, broken.failed]).toEqual([
      "incomplete",
      [{ index: 0, why: expect.stringContaining("SIGKILL") }],
    ]);
    expect((await sweep(options).result).reason).toBe("finished");
    expect(await hashOf(join(path, "runs", "0"))).toBe(await hashOf(await trainedAlone(path, 0)));
  });

  it("clear away the locks of trials that were killed at their very end", async () => {
    const path = join(folder, "cleared");
    const options = { ...spec, settings: { ...spec.settings, steps: 2 }, vary: { rate: [0.01] }, into: path };
    await sweep(options).result;
    const stale = `${JSON.stringify({ pid: 2 ** 22 + 1, host: hostname(), started: null, token: "0" })}\n`;
    const left = ["runs/0/lock", "trials/0.lock", "trials/.0.lock.1.ab.tmp"].map((name) => join(path, name));
    for (const file of left) writeFileSync(file, stale);
    expect((await sweep(options).result).reason).toBe("finished");
    expect(left.filter((file) => existsSync(file))).toEqual([]);
  });

  it("halve: the better candidates train again for twice as long", async () => {
    const path = join(folder, "halving");
    const rates = [0.01, 0.00001, 0.003];
    const session = sweep({
      ...spec,
      vary: { rate: rates },
      strategy: "halving",
      rounds: 2,
      into: path,
      parallel: 2,
    });
    const ended: number[] = [];
    for await (const event of session) if (event.type === "ended") ended.push(event.trial.index);
    const { reason, rows, best } = await session.result;
    expect([reason, ended.toSorted()]).toEqual(["finished", [0, 1, 2, 3, 4]]);
    expect(rows.map(({ round, trials }) => [round, trials[0]!.step])).toEqual([
      [1, 4],
      [1, 4],
      [0, 2],
      [0, 2],
      [0, 2],
    ]);
    expect(rows.slice(0, 2).map(({ values }) => values.rate)).not.toContain(0.00001);
    expect(best).toEqual(rows[0]);
    expect(existsSync(join(path, "lock"))).toBe(false);
  });

  it("halving works out the next round from those that finished", async () => {
    const sweepFolder = await openSweep(join(folder, "halving"));
    expect(await nextRound(sweepFolder, {})).toBe(sweepFolder);
    expect(sweepFolder.trials.map(({ round }) => round)).toEqual([0, 0, 0, 1, 1]);
  });
});

describe("a sweep's file", () => {
  const bad: [string, object, string][] = [
    ["an unknown setting", { vary: { widht: [1] } }, "f / vary: expected a known key, got widht; did you mean width?"],
    ["a bad value", { vary: { rate: [0.1, "fast"] } }, 'f / vary / rate: expected a number from 0, got "fast"'],
    ["a bad value that holds for all", { settings: { depth: 0 } }, "f / settings / depth: expected a whole number"],
    ["a range in a grid", { vary: { rate: { low: 0.1, high: 1 } } }, "got a range; set strategy to random"],
    ["a range upside down", { strategy: "random", vary: { rate: { low: 1, high: 0.1 } } }, "expected low < high"],
    ["values twice", { vary: { rate: [1, 1] } }, "expected a list of different values"],
    ["nothing that varies", { vary: {} }, "f / vary: expected a setting that varies, candidates or seeds, got none"],
    ["a seed among the settings", { vary: { seed: [1] } }, "got seed; seeds and task have keys of their own"],
    ["a setting that holds and varies", { settings: { rate: 1 } }, "got rate in both"],
    [
      "more trials than there are",
      { strategy: "random", trials: 9 },
      "f / trials: expected at most 2, as many as there are, got 9",
    ],
    [
      "an unknown figure",
      { figure: "accuracy" },
      "f / figure: expected one of perplexity, loss, bitsPerByte, got accuracy",
    ],
    ["an unknown key", { strategie: "grid" }, "f: expected a known key, got strategie; did you mean strategy?"],
    ["an unknown task", { task: "langauge" }, "got langauge; did you mean language?"],
    ["a fine-tuning of nothing", { task: "finetune" }, "f: expected glueTask: finetune has no default, got none"],
    ["seeds twice", { seeds: [1, 1] }, "f / seeds: expected seeds, each once, got [1,1]"],
    ["no seeds", { seeds: 0 }, "f / seeds: expected a number from 1 to 1000, or a list, got 0"],
    ["both vary and candidates", { candidates: { a: { depth: 2 } } }, "f: expected vary or candidates, got both"],
    [
      "a candidate that is a number",
      named({ 7: { rate: 1 } }),
      "expected names that can be folders, and are no numbers",
    ],
    [
      "candidates of one folder",
      named({ "a b": { rate: 1 }, "a/b": { rate: 2 } }),
      "names of different folders, got a/b",
    ],
    ["a candidate without settings", named({ a: 3 }), "f / candidates: expected settings under each name, got 3"],
    [
      "an unknown setting in a candidate",
      named({ a: { rat: 3 } }),
      "f / candidates / a: expected a known key, got rat",
    ],
    [
      "candidates that are drawn",
      { ...named({ a: { rate: 1 } }), strategy: "random" },
      "a grid or halving of them all",
    ],
    ["costs of a training", { costs: "costs.json" }, "f: expected settings of task language, got costs"],
  ];
  it.each(bad)("is refused with %s", async (_, change, message) => {
    await expect(planSweep({ ...spec, ...change } as SweepSpec, "f")).rejects.toThrow(message);
  });

  it.each(["translate", "search", "pretrain"])("may be for %s", async (task) => {
    const { spec: complete, settingsOf } = await planSweep({ task, vary: { width: [32, 64] }, settings: { steps: 8 } });
    expect([complete.goal, settingsOf(1, 0, 5)]).toMatchObject([
      task === "pretrain" ? "highest" : "lowest",
      { width: 64, seed: 5 },
    ]);
  });

  it("stands in the guide as it may be given", async () => {
    const guide = readFileSync(new URL("../../docs/guide/sweeps.md", import.meta.url), "utf8");
    const blocks = [...guide.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text!);
    expect(blocks.length).toBeGreaterThan(1);
    for (const text of blocks) expect((await planSweep(readSpec(text, "guide"))).candidates.length).toBeGreaterThan(1);
  });

  it("may be for a fine-tuning, which goes by its task's metric", async () => {
    const { spec: complete } = await planSweep({ task: "finetune", glueTask: "CoLA", vary: { rate: [1e-4] } });
    expect([complete.figure, complete.goal]).toEqual(["matthews", "highest"]);
  });
});
