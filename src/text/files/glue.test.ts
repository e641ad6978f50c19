import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { glueTask, glueTasks } from "../labelled/glue-tasks.ts";
import { glueFile, readGlue } from "./glue.ts";

const folder = ownFolder("glue");

const blank = (count: number) => Array.from({ length: count }, () => "x");

/** A line of a task's file with these texts and label at their columns. */
function line(name: string, split: "train" | "test", texts: readonly string[], label: string): string {
  const { [split]: columns } = glueTask(name);
  const cells = blank(Math.max(...columns.texts, columns.label ?? 0) + 1 + Number(columns.label === -1));
  columns.texts.forEach((at, i) => {
    cells[at] = texts[i]!;
  });
  if (columns.label !== undefined) cells[columns.label < 0 ? cells.length - 1 : columns.label] = label;
  else cells[0] = "7";
  return cells.join("\t");
}

function write(path: string, ...lines: string[]): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), lines.join("\n"));
}

describe("GLUE files", () => {
  it.each([...glueTasks.keys()].filter((name) => name !== "AX"))("of %s give texts and labels", (name) => {
    const task = glueTask(name);
    const label = task.labels?.at(-1) ?? "3.200";
    const example = line(name, "train", ['a "quoted', "b"], label);
    write(
      `${name}/${task.files.train![0]}`,
      ...(task.train.header === false ? [] : [blank(example.split("\t").length).join("\t")]),
      example,
    );
    const [read] = readGlue(task, "train", folder);
    expect(read?.texts).toEqual(['a "quoted', "b"].slice(0, task.train.texts.length));
    expect(read?.label).toBe(task.labels ? task.labels.length - 1 : 3.2);
  });

  it("of the test are told by their index, and are read from the task's own folder too", () => {
    write("only/test.tsv", "index\tsentence", "7\tsome text");
    expect(readGlue(glueTask("cola"), "test", join(folder, "only"))).toEqual([
      { texts: ["some text"], label: 0, index: "7" },
    ]);
  });

  it("begin with a byte order mark in MRPC", () => {
    write("MRPC/dev.tsv", "\ufeffQuality\ta\tb\tc\td", "1\t2\t3\tone\ttwo");
    expect(readGlue(glueTask("MRPC"), "dev", folder)).toMatchObject([{ texts: ["one", "two"], label: 1 }]);
  });

  it("with a malformed line are refused by file and line", () => {
    write("RTE/dev.tsv", "index\tsentence1\tsentence2\tlabel", "0\ta\tb\tentailment", "1\ta\tentailment");
    const expected = `${join(folder, "RTE/dev.tsv")}: line 3: expected 4 columns with tabs between, got 3; mend the line`;
    expect(() => readGlue(glueTask("RTE"), "dev", folder)).toThrow(expected);
  });

  it("with a label outside the set are refused by file and line", () => {
    write("SST-2/dev.tsv", "sentence\tlabel", "fine \t2");
    const expected = `${join(folder, "SST-2/dev.tsv")}: line 2: expected a label of 0, 1, got "2"`;
    expect(() => readGlue(glueTask("SST-2"), "dev", folder)).toThrow(expected);
    write("STS-B/dev.tsv", blank(10).join("\t"), [...blank(9), "5.5"].join("\t"));
    expect(() => readGlue(glueTask("STS-B"), "dev", folder)).toThrow("line 2: expected a number from 0 to 5");
  });

  it("of QQP may have bad lines, which are counted", () => {
    const said: string[] = [];
    write("QQP/dev.tsv", blank(6).join("\t"), "1\t2\t3\ta\tb\t1", "cut short", "2\t3\t4\tc\td\t0");
    expect(readGlue(glueTask("QQP"), "dev", folder, { warn: (message) => said.push(message) })).toHaveLength(2);
    expect(said[0]).toContain("1 lines without their 6 columns");
  });

  it("that are missing, and unknown tasks, are refused with a way out", () => {
    expect(() => glueFile(glueTask("WNLI"), "dev", folder)).toThrow(
      /WNLI: expected its dev file, got none of .*--glue/,
    );
    expect(() => glueTask("SST2")).toThrow("got SST2; did you mean SST-2?");
  });
});
