import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { readAgreement, readConllu, readProbe } from "./probing.ts";

const folder = ownFolder("probing");
const file = (text: string) => {
  const path = join(folder, "file.txt");
  writeFileSync(path, text);
  return path;
};

describe("files to probe with", () => {
  it("are read in each of the three forms", () => {
    expect(readProbe(file("tr\tPAST\tHe went .\r\n"))[0]!.words).toEqual(["He", "went", "."]);
    expect(readConllu(file("1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n"))[0]!.words[0]!.form).toBe("Go");
    const heading = "split,orig_sentence,n_intervening,distance,verb_pos,verb_index";
    expect(readAgreement(file(`${heading}\ntest,he goes,0,1,VBZ,2\n`))[0]!.masked).toEqual([1]);
  });

  it("are named with the line of what is wrong", () => {
    expect(() => readProbe(file("\ntr\tonly two"))).toThrow(/file\.txt:2: expected split, label, text/);
  });
});
