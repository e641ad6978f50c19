/** Programs as pages: a folder where `layerwise` is installed, bundles of it by Vite, a server for them, and Chromium. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, delimiter, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type Browser, chromium, type Page } from "playwright-core";
import { build, createLogger, type InlineConfig, type Rollup } from "vite";
import { afterAll, beforeAll, expect } from "vitest";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** A folder for the tests of a file, in which the built package is installed. */
export function programFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "layerwise-browser-"));
  beforeAll(() => {
    if (!existsSync(join(root, "dist", "browser.js"))) execFileSync("npm", ["run", "build"], { cwd: root });
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(root, join(folder, "node_modules", "layerwise"), "dir");
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Bundle {
  /** What is loaded with the page. */
  readonly code: string;
  /** Its size as servers send it. */
  readonly gzipped: number;
  readonly warnings: string[];
  /** What is fetched when it is asked for, without the hashes in the names. */
  readonly later: string[];
}

/** Bundles a program as `folder/name/bundle.js`; answers with its code and what Vite had to warn of. */
export async function bundle(
  folder: string,
  name: string,
  program: string,
  resolve: InlineConfig["resolve"] = {},
): Promise<Bundle> {
  const warnings: string[] = [];
  const logger = createLogger("silent");
  logger.warn = (message) => void warnings.push(message);
  logger.warnOnce = logger.warn;
  writeFileSync(join(folder, `${name}.js`), program);
  const { output } = (await build({
    root: folder,
    configFile: false,
    customLogger: logger,
    resolve,
    build: {
      outDir: name,
      rollupOptions: {
        input: join(folder, `${name}.js`),
        preserveEntrySignatures: "strict",
        output: { entryFileNames: "bundle.js" },
      },
    },
  })) as Rollup.RollupOutput;
  const loaded = new Set(["bundle.js"]);
  const filesOf = (names: Iterable<string>) => output.filter(({ fileName }) => new Set(names).has(fileName));
  for (const each of loaded) {
    for (const file of filesOf([each])) if (file.type === "chunk") for (const to of file.imports) loaded.add(to);
  }
  const codes = filesOf(loaded).map((file) => (file.type === "chunk" ? file.code : ""));
  const others = output.map(({ fileName }) => fileName).filter((file) => !loaded.has(file));
  return {
    code: codes.join("\n"),
    gzipped: codes.reduce((sum, code) => sum + gzipSync(code).length, 0),
    warnings,
    later: others.map((file) => basename(file).replace(/-[\w-]{8}(?=\.\w+$)/, "")).sort(),
  };
}

/** The first browser on the path. */
function findChromium(): string | undefined {
  const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((each) => join(each, name))).find((path) => existsSync(path));
}

export const FLAGS = [
  "--no-sandbox",
  "--headless",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

/** Where Chromium is; undefined where tests have to be left out. */
export const executablePath = findChromium();

const kinds: Readonly<Record<string, string>> = {
  ".js": "text/javascript",
  ".css": "text/css",
  ".txt": "text/plain",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/** Serves a folder; what is not there is an empty page. */
export async function serve(folder: string, headers: Readonly<Record<string, string>>) {
  const server = createServer(({ url = "/" }, response) => {
    const path = url.replace(/\?.*/, "");
    const file = join(folder, path === "/" ? "index.html" : path);
    const isFile = /\.\w+$/.test(file) && existsSync(file);
    response.setHeader("content-type", (isFile && kinds[extname(file)]) || "text/html");
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.end(isFile ? readFileSync(file) : "<!doctype html><title>layerwise</title>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() };
}

export interface Opened {
  /** What the expressions came to, each on a page of its own; they see the bundle's exports as `program`. */
  readonly values: unknown[];
  /** Lines of the console and errors. */
  readonly said: string[];
}

/** A browser for the tests of a block: evaluates expressions on pages of a bundle, or of its index.html, served with some headers. */
export function pagesIn(folder: string, flags: readonly string[] = FLAGS) {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath!, args: [...flags] });
  });
  afterAll(() => browser?.close());
  return async (
    name: string,
    expressions: readonly string[],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Opened> => {
    const server = await serve(join(folder, name), headers);
    const context = await browser.newContext();
    const [values, said]: [unknown[], string[]] = [[], []];
    try {
      for (const expression of expressions) {
        const page = await context.newPage();
        listenTo(page, server.url, said);
        await page.goto(server.url);
        const hasBundle = existsSync(join(folder, name, "bundle.js"));
        const code = hasBundle ? `import("/bundle.js").then((program) => ${expression})` : expression;
        values.push(await page.evaluate(code));
        await page.close();
      }
      return { values, said };
    } finally {
      await context.close();
      server.close();
    }
  };
}

/** What a page says; it may ask its own server only. */
function listenTo(page: Page, own: string, said: string[]): void {
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("console", (message) => said.push(message.text()));
  page.on("request", (request) =>
    expect(request.url().startsWith(own) || /^(blob|data):/.test(request.url())).toBe(true),
  );
}

/** A program's `run(…)` in a Node of its own, where `layerwise` is the entry point for Node. */
export function inNode(folder: string, program: string, ...given: unknown[]): unknown {
  writeFileSync(join(folder, "program.mjs"), program);
  const call = given.map((each) => JSON.stringify(each)).join(", ");
  const script = `import { run } from "./program.mjs"; console.log(JSON.stringify(await run(${call})));`;
  const args = ["--input-type=module", "-e", script];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" }));
}
