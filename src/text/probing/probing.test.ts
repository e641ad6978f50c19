import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readAgreement, readProbe } from "./probing.ts";

const folder = mkdtempSync(join(tmpdir(), "layerwise-probing-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (text: string) => {
  const path = join(folder, "probe.txt");
  writeFileSync(path, text);
  return path;
};

describe("probing files", () => {
  it("read SentEval's lines, with and without a masked word", () => {
    const [plain, masked] = readProbe(file("tr\tPAST\tHe went .\nte\tPRES\tShe goes\t1\n"));
    expect(plain).toEqual({ line: 1, split: "tr", label: "PAST", words: ["He", "went", "."] });
    expect(masked).toMatchObject({ line: 2, label: "PRES", masked: 1 });
  });

  it("read agreement with its distance, also from quoted columns", () => {
    const heading = "split,orig_sentence,n_intervening,distance,verb_pos,verb_index";
    const [row] = readAgreement(file(`${heading}\ntest,"the keys , he said , are here",1,4,VBP,7\n`));
    expect(row).toMatchObject({ label: "VBP", masked: 6, distance: 4, intervening: 1 });
    expect(row!.words[6]).toBe("are");
  });

  it("name file and line of what is wrong", () => {
    expect(() => readProbe(file("tr\tonly two"))).toThrow(/probe\.txt:1: expected split, label, text/);
    expect(() => readProbe(file("tr\tA\tone two\t2"))).toThrow(/a word's place in a sentence of 2, got 2/);
    expect(() => readAgreement(file("a,b\n1,2"))).toThrow(/probe\.txt:1: expected a heading with split/);
    const heading = "split\torig_sentence\tn_intervening\tdistance\tverb_pos\tverb_index";
    expect(() => readAgreement(file(`${heading}\ntr\ta b\t0\tfar\tVB\t1`))).toThrow(/:2: .*as distance, got far/);
  });
});
