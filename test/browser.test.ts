/** The built library under the `browser` condition: bundled by Vite without a warning, trained in Chromium as in Node. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bundle, executablePath, inNode, pagesIn, programFolder, root } from "./pages.ts";

const folder = programFolder();

/** A user's program: a tokenizer and a shared model of their own text, and pictures. */
const PROGRAM = `
import { cycle, formats, languageModel, referenceEngine, train } from "layerwise";
import { textBatches, textCorpus, trainTokenizer } from "layerwise/text";

export async function run(text) {
  const corpus = textCorpus({ train: text });
  const tokenizer = await trainTokenizer(corpus, { pieces: 120 });
  const batches = (split) => textBatches(corpus, split, tokenizer, { batch: 2, length: 8 });
  const plan = cycle({ unique: 1, depth: 2 });
  const model = languageModel({ vocabulary: 120, width: 16, heads: 2, plan, length: 8, dropout: 0.1 });
  const data = { train: batches("train"), valid: batches("valid") };
  const losses = [];
  const session = train(model, { engine: referenceEngine(), data, steps: 30, rate: 0.01, warmup: 3, seed: 1 });
  for await (const event of session) if (event.type === "step") losses.push(event.loss);
  const { evaluation } = await session.result;
  const picture = { width: 8, height: 2, channels: 1, data: Uint8Array.from({ length: 16 }, (_, i) => i * 9) };
  const pictures = [formats.encodePng(picture), formats.encodeGif([{ picture, ms: 100 }])].map((bytes) => bytes.join());
  return { losses, valid: evaluation.loss, sha256: tokenizer.sha256, pictures };
}
`;

interface Outcome {
  losses: number[];
  valid: number;
  sha256: string;
  pictures: string[];
}

const text = readFileSync(join(root, "corpus", "books", "valid.txt"), "utf8").slice(0, 12_000);

/** What a bundler puts beside a program, to be fetched where an engine is made, where it trains, in which way it does, and where a model writes. */
const LATER = [
  "among.js",
  "arena.js",
  "best.js",
  "decoders.js",
  "device-step.js",
  "diverged.js",
  "division.js",
  "evaluator.js",
  "ort-wasm-simd-threaded.wasm",
  "ort.wasm.bundle.min.js",
  "orthogonal.js",
  "pace.js",
  "recompute.js",
  "telling.js",
  "web-products.js",
];
/** A tokenizer.json is read by code of its own. */
const TEXT_LATER = [...LATER, "byte-level.js"].sort();
const PAR_LATER = [...LATER, "decoder.js", "taken-rows.js"].sort();

describe("a bundle", () => {
  it("of a program that trains has no warning, nothing of Node, and the runtime beside it", async () => {
    const { code, warnings, later } = await bundle(folder, "training", PROGRAM);
    expect([warnings, later]).toEqual([[], TEXT_LATER]);
    expect(code).not.toMatch(/node:|onnxruntime-node|__vite-browser-external/);
    expect(code.length).toBeLessThan(250_000);
  });

  it.each([
    ["language models", "", 52, LATER],
    ["all models", ", albert, parModel", 60, PAR_LATER],
  ])("of graph, policies, training and %s is small", async (what, models, most, beside) => {
    const policies = "exits, fixed, halting, layerDropout, looped, nested, relaxed, routed, searched";
    const program = `export { graph, train, ${policies}, languageModel${models} } from "layerwise";`;
    const { gzipped, later } = await bundle(folder, what.replace(" ", "-"), program);
    expect(later).toEqual(beside);
    expect(gzipped).toBeLessThanOrEqual(most * 1024);
  });

  it("of one function is small", async () => {
    const { code, warnings } = await bundle(folder, "cycle", 'export { cycle } from "layerwise";');
    expect(warnings).toEqual([]);
    expect(code).toContain("cycle");
    expect(code.length).toBeLessThan(3000);
  });

  it("has no name for what needs Node", async () => {
    const broken = bundle(folder, "broken", 'export { openCorpus } from "layerwise";');
    await expect(broken).rejects.toThrow(/"openCorpus" is not exported by .*browser\.js/);
  });
});

describe("types", () => {
  /** What TypeScript says of a program, with every declaration checked, in a page (DOM types, none of Node's). */
  function complaints(program: string, options: Record<string, unknown>): string {
    const at = mkdtempSync(join(folder, "types-"));
    const lib = ["es2023", "dom", "dom.iterable"];
    const usual = { strict: true, target: "es2023", lib, types: [], skipLibCheck: false, noEmit: true };
    writeFileSync(join(at, "program.ts"), program);
    writeFileSync(
      join(at, "tsconfig.json"),
      JSON.stringify({ compilerOptions: { ...usual, ...options }, files: ["program.ts"] }),
    );
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    try {
      return execFileSync(process.execPath, [tsc, "-p", at], { encoding: "utf8" });
    } catch (error) {
      return String((error as { stdout?: string }).stdout);
    }
  }

  const program = `
    import { languageModel, train, type Corpus } from "layerwise";
    import { textCorpus } from "layerwise/text";
    export const corpus: Corpus = textCorpus({ train: "a" });
    export const all = [languageModel, train];`;
  const bundler = { module: "esnext", moduleResolution: "bundler" };

  it.each([
    ["Node's resolution", { module: "nodenext" }],
    ["a bundler's", bundler],
    ["a bundler's for browsers", { ...bundler, customConditions: ["browser"] }],
  ])("are whole under %s", (_, options) => {
    expect(complaints(program, options)).toBe("");
  });

  it("for browsers lack what needs Node", () => {
    const said = complaints('import { ortEngine } from "layerwise";', { ...bundler, customConditions: ["browser"] });
    expect(said).toMatch(/no exported member( named)? 'ortEngine/);
  });
});

describe.skipIf(executablePath === undefined)("in Chromium (on the path: chromium-headless-shell or chromium)", () => {
  const open = pagesIn(folder);
  beforeAll(() => bundle(folder, "page", PROGRAM));

  it("a page trains its own tokenizer and model, with the losses that Node has", async () => {
    const { values, said } = await open("page", [`program.run(${JSON.stringify(text)})`]);
    const [there, here] = [values[0] as Outcome, inNode(folder, PROGRAM, text) as Outcome];
    expect(said).toEqual([]);
    expect(there.losses).toHaveLength(30);
    const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
    expect(mean(there.losses.slice(-5))).toBeLessThan(mean(there.losses.slice(0, 5)) - 0.3);
    // The same arithmetic in double precision; only the engine's exp and tanh may differ in the last bit.
    here.losses.forEach((loss, i) => {
      expect(there.losses[i]).toBeCloseTo(loss, 5);
    });
    expect(there.valid).toBeCloseTo(here.valid, 5);
    expect([there.sha256, there.pictures]).toEqual([here.sha256, here.pictures]);
  });
});
