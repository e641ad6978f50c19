import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layerwise, ownFolder } from "../../../test/command.ts";

const folder = ownFolder("cutoffs");

const cutoffs = (...args: string[]) => layerwise("cutoffs", ...args);

let files = 0;

function counts(text: string): string {
  const file = join(folder, `counts-${files++}.txt`);
  writeFileSync(file, text);
  return file;
}

describe("layerwise cutoffs", () => {
  it("prints the inner cutoffs, the vocabulary and the cost as JSON", () => {
    const { status, stdout } = cutoffs("--counts", counts("1\n100\n2\n90\n"), "--clusters", "2", "--json");
    expect([status, JSON.parse(stdout)]).toEqual([0, { cutoffs: [1], vocabulary: 4, cost: 379 }]);
  });

  it("prints a table of the clusters for people", () => {
    const { stdout } = cutoffs("--counts", counts("0.5\n0.25\n0.25\n"), "--clusters", "2");
    expect(stdout).toContain("head     0 … 0");
    expect(stdout).toContain("cutoffs 1");
    expect(cutoffs("--counts", counts("0\n0\n"), "--clusters", "2").stdout).not.toContain("NaN");
  });

  it.each([
    ["no input", ["--clusters", "2"], "either --counts or both --corpus and --tokenizer, got neither"],
    ["a corpus alone", ["--corpus", "books", "--clusters", "2"], "got --corpus"],
    ["no clusters", ["--counts", "x"], "--clusters"],
    ["too many clusters", ["--counts", counts("1\n2\n"), "--clusters", "3"], "from 1 to 2, the number of words, got 3"],
    ["a missing file", ["--counts", join(folder, "none"), "--clusters", "2"], "a file of counts"],
  ])("refuses %s with exit code 2", (_, args, message) => {
    const { status, stdout, stderr } = cutoffs(...args);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });
});
