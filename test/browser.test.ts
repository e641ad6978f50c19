/** The built library under the `browser` condition: bundled by Vite without a warning, trained in Chromium as in Node. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { build, createLogger } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "layerwise-browser-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(() => {
  if (!existsSync(join(root, "dist", "browser.js"))) execFileSync("npm", ["run", "build"], { cwd: root });
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules", "layerwise"), "dir");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
});

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

/** Bundles a program; answers with the bundle's code and what Vite had to warn of. */
async function bundle(name: string, program: string): Promise<{ code: string; warnings: string[] }> {
  const warnings: string[] = [];
  const logger = createLogger("silent");
  logger.warn = (message) => void warnings.push(message);
  logger.warnOnce = logger.warn;
  writeFileSync(join(folder, `${name}.js`), program);
  await build({
    root: folder,
    configFile: false,
    customLogger: logger,
    build: {
      outDir: name,
      rollupOptions: {
        input: join(folder, `${name}.js`),
        preserveEntrySignatures: "strict",
        output: { entryFileNames: "bundle.js" },
      },
    },
  });
  const files = readdirSync(join(folder, name));
  expect(files).toEqual(["bundle.js"]);
  return { code: readFileSync(join(folder, name, "bundle.js"), "utf8"), warnings };
}

/** The program in a Node of its own, where \`layerwise\` is the entry point for Node. */
function inNode(): Outcome {
  writeFileSync(join(folder, "program.mjs"), PROGRAM);
  const script = `import { run } from "./program.mjs"; console.log(JSON.stringify(await run(${JSON.stringify(text)})));`;
  const args = ["--input-type=module", "-e", script];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" }));
}

describe("a bundle", () => {
  it("of a program that trains has no warning and nothing of Node", async () => {
    const { code, warnings } = await bundle("training", PROGRAM);
    expect(warnings).toEqual([]);
    expect(code).not.toMatch(/node:|onnxruntime-node|__vite-browser-external/);
    expect(code.length).toBeLessThan(250_000);
  });

  it("of one function is small", async () => {
    const { code, warnings } = await bundle("cycle", 'export { cycle } from "layerwise";');
    expect(warnings).toEqual([]);
    expect(code).toContain("cycle");
    expect(code.length).toBeLessThan(3000);
  });

  it("has no name for what needs Node", async () => {
    const broken = bundle("broken", 'export { openCorpus } from "layerwise";');
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

/** The first browser on the path. */
function findChromium(): string | undefined {
  const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((each) => join(each, name))).find((path) => existsSync(path));
}

const FLAGS = [
  "--no-sandbox",
  "--headless",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

const executablePath = findChromium();

describe.skipIf(executablePath === undefined)("in Chromium (on the path: chromium-headless-shell or chromium)", () => {
  let browser: Browser;
  let server: Server;

  beforeAll(async () => {
    await bundle("page", PROGRAM);
    server = createServer((request, response) => {
      const isBundle = request.url === "/bundle.js";
      response.setHeader("content-type", isBundle ? "text/javascript" : "text/html");
      response.end(
        isBundle ? readFileSync(join(folder, "page", "bundle.js")) : "<!doctype html><title>layerwise</title>",
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    browser = await chromium.launch({ executablePath: executablePath!, args: FLAGS });
  });

  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  it("a page trains its own tokenizer and model, with the losses that Node has", async () => {
    const page = await browser.newPage();
    const errors: unknown[] = [];
    page.on("pageerror", (error) => errors.push(error));
    page.on("console", (message) => errors.push(message.text()));
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const code = `import("/bundle.js").then(({ run }) => run(${JSON.stringify(text)}))`;
    const [there, here] = [(await page.evaluate(code)) as Outcome, inNode()];
    expect(errors).toEqual([]);
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
