/** The tokenizer as a whole, against the real SentencePiece: its wasm build always, its Python package where installed. */

import { execFile, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SentencePieceProcessor } from "@sctg/sentencepiece-js";
import { describe, expect, it } from "vitest";
import { saveModel, trainOnText } from "../src/text/files/sentencepiece.ts";
import { TRAINING_DEFAULTS } from "../src/text/sentencepiece/training/options.ts";
import { loadTokenizer } from "../src/text/tokenizer.ts";
import { ownFolder } from "./command.ts";
import { difficultLines } from "./tokenizer.lines.ts";

const shared = process.env.LAYERWISE_DATA ?? fileURLToPath(new URL("../../shared/data", import.meta.url));
const modelPath = (name: string) => join(shared, "tokenizers", `${name}.model`);
const MODELS = ["wiki2_12k", "sp250", "albert-30k"];
const validPath = join(shared, "wikitext-2", "valid.txt");
const bookPath = join(shared, "public-domain", "pg11-alice.body.txt");
const hasModels = MODELS.every((name) => existsSync(modelPath(name))) && existsSync(validPath);

const pythons = [process.env.LAYERWISE_PYTHON, "python3"].filter((python) => python !== undefined);
const python = pythons.find((each) => spawnSync(each, ["-c", "import sentencepiece"]).status === 0);

const folder = ownFolder("test");

const fuzzed = difficultLines(5000, 1);
const linesOf = (path: string) => readFileSync(path, "utf8").split("\n");

/** Encodes the lines of a JSON file with a model, and decodes again; prints both as JSON. */
const PYTHON_SCRIPT = `
import json, sys, sentencepiece
processor = sentencepiece.SentencePieceProcessor(sys.argv[1])
lines = json.load(open(sys.argv[2], encoding="utf-8"))
ids = [processor.encode(line) for line in lines]
json.dump([[" ".join(map(str, line)), processor.decode(line)] for line in ids], sys.stdout)
`;

function inPython(model: string, lines: readonly string[]): Promise<[ids: string, text: string][]> {
  const input = join(folder, "lines.json");
  writeFileSync(input, JSON.stringify(lines));
  return new Promise((resolve, reject) => {
    const args = ["-c", PYTHON_SCRIPT, model, input];
    execFile(python!, args, { maxBuffer: 1 << 28 }, (error, out) => (error ? reject(error) : resolve(JSON.parse(out))));
  });
}

/** Lines whose ids are not the wasm build's, which has the arithmetic of the releases up to 0.2.0. */
async function differingFromWasm(name: string, lines: readonly string[]): Promise<string[]> {
  const bytes = readFileSync(modelPath(name));
  const ours = loadTokenizer(bytes, name, "0.2.0");
  const real = new SentencePieceProcessor();
  await real.loadFromB64StringModel(bytes.toString("base64"));
  return lines.filter((line) => ours.encode(line).join() !== real.encodeIds(line).join());
}

describe.runIf(hasModels)("encoding", () => {
  it.each(MODELS)("agrees with the wasm build on every line of WikiText-2 valid: %s", async (name) => {
    expect(await differingFromWasm(name, linesOf(validPath))).toEqual([]);
  });

  it.each(MODELS)("agrees with the wasm build on 5,000 difficult lines: %s", async (name) => {
    expect(await differingFromWasm(name, fuzzed)).toEqual([]);
  });

  it.runIf(python).each(MODELS)("agrees with the Python package on all of it: %s", async (name) => {
    const ours = loadTokenizer(readFileSync(modelPath(name)), name);
    const lines = [...linesOf(validPath), ...fuzzed];
    const real = await inPython(modelPath(name), lines);
    const differing = lines.filter((line, i) => {
      const ids = ours.encode(line);
      return ids.join(" ") !== real[i]![0] || ours.decode(ids) !== real[i]![1];
    });
    expect(differing).toEqual([]);
  });

  it.each(MODELS)("gives back the normalised text where nothing is unknown: %s", (name) => {
    const tokenizer = loadTokenizer(readFileSync(modelPath(name)), name);
    let checked = 0;
    for (const line of [...linesOf(validPath).slice(0, 1000), ...fuzzed.filter((each) => !each.includes("▁"))]) {
      const ids = tokenizer.encode(line);
      if (ids.includes(tokenizer.unknownId)) continue;
      expect(tokenizer.decode(ids)).toBe(tokenizer.normalise(line));
      checked++;
    }
    expect(checked).toBeGreaterThan(400);
  });
});

describe.runIf(existsSync(bookPath))("a vocabulary trained on a book", () => {
  const options = { ...TRAINING_DEFAULTS, vocabularySize: 1000, userSymbols: ["@-@"] };
  const name = join(folder, "book");
  const saved = existsSync(bookPath)
    ? trainOnText([bookPath], options).then((model) => saveModel(model, name))
    : Promise.resolve();

  it("works in the wasm build as it does here", async () => {
    await saved;
    const bytes = readFileSync(`${name}.model`);
    const ours = loadTokenizer(bytes, name, "0.2.0");
    const real = new SentencePieceProcessor();
    await real.loadFromB64StringModel(bytes.toString("base64"));
    const lines = [...linesOf(bookPath), ...fuzzed.slice(0, 1000)];
    expect(lines.filter((line) => ours.encode(line).join() !== real.encodeIds(line).join())).toEqual([]);
  });

  it.runIf(python)("needs no more pieces than the Python package's, within one per cent", async () => {
    await saved;
    const train = `
import sys, sentencepiece
sentencepiece.SentencePieceTrainer.train(input=sys.argv[1], model_prefix=sys.argv[2], vocab_size=1000,
    normalization_rule_name="nfkc_cf", user_defined_symbols=["@-@"], pad_id=0, bos_id=1, eos_id=2, unk_id=3, minloglevel=2)`;
    expect(spawnSync(python!, ["-c", train, bookPath, join(folder, "real")]).status).toBe(0);
    const lengthWith = (path: string) => {
      const tokenizer = loadTokenizer(readFileSync(path), path);
      return linesOf(bookPath).reduce((sum, line) => sum + tokenizer.encode(line).length, 0);
    };
    expect(lengthWith(`${name}.model`) / lengthWith(join(folder, "real.model"))).toBeLessThan(1.01);
  });

  it.runIf(python)("works in the Python package as it does here", async () => {
    await saved;
    const ours = loadTokenizer(readFileSync(`${name}.model`), name);
    const lines = [...linesOf(bookPath), ...fuzzed.slice(0, 1000)];
    const real = await inPython(`${name}.model`, lines);
    expect(lines.filter((line, i) => ours.encode(line).join(" ") !== real[i]![0])).toEqual([]);
  });
});
