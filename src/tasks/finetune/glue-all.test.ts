import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { openZip } from "../../format/zip.ts";
import { type Columns, type GlueTask, glueTasks } from "../../text/labelled/glue-tasks.ts";
import { type GlueAllReport, glueAll, glueTable } from "./glue-all.ts";
import { finetuneSettings } from "./settings.ts";

const folder = ownFolder("glue-all");
const at = (...parts: string[]) => join(folder, ...parts);

/** A line of the right form: texts and label at their columns, in test files an index first. */
function line({ texts, label }: Columns, task: GlueTask, i: number): string {
  const width = Math.max(...texts, label ?? 0) + 1 + Number(label === -1);
  const cells = Array.from({ length: width }, () => "x");
  const answer = i % (task.name === "WNLI" ? 3 : 2) ? 1 : 0;
  for (const column of texts) cells[column] = `the ${answer ? "good" : "bad"} day ${["man", "house"][i % 2]}`;
  if (label === undefined) cells[0] = `${i}`;
  else cells[label < 0 ? width - 1 : label] = task.labels?.[answer] ?? `${4 * answer}`;
  return cells.join("\t");
}

function write(task: GlueTask, split: string, count: number): void {
  const columns = split.startsWith("test") ? task.test : task.train;
  const lines = Array.from({ length: count }, (_, i) => line(columns, task, i));
  const header = lines[0]!.split("\t").map((_, i) => `c${i}`);
  const all = columns.header === false ? lines : [header.join("\t"), ...lines];
  mkdirSync(at("glue", task.name), { recursive: true });
  writeFileSync(at("glue", task.name, task.files[split]![0]!), `${all.join("\n")}\n`);
}

beforeAll(() => {
  for (const task of glueTasks.values()) {
    for (const split of Object.keys(task.files)) write(task, split, split === "train" ? 8 : 6);
  }
});

const settings = { ...finetuneSettings.defaults, glue: at("glue"), epochs: 1, batch: 4, length: 32, rate: 0.01 };
const options = { settings, from: "fixtures/runs/albert" };

/** What the benchmark's leaderboard averages, where it is not accuracy. */
const counted: Record<string, readonly string[]> = {
  CoLA: ["matthews"],
  MRPC: ["accuracy", "f1"],
  QQP: ["accuracy", "f1"],
  "STS-B": ["pearson", "spearman"],
  MNLI: ["accuracy", "accuracy-mismatched"],
};

describe("GLUE as a whole", () => {
  let report: GlueAllReport;
  it("tunes on all nine tasks, averages as the benchmark does, and zips all eleven files", {
    timeout: 60_000,
  }, async () => {
    report = await glueAll({ ...options, out: at("out") }).result;
    const names = ["CoLA", "SST-2", "MRPC", "STS-B", "QQP", "MNLI", "QNLI", "RTE", "WNLI"];
    expect([report.rows.map(({ task }) => task), report.missing, report.stopped]).toEqual([names, [], false]);
    expect(Object.keys(report.rows[5]!.figures)).toEqual(["accuracy", "depth", "accuracy-mismatched"]);
    for (const { task, score, figures } of report.rows) {
      const values = (counted[task] ?? ["accuracy"]).map((name) => figures[name]!);
      expect(score).toBeCloseTo(values.reduce((a, b) => a + b, 0) / values.length, 12);
    }
    // Matthews' correlation beside an accuracy that does not count.
    expect(report.rows[0]!.figures.accuracy).toBeGreaterThan(report.rows[0]!.score);
    expect(report.average).toBeCloseTo(report.rows.reduce((sum, { score }) => sum + score, 0) / 9, 12);
    const zip = openZip(readFileSync(at("out", "submission.zip")), "submission.zip");
    const files = [...names.filter((name) => name !== "MNLI"), "MNLI-m", "MNLI-mm", "AX"].map((name) => `${name}.tsv`);
    expect([...report.submission].sort()).toEqual(files.sort());
    // Two thirds of the made training labels of WNLI are 1, and so are all its answers.
    expect(report.rows.at(-1)).toMatchObject({ run: null, figures: { accuracy: 4 / 6 } });
    const answers = new TextDecoder().decode(zip.read("WNLI.tsv"));
    expect(answers).toBe(`index\tprediction\n${[0, 1, 2, 3, 4, 5].map((i) => `${i}\t1\n`).join("")}`);
    expect(glueTable(report).at(-1)).toMatchObject({ task: "average", dev: "all tasks" });
  });

  it("goes on where it was stopped, and comes to the same", { timeout: 60_000 }, async () => {
    const tasks = ["SST-2", "RTE"];
    const stop = new AbortController();
    const session = glueAll({ ...options, tasks, out: at("again"), signal: stop.signal });
    for await (const event of session) {
      if (event.type === "note" && event.text.startsWith("RTE")) stop.abort();
    }
    const first = await session.result;
    expect([first.stopped, first.rows.length, existsSync(at("again", "report.json"))]).toEqual([true, 1, false]);
    const { rows, missing } = await glueAll({ ...options, tasks, out: at("again") }).result;
    const same = (task: string) => report.rows.find((row) => row.task === task)!.figures;
    expect(rows.map(({ figures }) => figures)).toEqual(tasks.map(same));
    expect(missing).toHaveLength(7);
  });

  it("leaves out tasks without files, and refuses to do nothing", async () => {
    rmSync(at("glue", "QQP"), { recursive: true });
    await expect(glueAll({ ...options, tasks: ["QQP"], out: at("none") }).result).rejects.toThrow(
      /glue all: expected train and dev files of QQP under .*, got none; say with --glue/,
    );
    const nowhere = { ...settings, glue: at("nowhere") };
    await expect(glueAll({ settings: nowhere, out: at("none") }).result).rejects.toThrow(/at least one task/);
    expect(existsSync(at("none"))).toBe(false);
  });
});
