/** ONNX Runtime for the web in Chromium: the engine contract, the losses of Node, threads, and pages without it. */
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bundle, executablePath, inNode, pagesIn, programFolder, root } from "./pages.ts";

const folder = programFolder();
const isolated = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

const CONTRACT = `
import { expect, it, outcome } from "vitest";
import { engineContract } from ${JSON.stringify(join(root, "src/engine/engine.contract.ts"))};
import { ortWebEngine } from ${JSON.stringify(join(root, "src/engine/ort-web.ts"))};

export function run() {
  engineContract("ONNX Runtime for the web", ortWebEngine);
  it("fails where it should", () => expect(1).toBe(2));
  return outcome();
}
`;

/** Twenty updates of a language model with dropout by AdamW, on the engine that \`train\` takes. */
const PROGRAM = `
import { cycle, defaultEngine, languageModel, train } from "layerwise";
import { textBatches, textCorpus, trainTokenizer } from "layerwise/text";

export { ortWebEngine } from "layerwise";

export async function run(text, { halting, threads } = {}) {
  const corpus = textCorpus({ train: text });
  const tokenizer = await trainTokenizer(corpus, { pieces: 200 });
  const data = { train: textBatches(corpus, "train", tokenizer, { batch: 4, length: 16 }) };
  const plan = cycle({ unique: 2, depth: 4 });
  const model = languageModel({ vocabulary: 200, width: 32, heads: 4, plan, length: 16, dropout: 0.1, halting });
  const engine = threads && (await defaultEngine({ threads }));
  const losses = [];
  for await (const event of train(model, { engine, data, steps: 20, rate: 0.003, warmup: 3, seed: 1 }))
    if (event.type === "step") losses.push(event.loss);
  const { name, threads: taken, notice } = engine ?? (await defaultEngine());
  return { losses, name, threads: taken, notice };
}
`;

interface Outcome {
  losses: number[];
  name: string;
  threads: number;
  notice?: string;
}

const text = readFileSync(join(root, "corpus", "books", "valid.txt"), "utf8").slice(0, 12_000);

function expectLosses(there: readonly number[], here: readonly number[]): void {
  expect(there).toHaveLength(20);
  expect(Math.max(...there.map((loss, i) => Math.abs(loss - here[i]!)))).toBeLessThan(1e-4);
  expect(there.at(-1)!).toBeLessThan(there[0]! - 0.2);
}

describe.skipIf(executablePath === undefined)("in Chromium, onnxruntime-web", () => {
  const open = pagesIn(folder);
  beforeAll(() => bundle(folder, "page", PROGRAM));

  it("keeps the engine contract", async () => {
    await bundle(folder, "contract", CONTRACT, { alias: { vitest: join(root, "test/suite-in-page.ts") } });
    const { value, said } = await open("contract", "program.run()", isolated);
    const { passed, failed } = value as { passed: number; failed: string[] };
    expect(failed).toEqual([expect.stringMatching(/^fails where it should: .*expected 1 to be 2/)]);
    expect(passed).toBeGreaterThan(400);
    expect(said).toEqual([]);
  });

  const train = (options = {}, headers = {}) =>
    open("page", `program.run(${JSON.stringify(text)}, ${JSON.stringify(options)})`, headers);

  it.each([
    ["a language model with dropout", { threads: 2 }],
    ["a halting one", { threads: 2, halting: { ponder: 0.01 } }],
  ])("trains %s on two threads of an isolated page, to the losses of Node", async (_, options) => {
    const { value, said } = await train(options, isolated);
    expectLosses((value as Outcome).losses, (inNode(folder, PROGRAM, text, options) as Outcome).losses);
    expect(value).toMatchObject({ name: "onnxruntime-web", threads: 2 });
    expect(said).toEqual([]);
  });

  it("trains on one thread of a page that is not, and says which headers it lacks", async () => {
    const [none, half] = [await train(), await train({ threads: 2 }, { "Cross-Origin-Opener-Policy": "same-origin" })];
    const notices = [none, half].map(({ value }) => (value as Outcome).notice);
    const [opener, embedder] = Object.entries(isolated).map((header) => header.join(": "));
    const start = "one thread: to have more, serve the page with";
    expect(notices).toEqual([`${start} ${opener} and ${embedder}`, `${start} ${embedder}`]);
    expect([none.said, half.said]).toEqual(notices.map((notice) => [`layerwise: ${notice}`]));
    expect([none, half].map(({ value }) => (value as Outcome).threads)).toEqual([1, 1]);
    expectLosses((none.value as Outcome).losses, (half.value as Outcome).losses);
  });

  it("says what to serve where its WebAssembly is not found", async () => {
    const engine = 'program.ortWebEngine({ threads: 1, wasmPaths: { wasm: "/nowhere.wasm" } })';
    const { value } = await open("page", `${engine}.catch(({ code, message }) => ({ code, message }))`);
    expect(value).toMatchObject({ code: "runtime", message: expect.stringContaining("set wasmPaths to its folder") });
  });
});

describe.skipIf(executablePath === undefined)("in Chromium, without onnxruntime-web", () => {
  const open = pagesIn(folder);

  it("a page trains on the reference engine, and is told what to install for the other", async () => {
    const bare = join(folder, "bare");
    for (const name of ["dist", "package.json"]) link(join(root, name), join(bare, "node_modules", "layerwise", name));
    for (const name of ["fflate", "gifenc"]) link(join(root, "node_modules", name), join(bare, "node_modules", name));
    await bundle(bare, "page", PROGRAM, { preserveSymlinks: true });
    const run = `program.run(${JSON.stringify(text)})`;
    const engine = "program.ortWebEngine().catch(({ message }) => message)";
    const { value } = await open("bare/page", `Promise.all([${run}, ${engine}])`);
    const [trained, message] = value as [Outcome, string];
    expect(trained).toMatchObject({ name: "reference", threads: 1 });
    expectLosses(trained.losses, (inNode(folder, PROGRAM, text) as Outcome).losses);
    expect(message).toBe(
      "ortWebEngine: expected the package onnxruntime-web, got none installed; npm install onnxruntime-web, or use referenceEngine()",
    );
  });
});

function link(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  symlinkSync(from, to);
}
