import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sweep, sweepAll } from "../bench/torture/sweep.ts";
import { filesAt, type Writer, writers } from "../bench/torture/writers.ts";
import { ownFolder } from "./command.ts";

const folder = ownFolder("torture-test");

it("a run that is killed, starved and damaged ends as its twin, or says what is wrong", () => {
  const flags = ["--minutes", "0.15", "--seed", "3", "--tasks", "language", "--flips", "100", "--out", folder];
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", "bench/torture/run.ts", ...flags]);
  expect(status, `${stdout}${stderr}`).toBe(0);
  const { runs, killsAtOperations, wrong, flips } = JSON.parse(readFileSync(join(folder, "report.json"), "utf8"));
  expect({ wrong, silent: flips.silent, crashed: flips.crashed }).toEqual({ wrong: 0, silent: 0, crashed: 0 });
  expect(runs).toBeGreaterThan(0);
  expect(killsAtOperations).toBeGreaterThan(0);
});

/** A program that keeps two lines in a file, unless the file is there. */
function keeper(name: string, write: string): Writer {
  const program = join(folder, `${name}.mjs`);
  writeFileSync(
    program,
    `import { appendFileSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
const path = process.argv[2];
if (!existsSync(path)) { ${write} }
`,
  );
  const outcome = (path: string) => JSON.stringify(filesAt(path));
  return { program, next: (path) => [path], outcome, isIntact: () => true };
}

async function swept(name: string, writer: Writer) {
  const sweep = await Sweep.open(name, writer, join(folder, name), 1);
  await sweepAll(
    [sweep],
    2,
    () => false,
    () => {},
  );
  return sweep.figures;
}

describe("a sweep of all file operations", () => {
  it("finds a program that writes in place", async () => {
    const careless = keeper("careless", `writeFileSync(path, "one\\n"); appendFileSync(path, "two\\n");`);
    const { operations, covered, faults, uncovered } = await swept("careless", careless);
    expect({ operations, covered, uncovered }).toEqual({ operations: 2, covered: 2, uncovered: [] });
    expect(faults.join("\n")).toMatch(/writeFile \/out, 1: half: it ended otherwise than its twin/);
    expect(faults.join("\n")).toMatch(/appendFile \/out, 1(?:; the last)?: it ended otherwise than its twin/);
  });

  it("passes one that renames what is whole, and goes on where it was stopped", async () => {
    const write = `rmSync(path + "~", { force: true }); writeFileSync(path + "~", "one\\n"); renameSync(path + "~", path);`;
    const careful = keeper("careful", write);
    const figures = await swept("careful", careful);
    // before each of three, the file empty and half written, and after the last
    expect(figures).toMatchObject({ operations: 3, covered: 3, places: 6, placesCovered: 6, wrong: 0, uncovered: [] });
    expect((await Sweep.open("careful", careful, join(folder, "careful"), 1)).figures).toEqual(figures);
  });

  it("covers every file operation of a command", async () => {
    const { operations, covered, kills, wrong, uncovered } = await swept("embed", writers.embed!);
    expect({ covered, wrong, uncovered }).toEqual({ covered: operations, wrong: 0, uncovered: [] });
    expect(operations).toBeGreaterThan(3);
    expect(kills).toBeGreaterThan(operations);
  });
});
