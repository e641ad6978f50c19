/** ONNX Runtime for the web in Chromium: the engine contract, the losses of Node, threads, and pages without it. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "vite";
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
import { browserCheckpoints, cycle, defaultEngine, languageModel, train } from "layerwise";
import { textBatches, textCorpus, trainTokenizer } from "layerwise/text";

export { ortWebEngine } from "layerwise";

export async function run(text, { halting, threads, kept, until = 20 } = {}) {
  const corpus = textCorpus({ train: text });
  const tokenizer = await trainTokenizer(corpus, { pieces: 200 });
  const data = { train: textBatches(corpus, "train", tokenizer, { batch: 4, length: 16 }) };
  const plan = cycle({ unique: 2, depth: 4 });
  const model = languageModel({ vocabulary: 200, width: 32, heads: 4, plan, length: 16, dropout: 0.1, halting });
  const engine = threads && (await defaultEngine({ threads }));
  const losses = [];
  const into = kept && (await browserCheckpoints(kept));
  const checkpoints = { into, resume: await into?.last(), checkpointEvery: 5 };
  const how = { engine, data, steps: 20, rate: 0.003, warmup: 3, seed: 1 };
  // A tab that is closed ends without a word, so the loop does not break: it leaves the session where it is.
  const events = train(model, { ...how, ...checkpoints })[Symbol.asyncIterator]();
  for (let next = await events.next(); !next.done; next = await events.next()) {
    if (next.value.type === "step") losses.push(next.value.loss);
    if (losses.length === until && next.value.type === "step" && until < 20) break;
  }
  const { name, threads: taken, notice, ownProducts } = engine ?? (await defaultEngine());
  return { losses, name, threads: taken, notice, ownProducts };
}
`;

interface Outcome {
  losses: number[];
  name: string;
  threads: number;
  notice?: string;
  ownProducts?: boolean;
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
    const { values, said } = await open("contract", ["program.run()"], isolated);
    const { passed, failed } = values[0] as { passed: number; failed: string[] };
    expect(failed).toEqual([expect.stringMatching(/^fails where it should: .*expected 1 to be 2/)]);
    expect(passed).toBeGreaterThan(400);
    expect(said).toEqual([]);
  });

  const call = (options = {}) => `program.run(${JSON.stringify(text)}, ${JSON.stringify(options)})`;
  const train = async (options = {}, headers = {}) => {
    const { values, said } = await open("page", [call(options)], headers);
    return { value: values[0] as Outcome, said };
  };

  it.each([
    ["a language model with dropout", { threads: 2 }],
    ["a halting one", { threads: 2, halting: { ponder: 0.01 } }],
  ])("trains %s on two threads of an isolated page, to the losses of Node", async (_, options) => {
    const { value, said } = await train(options, isolated);
    expectLosses(value.losses, (inNode(folder, PROGRAM, text, options) as Outcome).losses);
    expect(value).toMatchObject({ name: "onnxruntime-web", threads: 2, ownProducts: true });
    expect(said).toEqual([]);
  });

  it("trains on one thread of a page that is not, and says which headers it lacks", async () => {
    const [none, half] = [await train(), await train({ threads: 2 }, { "Cross-Origin-Opener-Policy": "same-origin" })];
    const notices = [none, half].map(({ value }) => value.notice);
    const [opener, embedder] = Object.entries(isolated).map((header) => header.join(": "));
    const start = "one thread: to have more, serve the page with";
    expect(notices).toEqual([`${start} ${opener} and ${embedder}`, `${start} ${embedder}`]);
    expect([none.said, half.said]).toEqual(notices.map((notice) => [`layerwise: ${notice}`]));
    expect([none, half].map(({ value }) => value.threads)).toEqual([1, 1]);
    expectLosses(none.value.losses, half.value.losses);
  });

  it("goes on in a new tab where the closed one kept its last checkpoint, to the same bits", async () => {
    const [whole, part] = [call(), call({ kept: "tale", until: 12 })];
    const { values } = await open("page", [whole, part, call({ kept: "tale" })], isolated);
    const [all, before, after] = values.map((value) => (value as Outcome).losses);
    expect([before!.length, after!.length]).toEqual([12, 10]); // a checkpoint every 5 updates: 11 and 12 are made again
    expect([...before!.slice(0, 10), ...after!]).toEqual(all);
  });

  it("trains in a worker as on the page", async () => {
    const run = `import(location.origin + "/bundle.js").then((program) => ${call({ threads: 2 })}).then(postMessage)`;
    const source = `URL.createObjectURL(new Blob([${JSON.stringify(run)}], { type: "text/javascript" }))`;
    const worker = `Object.assign(new Worker(${source}, { type: "module" }), { onmessage: (event) => done(event.data), onerror: fail })`;
    const there = `new Promise((done, fail) => void ${worker})`;
    const { values } = await open("page", [call({ threads: 2 }), there], isolated);
    expect(values[1]).toEqual(values[0]);
    expectLosses((values[1] as Outcome).losses, (values[0] as Outcome).losses);
  });

  it("runs the page of the guide, which trains and writes", async () => {
    const guide = readFileSync(join(root, "docs", "guide", "browser.md"), "utf8");
    const at = join(folder, "guide");
    mkdirSync(at);
    for (const [language, name] of Object.entries({ html: "index.html", js: "main.js" }))
      writeFileSync(join(at, name), new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(guide)![1]!);
    await build({ root: at, configFile: false, logLevel: "error" });
    const said = `document.getElementById("said").textContent`;
    const click = `document.getElementById("text").value = ${JSON.stringify(text)}; document.getElementById("train").click();`;
    const wait = `new Promise((done) => { const see = () => (${said}.split("\\n")[1]?.length > 30 ? done(${said}) : setTimeout(see, 50)); see(); })`;
    const { values } = await open("guide/dist", [`(() => { ${click} return ${wait}; })()`], isolated);
    expect(values[0]).toMatch(/^step 60, loss \d\.\d{3}\n.*\w/s);
  });

  it("says what to serve where its WebAssembly is not found", async () => {
    const engine = 'program.ortWebEngine({ threads: 1, wasmPaths: { wasm: "/nowhere.wasm" } })';
    const { values } = await open("page", [`${engine}.catch(({ code, message }) => ({ code, message }))`]);
    expect(values[0]).toMatchObject({
      code: "runtime",
      message: expect.stringContaining("set wasmPaths to its folder"),
    });
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
    const { values } = await open("bare/page", [run, engine]);
    const [trained, message] = values as [Outcome, string];
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
