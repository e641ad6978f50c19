import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { encodePairs } from "../pairs/packing.ts";
import { jointTokenizer, openPairs, pairsOf } from "./pairs.ts";

const folder = ownFolder("pairs");

const english = Array.from({ length: 60 }, (_, i) => `A dog number ${i} runs over the green grass.`);
const german = Array.from({ length: 60 }, (_, i) => `Ein Hund Nummer ${i} läuft über das grüne Gras.`);
writeFileSync(join(folder, "train.en"), english.join("\n"));
writeFileSync(join(folder, "train.de.gz"), gzipSync(`${german.join("\r\n")}\n`));
writeFileSync(join(folder, "val.en"), "One line. \nAnother.\n");
writeFileSync(join(folder, "val.de"), "Eine Zeile.\n");
writeFileSync(join(folder, "test.en"), "x");
writeFileSync(join(folder, "test.de.gz"), "not gzip");

describe("sentence pairs", () => {
  it("are read plain and gzipped, whatever their line ends", async () => {
    const { source, target } = pairsOf(await openPairs(folder), "train");
    expect([source, target]).toEqual([english, german]);
  });

  it("name the part whose sides differ, the file that is damaged, the language that is missing", async () => {
    const corpus = await openPairs(folder);
    expect(() => pairsOf(corpus, "valid")).toThrow(/valid: expected as many lines in both languages.* got 2 and 1/);
    expect(() => pairsOf(corpus, "test")).toThrow("test.de.gz: expected lines of UTF-8 text");
    const french = await openPairs(folder, { target: "fr" });
    expect(() => pairsOf(french, "train")).toThrow("expected one of train.fr, train.fr.gz, got none");
    await expect(openPairs("absent", { data: folder })).rejects.toThrow("sentence pairs: expected multi30k");
  });

  it("share one cased tokenizer, trained once", async () => {
    const corpus = await openPairs(folder);
    const said: string[] = [];
    const open = () => jointTokenizer(corpus, { pieces: 80, cache: folder, say: (text) => said.push(text) });
    const { tokenizer } = await open();
    expect((await open()).tokenizer.size).toBe(tokenizer.size);
    expect(said).toEqual([expect.stringContaining("training a tokenizer of 80 pieces on both sides")]);
    for (const line of [english[7]!, german[7]!]) expect(tokenizer.decode(tokenizer.encode(line))).toBe(line);
    const [first] = encodePairs(tokenizer, { source: english, target: german });
    expect(first!.source.at(-1)).toBe(tokenizer.eosId);
  });
});
