/** The example page in Chromium, on real exported runs: it writes what `layerwise generate` writes, and colours what `layerwise depth` says. */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addDepth } from "../src/cli/commands/depth.ts";
import { addExport } from "../src/cli/commands/export.ts";
import { addGenerate } from "../src/cli/commands/generate.ts";
import { addTrain } from "../src/cli/commands/train.ts";
import { ownFolder, printedBy } from "./command.ts";
import { executablePath, FLAGS, root, serve } from "./pages.ts";

const folder = ownFolder("example-page");
const runs = join(root, "fixtures", "runs");
const PROMPT = "Alice was beginning";
const SENTENCE = "Alice was beginning to get very tired of her sister.";

describe.skipIf(executablePath === undefined)("the example page", () => {
  let browser: Browser;
  let server: Awaited<ReturnType<typeof serve>>;

  beforeAll(async () => {
    const lines = readFileSync(join(root, "corpus", "books", "valid.txt"), "utf8").slice(0, 60_000);
    writeFileSync(join(folder, "text.txt"), lines);
    const sizes = "--pieces 200 --width 48 --heads 4 --depth 3 --unique 1 --length 64 --batch 4 --steps 60".split(" ");
    const train = (name: string, ...more: string[]) =>
      printedBy(
        addTrain,
        "train",
        "--corpus",
        join(folder, "text.txt"),
        ...sizes,
        ...more,
        "--out",
        join(folder, name),
      );
    await train("language", "--rate", "0.004");
    await train("halting", "--halt", "--rate", "0.01");
    const page = join(folder, "page");
    cpSync(join(root, "examples", "page"), page, { recursive: true });
    mkdirSync(join(page, "node_modules"));
    symlinkSync(root, join(page, "node_modules", "layerwise"), "dir");
    symlinkSync(join(root, "node_modules", "onnxruntime-web"), join(page, "node_modules", "onnxruntime-web"), "dir");
    const places = { language: folder, halting: folder, retrain: runs, pretrain: runs };
    for (const [name, at] of Object.entries(places)) {
      await printedBy(addExport, "export", join(at, name), "--out", join(page, "public", name));
    }
    await build({ root: page, configFile: false, logLevel: "error" });
    browser = await chromium.launch({ executablePath: executablePath!, args: FLAGS });
    server = await serve(join(page, "dist"), {});
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  async function ran(run: string, text: string, until: (page: Page) => Promise<unknown>): Promise<Page> {
    const page = await browser.newPage();
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => expect.unreachable(String(error)));
    await page.goto(`${server.url}?run=${run}`);
    await page.locator("#text").fill(text);
    await page.waitForFunction('document.getElementById("go").onclick !== null');
    await page.evaluate('document.getElementById("go").onclick().then(() => { document.title = "done"; })');
    await until(page);
    return page;
  }

  it.each([
    ["language", folder],
    ["retrain", runs],
  ])("writes with a run of %s what the command writes", { timeout: 60_000 }, async (name, at) => {
    const flags = ["--prompt", PROMPT, "--temperature", "0", "--tokens", "40"];
    const here = (await printedBy(addGenerate, "generate", join(at, name), ...flags)).trimEnd();
    const page = await ran(name, PROMPT, (each) => each.waitForFunction('document.title === "done"'));
    expect((await page.locator("#said").textContent())!.trimEnd()).toBe(here);
    expect(here.length).toBeGreaterThan(PROMPT.length + 20);
    await page.close();
  });

  it.each([
    ["halting", folder],
    ["pretrain", runs],
  ])("colours a text with a run of %s by the depths that the command gives", { timeout: 60_000 }, async (name, at) => {
    const { tokens } = JSON.parse(await printedBy(addDepth, "depth", join(at, name), "--text", SENTENCE, "--json"));
    const page = await ran(name, SENTENCE, (each) => each.locator("#said span").first().waitFor());
    const spans = page.locator("#said span");
    const titles = await spans.evaluateAll((all) => all.map((each) => Number((each as { title: string }).title)));
    expect(titles).toEqual(tokens.map(({ depth }: { depth: number }) => depth));
    expect((await spans.allTextContents()).join("")).toContain("ister");
    await page.close();
  });
});
