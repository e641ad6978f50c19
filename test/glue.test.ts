import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { RandomStream } from "../src/base/random.ts";
import { summarise, weightsHash } from "../src/runs/summary.ts";
import { writeModel } from "../src/text/sentencepiece/model-writer.ts";
import { TRAINING_DEFAULTS } from "../src/text/sentencepiece/training/options.ts";
import { Trainer } from "../src/text/sentencepiece/training/trainer.ts";
import { command, layerwise, ownFolder } from "./command.ts";

const folder = ownFolder("glue");

const at = (...parts: string[]) => join(folder, ...parts);
const glue = (...args: string[]) => layerwise("glue", ...args);

/** Praise and blame in made-up sentences: one word decides. */
const words = { praise: ["good", "fine", "lovely"], blame: ["bad", "dull", "awful"] };
const others = ["the", "film", "a", "story", "with", "people", "in", "it", "and", "music"];

function sentences(count: number, seed: number): { text: string; label: number }[] {
  const random = new RandomStream(seed, "sentences");
  return Array.from({ length: count }, () => {
    const label = random.integer(2);
    const text = Array.from({ length: 3 + random.integer(8) }, () => others[random.integer(others.length)]!);
    text[random.integer(text.length)] = words[label ? "praise" : "blame"][random.integer(3)]!;
    return { text: text.join(" "), label };
  });
}

function write(path: string, header: string, lines: readonly string[]): void {
  mkdirSync(join(at(path), ".."), { recursive: true });
  writeFileSync(at(path), `${[header, ...lines].join("\n")}\n`);
}

beforeAll(() => {
  const [training, dev, test] = [sentences(240, 1), sentences(60, 2), sentences(20, 3)];
  const labelled = (all: typeof dev) => all.map(({ text, label }) => `${text}\t${label}`);
  write("glue/SST-2/train.tsv", "sentence\tlabel", labelled(training));
  write("glue/SST-2/dev.tsv", "sentence\tlabel", labelled(dev));
  write(
    "glue/SST-2/test.tsv",
    "index\tsentence",
    test.map(({ text }, i) => `${i}\t${text}`),
  );
  const scored = (all: typeof dev) =>
    all.map((each, i) => `${i}\tx\tx\tx\tx\tx\tx\t${each.text}\tthe film\t${each.label ? "4.5" : "0.500"}`);
  const wide = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2";
  write("glue/STS-B/train.tsv", `${wide}\tscore`, scored(training));
  write("glue/STS-B/dev.tsv", `${wide}\tscore`, scored(dev));
  write(
    "glue/STS-B/test.tsv",
    wide,
    scored(test).map((line) => line.split("\t").slice(0, 9).join("\t")),
  );
  const specials = {
    padId: 0,
    unknownId: 1,
    bosId: 2,
    eosId: 3,
    padPiece: "<pad>",
    bosPiece: "[CLS]",
    eosPiece: "[SEP]",
  };
  const trainer = new Trainer({ ...TRAINING_DEFAULTS, ...specials, controlSymbols: ["[MASK]"], vocabularySize: 40 });
  for (const { text } of training) trainer.add(text);
  writeFileSync(at("tiny.model"), writeModel(trainer.finish()));
});

const sizes = "--width 16 --embedding 8 --heads 2 --depth 2 --length 24 --threads 1".split(" ");
const scratch = () => ["--scratch", "--glue", at("glue"), "--tokenizer", at("tiny.model"), ...sizes];
const short = ["--epochs", "6", "--batch", "8", "--rate", "0.01"];

