/** Folders of `layerwise export --format transformers.js`, loaded by transformers.js itself: the same tokens, the same answers. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { addExport } from "../src/cli/commands/export.ts";
import { type FinetuneRun, finetune } from "../src/tasks/finetune/index.ts";
import { Run } from "../src/tasks/index.ts";
import { type PretrainRun, pretrain } from "../src/tasks/pretrain/index.ts";
import { classification, type LabelledText } from "../src/text/index.ts";
import { encodeGlue } from "../src/text/labelled/glue-batches.ts";
import { ownFolder, printedBy } from "./command.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const peers = join(root, "tools", "transformers");
const installed = existsSync(join(peers, "node_modules", "@huggingface", "transformers", "package.json"));
if (!installed)
  console.warn("transformers.js is not installed (npm --prefix tools/transformers ci): its tests are skipped");

const folder = ownFolder("transformers-js");

/** What transformers.js says of a folder: an expression that sees the library as `hub`, the folder's name and what is given. */
function said<T>(path: string, expression: string, given: unknown): T {
  const program = `
    import * as hub from "@huggingface/transformers";
    hub.env.allowRemoteModels = false;
    hub.env.localModelPath = ${JSON.stringify(`${dirname(path)}/`)};
    const [name, given] = [${JSON.stringify(path.slice(dirname(path).length + 1))}, ${JSON.stringify(given)}];
    console.log(JSON.stringify(await (async () => { ${expression} })(), (_, value) => typeof value === "bigint" ? Number(value) : value));`;
  const options = { cwd: peers, encoding: "utf8", maxBuffer: 1e8 } as const;
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", program], options);
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout);
}

const lines = readFileSync(join(root, "corpus", "books", "valid.txt"), "utf8").split("\n");
const sentences = lines.filter((line) => line.trim().length > 20).slice(0, 400);
/** Accents, numbers with commas, spaces, ligatures, full width, marks that do not combine, and what the tokenizer has never seen. */
const odd = [
  "Ünïcode  façade\tnaïve ﬁne",
  "In 1,984 men and 12,345,678 ＷＯＭＥＮ",
  "हिन्दी की किताब",
  "一 second— “quoted” … ☃☃ x",
  "don't stop; e-mail me @home #1",
];

const close = (there: readonly number[], here: ArrayLike<number>) => {
  expect(there).toHaveLength(here.length);
  for (const [i, value] of there.entries()) expect(Math.abs(value - here[i]!)).toBeLessThan(1e-4);
};

const exported = async (run: string) => {
  const out = join(folder, `${run}-for-js`);
  await printedBy(addExport, "export", join(folder, run), "--format", "transformers.js", "--out", out, "--force");
  return out;
};

