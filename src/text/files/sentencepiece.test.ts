import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { TRAINING_DEFAULTS } from "../sentencepiece/training/options.ts";
import { loadTokenizer } from "../tokenizer.ts";
import { byteLines, refuseTaken, saveModel, trainOnText } from "./sentencepiece.ts";

const folder = ownFolder("test");

const options = { ...TRAINING_DEFAULTS, normalisation: "identity" as const, vocabularySize: 30 };

async function linesOf(chunks: readonly string[]): Promise<string[]> {
  const lines: string[] = [];
  const stream = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  for await (const line of byteLines({ name: "test", stream })) lines.push(Buffer.from(line).toString());
  return lines;
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe("lines of a source", () => {
  it("end at newlines only, wherever the blocks end", async () => {
    expect(await linesOf(["a\r\nb", "c\n", "\n", "d\u2028e"])).toEqual(["a\r", "bc", "", "d\u2028e"]);
    expect(await linesOf(["a\n"])).toEqual(["a"]);
    expect(await linesOf([])).toEqual([]);
  });

  it("name a file that is not there", async () => {
    await expect(trainOnText([join(folder, "absent")], options)).rejects.toThrow(/absent: cannot be read \(ENOENT/u);
  });
});

describe("training from files", () => {
  it("writes a model that works and its vocabulary", async () => {
    const text = file("text.txt", "the cat sat\r\nthe cats sat at the mat\n".repeat(50));
    const name = join(folder, "small");
    await saveModel(await trainOnText([text], { ...options, vocabularySize: 18 }), name);
    const tokenizer = loadTokenizer(readFileSync(`${name}.model`), name);
    expect(tokenizer.decode(tokenizer.encode("the cats"))).toBe("the cats");
    expect(readFileSync(`${name}.vocab`, "utf8").split("\n")).toHaveLength(19);
    expect(() => refuseTaken(name, false)).toThrow("small.model: expected a path that is free");
    refuseTaken(name, true);
  });

  it("names the line that is not UTF-8 and writes nothing", async () => {
    const text = file("bad.txt", Uint8Array.of(0x61, 0x0a, 0xff, 0x0a));
    await expect(trainOnText([text], options)).rejects.toThrow("bad.txt: line 2: expected UTF-8 text");
    expect(existsSync(join(folder, "bad.model"))).toBe(false);
  });

  it("refuses an empty file", async () => {
    await expect(trainOnText([file("empty.txt", "")], options)).rejects.toThrow("expected text, got 0 lines");
  });
});