describe("layerwise glue", () => {
  it("learns a task with adaptive depth, evaluates each epoch, and leaves a run that predicts", () => {
    const args = [
      ...scratch(),
      ...short,
      "--halt",
      "--ponder",
      "0.01",
      "--pooling",
      "mean",
      "--json",
      "--out",
      at("sst"),
    ];
    const { status, stdout, stderr } = glue("SST-2", ...args);
    expect([status, stderr.match(/^step \d+ .* accuracy .* depth /gm)?.length]).toEqual([0, 6]);
    const { epochs, best, metric } = JSON.parse(stdout);
    expect([epochs.length, metric]).toEqual([6, "accuracy"]);
    expect(epochs[best - 1].figures.accuracy).toBeGreaterThan(0.9); // chance is 0.5
    expect(epochs[0].figures.depth).toBeGreaterThan(1);
    expect(JSON.parse(glue("eval", at("sst"), "--json", "--threads", "1").stdout).figures).toEqual(
      epochs[best - 1].figures,
    );
    expect(JSON.parse(layerwise("eval", at("sst"), "--json").stdout)).toMatchObject({ split: "dev", task: "SST-2" });
    const shown = layerwise("runs", "show", at("sst")).stdout;
    const score = (100 * epochs[best - 1].figures.accuracy).toFixed(2);
    expect(shown).toMatch(new RegExp(`^task +SST-2$.*^score +accuracy ${score} % at step .*^epochs +6 of 6$`, "ms"));
    expect(glue("predict", at("sst"), "--out", at("submission")).status).toBe(0);
    const lines = readFileSync(at("submission", "SST-2.tsv"), "utf8").trim().split("\n");
    const right = sentences(20, 3).filter(({ label }, i) => lines[i + 1] === `${i}\t${label}`);
    expect([lines[0], lines.length]).toEqual(["index\tprediction", 21]);
    expect(right.length).toBeGreaterThanOrEqual(17);
  });

  it("goes on from a run with another head, and keeps numbers of STS-B within 0 and 5", () => {
    const data = ["--from", at("sst"), "--glue", at("glue"), "--threads", "1", "--optimiser", "lamb", "--rate", "0.03"];
    const { status, stdout } = glue("STS-B", ...data, "--epochs", "3", "--batch", "8", "--json", "--out", at("sts"));
    expect([status, Object.keys(JSON.parse(stdout).epochs[0].figures)]).toEqual([0, ["pearson", "spearman", "depth"]]);
    expect(glue("predict", at("sts"), "--out", at("submission")).status).toBe(0);
    const said = readFileSync(at("submission", "STS-B.tsv"), "utf8").trim().split("\n").slice(1);
    expect(said.every((line) => /^\d+\t[0-5]\.\d{3}$/.test(line))).toBe(true);
  });

  it("begins with new weights in the model of a run, and refuses embeddings without deviation", () => {
    const like = ["--scratch", "--like", at("sst"), "--glue", at("glue"), "--threads", "1", "--epochs", "1"];
    expect(glue("SST-2", ...like, "--out", at("like")).status).toBe(0);
    const modelOf = (run: string) => readFileSync(at(run, "config.yaml"), "utf8").split("training:")[0]!;
    expect(modelOf("like").replace(/pooling: .*/, "")).toBe(modelOf("sst").replace(/pooling: .*/, ""));
    const bad = ["--from", at("sst"), "--embedding-deviation", "0", "--out", at("bad")];
    expect(glue("SST-2", ...bad)).toMatchObject({ status: 2, stderr: expect.stringContaining("embedding") });
  });

  it("says what it would be and how long it would take with --dry-run, and makes no folder", () => {
    const { status, stdout } = glue("SST-2", ...scratch(), ...short, "--dry-run", "--out", at("dry"));
    expect([status, existsSync(at("dry"))]).toEqual([0, false]);
    expect(stdout).toMatch(/^texts +240 to learn from, 60 to judge by$.*^updates +180$/ms);
  });

  it("refuses unknown tasks and missing weights with exit code 2, bad lines with the file and line", () => {
    expect(glue("SST", "--scratch")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("did you mean SST-2?"),
    });
    expect(glue("SST-2").stderr).toContain("expected --from RUN or --scratch, got neither");
    write("glue/CoLA/train.tsv", "x\t1\t\tsome text", ["x\t3\t\tmore"]);
    const { status, stderr } = glue("CoLA", ...scratch());
    expect([status, stderr]).toEqual([1, expect.stringMatching(/CoLA\/train\.tsv: line 2: expected a label of 0, 1/)]);
  });
});

describe("a fine-tuning that was stopped", () => {
  const own = ["--dropout", "0.1", "--checkpoint-every", "7", "--epochs", "4", "--batch", "8", "--rate", "0.003"];
  const args = (name: string) => [
    ...["SST-2", "--from", at("sst"), "--glue", at("glue"), "--threads", "1", ...own, "--out", at(name)],
  ];
  const resume = (name: string) => layerwise("resume", at(name));
  /** All but times and rates. */
  const eventsOf = (name: string) =>
    readFileSync(at(name, "events.jsonl"), "utf8")
      .split(/\n(?=.)/)
      .map((line) => ({ ...JSON.parse(line), crc: 0, timeMs: 0, tokensPerSecond: 0, elapsedMs: 0 }));
  const weightsOf = async (name: string) => weightsHash(await summarise(at(name)));
  const result = (name: string) => readFileSync(at(name, "result.json"), "utf8");

  async function stopped(name: string, signal: "SIGKILL" | "SIGINT", when: string) {
    const child = spawn(process.execPath, command("glue", ...args(name)));
    let said = "";
    child.stdout.on("data", (text) => (said += text));
    while (!existsSync(at(name, when))) await setTimeout(5);
    child.kill(signal);
    await once(child, "exit");
    return said;
  }

  it.each([
    ["before its first checkpoint", "SIGKILL", "config.yaml"],
    ["in its second epoch", "SIGKILL", "checkpoints/step-00000035"],
    ["by Ctrl-C", "SIGINT", "checkpoints/step-00000007"],
  ] as const)("%s goes on to the same bits", async (_, signal, when) => {
    if (!existsSync(at("straight"))) expect(glue(...args("straight")).status).toBe(0);
    const name = `stopped-${when.slice(-2)}`;
    const said = await stopped(name, signal, when);
    if (signal === "SIGINT") expect(said).toContain(`layerwise resume ${at(name)}`);
    expect(existsSync(at(name, "result.json"))).toBe(false);
    const { status, stderr } = resume(name);
    expect(status, stderr).toBe(0);
    expect(eventsOf(name)).toEqual(eventsOf("straight"));
    expect([await weightsOf(name), result(name)]).toEqual([await weightsOf("straight"), result("straight")]);
  });

  it("between its last checkpoint and its result still gives that, and nothing else", () => {
    const before = result("straight");
    rmSync(at("straight", "result.json"));
    expect(resume("straight").stdout).toContain("is finished: 120 steps");
    expect(result("straight")).toBe(before);
  });
});