describe.skipIf(!installed)("transformers.js", () => {
  let pre: PretrainRun;
  let tuned: FinetuneRun;
  const examples = sentences.slice(0, 48).map((text, i): LabelledText => ({ text, label: i % 2 ? "odd" : "even" }));
  beforeAll(async () => {
    const sizes = { width: 48, heads: 4, embedding: 24, depth: 4 };
    writeFileSync(join(folder, "text.txt"), lines.slice(0, 4000).join("\n"));
    const text = { corpus: join(folder, "text.txt"), length: 64, batch: 4 };
    const into = await Run.create(join(folder, "pre"));
    await pretrain({ model: sizes, ...text, pieces: 1000, steps: 6, evaluateTexts: 4, into }).result;
    pre = await Run.open(join(folder, "pre"), "pretrain");
    const adaptive = { ...sizes, halting: { ponder: 0.01 } };
    const first = await pretrain({
      model: adaptive,
      ...text,
      tokenizer: join(folder, "pre", "tokenizer.model"),
      steps: 2,
      evaluateTexts: 4,
    }).result;
    const task = classification({ labels: ["even", "odd"] });
    const run = await Run.create(join(folder, "tuned"));
    await finetune(first, { task, train: examples, dev: examples, epochs: 1, batch: 8, rate: 0.003, into: run }).result;
    tuned = await Run.open(join(folder, "tuned"), "finetune");
  }, 120_000);

  it("cuts real and odd sentences, alone and in pairs, as we do", async () => {
    const path = await exported("pre");
    const texts = [...sentences, ...odd];
    const pairs = texts.slice(1).map((text, i) => [texts[i]!, text] as const);
    const there = said<{ single: number[][]; pairs: [number[], number[]][] }>(
      path,
      `const tokenizer = await hub.AutoTokenizer.from_pretrained(name);
       const ids = (text, pair) => tokenizer(text, { text_pair: pair, return_tensor: false });
       const both = ({ input_ids, token_type_ids }) => [input_ids, token_type_ids];
       return { single: given.texts.map((text) => ids(text).input_ids), pairs: given.pairs.map(([a, b]) => both(ids(a, b))) };`,
      { texts, pairs },
    );
    const { tokenizer } = pre.tokenizer!;
    const encoded = (given: readonly (readonly [string] | readonly [string, string])[]) =>
      encodeGlue(
        given.map((each) => ({ texts: each, label: 0 })),
        tokenizer,
        10_000,
      );
    const singles = encoded(texts.map((text) => [text] as const));
    for (const [i, { ids }] of singles.entries()) expect(there.single[i], texts[i]).toEqual([...ids]);
    for (const [i, { ids, second }] of encoded(pairs).entries()) {
      const types = [...ids].map((_, k) => (k < second ? 0 : 1));
      expect(there.pairs[i], String(pairs[i])).toEqual([[...ids], types]);
    }
  });

  it("fills masks of a pre-trained model with our probabilities", async () => {
    const text = "It was the [MASK] of times, it was the best of [MASK].";
    type Guess = { score: number; token: number };
    const [there] = said<Guess[][]>(
      await exported("pre"),
      `const fill = await hub.pipeline("fill-mask", name); return [await fill(given, { top_k: 8 })];`,
      text,
    );
    const [here] = await pre.fill(text, { top: 8 });
    const { tokenizer } = pre.tokenizer!;
    expect(there!.map(({ token }) => tokenizer.pieceOf(token))).toEqual(here!.guesses.map(({ piece }) => piece));
    close(
      there!.map(({ score }) => score),
      here!.guesses.map(({ probability }) => probability),
    );
  });

  it("classifies texts of several lengths as a fine-tuned, halting model does", async () => {
    const texts = [...sentences.slice(50, 58), ...odd];
    const there = said<{ label: string; score: number }[][]>(
      await exported("tuned"),
      `const classify = await hub.pipeline("text-classification", name); return classify(given, { top_k: null });`,
      texts,
    );
    const here = await tuned.predict(texts);
    for (const [i, { label, scores }] of here.entries()) {
      expect(there[i]![0]!.label).toBe(label);
      close(
        there[i]!.map(({ score }) => score),
        there[i]!.map((each) => scores[each.label]!),
      );
    }
  });

  it("has the logits of our reference engine, to 1e-4", async () => {
    const first = sentences.find((line) => line.length > 60);
    const there = said<{ dims: number[]; data: number[]; ids: number[] }>(
      await exported("pre"),
      `const model = await hub.AutoModelForMaskedLM.from_pretrained(name);
       const tokenizer = await hub.AutoTokenizer.from_pretrained(name);
       const inputs = await tokenizer(given, { truncation: true });
       const { logits } = await model(inputs);
       return { dims: logits.dims, data: [...logits.data], ids: [...inputs.input_ids.data].map(Number) };`,
      first,
    );
    const { answeringProgram } = await import("../src/model/albert/export.ts");
    const { referenceEngine } = await import("../src/index.ts");
    const program = await referenceEngine().compile(answeringProgram(pre, pre.weights, "test").program);
    const shaped = (data: Int32Array) => ({ data, shape: [1, there.ids.length] });
    const rest = {
      mask: shaped(new Int32Array(there.ids.length).fill(1)),
      types: shaped(new Int32Array(there.ids.length)),
    };
    const { logits } = await program.run({ ids: shaped(Int32Array.from(there.ids)), ...rest });
    expect(there.dims).toEqual([1, there.ids.length, 1000]);
    close(there.data, logits!.data as Float32Array);
  });
});

describe("--format transformers.js", () => {
  it("is refused where transformers.js knows no such model", async () => {
    const run = await Run.open(join(root, "fixtures", "runs", "language"), "language");
    await expect(run.exported({ format: "transformers.js" })).rejects.toThrow(
      "export --format transformers.js: expected an ALBERT",
    );
  });

  it("needs a tokenizer", async () => {
    const run = await Run.open(join(root, "fixtures", "runs", "imported"), "imported");
    await expect(run.exported({ format: "transformers.js" })).rejects.toThrow(
      "a SentencePiece model beside the weights",
    );
  });
});
