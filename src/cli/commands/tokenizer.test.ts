import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { printedBy } from "../../../test/command.ts";
import { ENGLISH, smallModel } from "../../../test/tokenizer.models.ts";
import { writeModel } from "../../text/sentencepiece/model-writer.ts";
import { addTokenizer } from "./tokenizer.ts";

const folder = mkdtempSync(join(tmpdir(), "layerwise-"));
const at = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

const TEXT = "the cat sat\n\n  the  cats\nat";
const BOOK = "the cat sat at the mat and the cats sang\nthe rat ran and the ants ate\n".repeat(40);

beforeAll(() => {
  writeFileSync(at("small.model"), writeModel(smallModel(ENGLISH)));
  writeFileSync(at("text.txt"), TEXT);
  writeFileSync(at("book.txt"), BOOK);
});

const tokenizer = (...args: string[]) => printedBy(addTokenizer, "tokenizer", ...args);

/** Runs the program itself, with something on its standard input. */
function program(args: readonly string[], input: string | Uint8Array) {
  const main = fileURLToPath(new URL("../main.ts", import.meta.url));
  const tsx = fileURLToPath(new URL("../../../node_modules/.bin/tsx", import.meta.url));
  return spawnSync(tsx, [main, "tokenizer", ...args], { input, encoding: "utf8" });
}

describe("layerwise tokenizer encode and decode", () => {
  it("print one line for each, empty ones and a last one without newline included", async () => {
    const ids = await tokenizer("encode", "--model", at("small.model"), at("text.txt"));
    expect(ids.split("\n").map((line) => line !== "")).toEqual([true, false, true, true, false]);
    writeFileSync(at("ids.txt"), ids);
    expect(await tokenizer("decode", "--model", at("small.model"), at("ids.txt"))).toBe(
      "the cat sat\n\nthe cats\nat\n",
    );
  });

  it("print and read pieces too", async () => {
    const pieces = await tokenizer("encode", "--pieces", "--model", at("small.model"), at("text.txt"));
    expect(pieces).toBe("▁the ▁cat ▁sat\n\n▁the ▁cat s\n▁ at\n");
    writeFileSync(at("pieces.txt"), pieces);
    expect(await tokenizer("decode", "--pieces", "--model", at("small.model"), at("pieces.txt"))).toContain(
      "the cats\n",
    );
  });

  it("read standard input, whatever its bytes", () => {
    const { stdout, status } = program(
      ["encode", "--pieces", "--model", at("small.model")],
      Uint8Array.of(0x61, 0, 0xff, 0x0a),
    );
    expect(stdout).toBe("▁ a \u0000\ufffd\n");
    expect(status).toBe(0);
  });

  it("name the line that holds no ids", async () => {
    const decoded = tokenizer("decode", "--model", at("small.model"), at("text.txt"));
    await expect(decoded).rejects.toThrow('text.txt: line 1: expected ids from 0 to 20, got "the"');
  });
});

describe("layerwise tokenizer train", () => {
  const train = (...more: string[]) =>
    tokenizer("train", "--input", at("book.txt"), "--vocabulary", "28", "--normalisation", "identity", ...more);

  it("writes a model and its vocabulary, and refuses to overwrite them", async () => {
    const printed = await train("--out", at("trained"), "--symbols", "@-@");
    expect(printed).toContain("pieces         28 (23 normal, 1 unknown, 3 control, 1 user)");
    expect(readFileSync(at("trained.vocab"), "utf8")).toContain("[UNK]\t0\n@-@\t0\n▁");
    await expect(train("--out", at("trained"))).rejects.toMatchObject({ exitCode: 2 });
    await train("--out", at("trained"), "--force");
  });

  it("writes nothing if it fails", async () => {
    await expect(train("--out", at("failed"), "--vocabulary", "9000")).rejects.toThrow("at most");
    await expect(train("--out", at("failed"), "--input", at("absent.txt"))).rejects.toThrow(
      "absent.txt: cannot be read",
    );
    expect(readdirSync(folder).filter((name) => name.includes("failed"))).toEqual([]);
  });

  it("refuses odd requests", async () => {
    await expect(train("--out", at("odd"), "--coverage", "7")).rejects.toThrow("at most 1");
    await expect(train("--out", at("odd"), "--normalisation", "rot13")).rejects.toThrow("Allowed choices");
    expect(existsSync(at("odd.model"))).toBe(false);
  });
});

describe("layerwise tokenizer inspect", () => {
  it("prints a table, or JSON", async () => {
    expect(await tokenizer("inspect", "--model", at("small.model"))).toMatch(
      /special ids +unknown 0 <unk>, bos 1 <s>/u,
    );
    const summary = JSON.parse(await tokenizer("inspect", "--json", "--model", at("small.model")));
    expect(summary).toMatchObject({ type: "unigram", pieces: 21, special: { unknown: { id: 0 } } });
  });

  it("says what is wrong with a file that is no model, in one line", () => {
    const { stderr, status } = program(["inspect", "--model", at("book.txt")], "");
    expect(stderr).toMatch(/^layerwise: \S+book\.txt: .+\n$/u);
    expect(status).toBe(1);
  });
});