const grid = "--rates 0.01,0.003 --batches 16,32 --seeds 2 --epochs 2 --parallel 2 --examples 64 --json".split(" ");
const resultsIn = (name: string) =>
  existsSync(at(name))
    ? readdirSync(at(name), { recursive: true })
        .map(String)
        .filter((file) => file.endsWith("result.json"))
    : [];
const finished = (name: string) => resultsIn(name).length;

describe("layerwise glue search", () => {
  const search = (name: string) => ["search", "SST-2", ...scratch(), ...grid, "--out", at(name)];

  it("of 8 trials, killed in the middle, finishes with the same table", async () => {
    const whole = glue(...search("whole"));
    const child = spawn(process.execPath, command("glue", ...search("killed")));
    while (finished("killed") < 3) await setTimeout(20);
    child.kill("SIGKILL");
    await once(child, "exit");
    const before = finished("killed");
    const resumed = glue(...search("killed"));
    const table = ({ stdout }: { stdout: string }) => JSON.parse(stdout.replaceAll(at("killed"), at("whole")));
    expect([whole.status, resumed.status, before < 8]).toEqual([0, 0, true]);
    expect(table(resumed)).toEqual(table(whole));
    expect(table(whole)).toMatchObject({ trials: 8, rows: { length: 4 }, metric: "accuracy" });
    // A trial killed between its last update and its result needs no more training, and is counted without a line.
    const [, next] = /^(\d) of 8/m.exec(resumed.stderr)!;
    expect([before + 1, before + 2]).toContain(Number(next));
    expect(glue("predict", table(whole).best.run, "--out", at("best")).status).toBe(0);
  });

  it("has trials that are runs of a sweep", () => {
    const { status, stdout } = layerwise("resume", at("whole", "rate-0.01-batch-16", "seed-1"));
    expect([status, stdout]).toEqual([0, expect.stringContaining("is finished: 8 steps")]);
    expect(layerwise("sweep", "show", at("whole")).stdout).toMatch(/^name +rate +batch +accuracy +status/);
  });

  it("goes on with a folder of version 0.1.0: finished trials count, another search is refused", () => {
    for (const file of resultsIn("whole").filter((_, i) => i !== 3)) {
      const [setting, seed] = file.split("/") as [string, string];
      cpSync(at("whole", setting, seed), at("old", `${setting}-epochs-2-${seed}`), { recursive: true });
    }
    const { settings, candidates } = parse(readFileSync(at("whole", "sweep.yaml"), "utf8"));
    const plan = { task: "SST-2", metric: "accuracy", strategy: "grid", candidates: Object.values(candidates) };
    const old = { ...plan, epochs: 2, seeds: 2, from: null, settings: { ...settings, rate: 1, threads: null } };
    writeFileSync(at("old", "search.json"), JSON.stringify(old));
    expect(glue(...search("old"), "--dropout", "0.3").stderr).toContain("got another settings.dropout");
    const { stdout, stderr } = glue(...search("old"));
    expect(stderr).toMatch(/^8 of 8 /m);
    const table = (text: string) => JSON.parse(text.replaceAll(at("old"), at("whole")));
    expect(table(stdout)).toEqual(table(readFileSync(at("whole", "results.json"), "utf8")));
  });

  it("belongs to the folder it was begun in", () => {
    const { status, stderr } = glue(...search("whole"), "--dropout", "0.3");
    expect([status, stderr]).toEqual([2, expect.stringContaining("expected the sweep it was begun with")]);
  });
});

const shared = "../shared/data";

describe.skipIf(!existsSync(join(shared, "glue")))("GLUE's own files", () => {
  it.each(["CoLA", "SST-2", "MRPC", "STS-B", "RTE", "WNLI"])("of %s are read whole", async (name) => {
    const { readGlue } = await import("../src/text/files/glue.ts");
    const { glueTask } = await import("../src/text/labelled/glue-tasks.ts");
    const counts: Record<string, number[]> = {
      CoLA: [8551, 1043],
      "SST-2": [67349, 872],
      MRPC: [3668, 408],
      "STS-B": [5749, 1500],
      RTE: [2490, 277],
      WNLI: [635, 71],
    };
    const read = (split: string) => readGlue(glueTask(name), split, join(shared, "glue")).length;
    expect([read("train"), read("dev")]).toEqual(counts[name]);
  });

  it("teach a tiny model in a few seconds", () => {
    const data = ["--data", shared, "--tokenizer", "albert-30k", ...sizes, "--examples", "200", "--epochs", "1"];
    const { status, stdout } = glue("WNLI", "--scratch", ...data, "--json", "--out", at("wnli"));
    expect([status, JSON.parse(stdout).epochs.length]).toEqual([0, 1]);
  });
});
