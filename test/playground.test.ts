/** The playground in Chromium: three exhibits that train, by keyboard and mouse, with and without isolation; what is left goes on. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync, strFromU8, strToU8, unzipSync } from "fflate";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveStudio } from "../src/studio/index.ts";
import { executablePath, FLAGS, root, serve } from "./pages.ts";

const page = join(root, "dist", "studio", "page", "playground");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const isolated = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

/** A text of the reader's own, as the page writes it into its address. */
const own = readFileSync(join(root, "corpus", "books", "valid.txt"), "utf8").slice(0, 9000);
const packed = btoa(strFromU8(deflateSync(strToU8(own), { level: 9 }), true));
const address = packed.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const small = `pieces=80&text=own&t=${address}`;

describe.skipIf(executablePath === undefined)("the playground", () => {
  let browser: Browser;
  let server: Awaited<ReturnType<typeof serve>>;
  let bare: Awaited<ReturnType<typeof serve>>;
  const contexts: BrowserContext[] = [];
  beforeAll(async () => {
    if (!existsSync(join(page, "index.html"))) execFileSync("npm", ["run", "build"], { cwd: root });
    browser = await chromium.launch({ executablePath: executablePath!, args: FLAGS });
    [server, bare] = [await serve(page, isolated), await serve(page, {})];
  });
  afterAll(async () => {
    for (const context of contexts) await context.close();
    await browser?.close();
    for (const each of [server, bare]) each?.close();
  });

  async function opened(url: string, options: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
    const context = await browser.newContext({ acceptDownloads: true, ...options });
    contexts.push(context);
    const tab = await context.newPage();
    tab.setDefaultTimeout(150_000);
    const own = new URL(url).origin;
    tab.on("request", (request) =>
      expect(request.url().startsWith(own) || /^(blob|data):/.test(request.url())).toBe(true),
    );
    tab.on("pageerror", (error) => expect.unreachable(String(error)));
    await tab.goto(url);
    return tab;
  }

  const train = (tab: Page) => tab.getByRole("button", { name: "Train", exact: true }).click();
  /** Waits for what is to come; a fault that comes instead is told. */
  const waited = async (tab: Page, selector: string) => {
    await tab.locator(`.fault, ${selector}`).first().waitFor();
    expect(await tab.locator(".fault").allTextContents()).toEqual([]);
  };
  const ended = (tab: Page) => waited(tab, "button:has-text('Show the result')");

  async function findings(tab: Page): Promise<string[]> {
    await tab.evaluate(axe);
    const found = (await tab.evaluate("axe.run()")) as { violations: { id: string; nodes: { html: string }[] }[] };
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
  }

  async function downloaded(tab: Page, button: string): Promise<Uint8Array> {
    const [file] = await Promise.all([tab.waitForEvent("download"), tab.getByRole("button", { name: button }).click()]);
    return new Uint8Array(readFileSync(await file.path()));
  }

  it("shares: a plan edited by dragging and by keyboard trains beside the unshared one, and is taken away as a run, safetensors and ONNX", async () => {
    const tab = await opened(`${server.url}#/share?plan=0,1,2&steps=10&width=16&${small}`);
    const slots = tab.locator("[data-depth]");
    const [from, to] = [await slots.nth(0).boundingBox(), await slots.nth(2).boundingBox()];
    await tab.mouse.move(from!.x + 20, from!.y + 20);
    await tab.mouse.down();
    await tab.mouse.move(to!.x + 20, to!.y + 20, { steps: 4 });
    await tab.mouse.up();
    expect(tab.url()).toContain("plan=0%2C1%2C0");
    await slots.nth(0).focus();
    await tab.keyboard.press("ArrowRight");
    await tab.keyboard.press("ArrowDown");
    expect(tab.url()).toContain("plan=0%2C0%2C0");
    await tab.keyboard.press("+");
    expect(await slots.count()).toBe(4);
    await tab.keyboard.press("Delete");
    expect(tab.url()).toContain("plan=0%2C0%2C1");
    await train(tab);
    await ended(tab);
    const rows = await tab.locator("section", { hasText: "Side by side" }).locator("tbody tr").allInnerTexts();
    const [mine, other] = rows.map((row) => row.split("\t"));
    expect([mine![1], mine![2], other![1], other![2]]).toEqual(["3", "2", "3", "3"]);
    expect(Number.parseFloat(mine![3]!)).toBeLessThan(Number.parseFloat(other![3]!));
    expect(mine![4]).toBe(other![4]);
    for (const row of [mine, other]) expect(Number(row![5])).toBeGreaterThan(1);
    const run = unzipSync(await downloaded(tab, "Run (zip)"));
    const config = Object.entries(run).find(([name]) => name.endsWith("config.yaml"))!;
    expect(strFromU8(config[1])).toContain('plan: "0,0,1"');
    expect(Object.keys(run).some((name) => /^text-\w+\.txt$/.test(name))).toBe(true);
    expect((await downloaded(tab, "Weights (safetensors)")).length).toBeGreaterThan(1000);
    expect((await downloaded(tab, "Model (ONNX)")).length).toBeGreaterThan(1000);
    await tab.getByRole("button", { name: "Write" }).click();
    await tab.locator(".written").waitFor();
    expect(await findings(tab)).toEqual([]);
  });

  it("searches: π decides under a budget, in the dark and on a phone too", async () => {
    const tab = await opened(`${bare.url}#/search?blocks=2&steps=20&budget=1&${small}`, {
      colorScheme: "dark",
      viewport: { width: 390, height: 800 },
      reducedMotion: "reduce",
    });
    expect(await tab.locator(".notice").textContent()).toBe(
      "This page trains on one thread: to have more, serve the page with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp.",
    );
    await train(tab);
    await ended(tab);
    await tab.getByRole("button", { name: "Show as table" }).click();
    const cells = await tab.locator(".heat-map tbody tr").count();
    expect(cells).toBeGreaterThan(1);
    expect(await tab.locator(".facts").first().textContent()).toMatch(/network now\s*[sfi(x\d)]+/);
    expect(await tab.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(await findings(tab)).toEqual([]);
  });

  it("adapts: text is coloured by depth as it trains; a tab that is closed on the way goes on where its last checkpoint was", async () => {
    const url = `${server.url}#/adapt?depth=3&steps=60&width=16&${small}`;
    const tab = await opened(url);
    await train(tab);
    await waited(tab, ".piece");
    await tab.close({ runBeforeUnload: false });
    const next = await contexts.at(-1)!.newPage();
    next.setDefaultTimeout(150_000);
    await next.goto(url);
    await ended(next);
    const depths = await next.locator(".piece-depth").allInnerTexts();
    expect(depths.length).toBeGreaterThan(10);
    for (const depth of depths) expect(Number(depth)).toBeGreaterThanOrEqual(1);
    const run = unzipSync(await downloaded(next, "Run (zip)"));
    const events = strFromU8(Object.entries(run).find(([name]) => name.endsWith("events.jsonl"))![1]);
    const steps = events
      .split("\n")
      .flatMap((line) => (line.startsWith('{"type":"step"') ? [JSON.parse(line).step] : []));
    expect(steps).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    const log = strFromU8(Object.entries(run).find(([name]) => name.endsWith("log.txt"))![1]);
    expect(log).toMatch(/resumed after step \d+/);
    expect(await findings(next)).toEqual([]);
  });

  it("takes a text of one's own, pasted or from a file, and keeps it and every setting in the address", async () => {
    const tab = await opened(`${bare.url}#/share`);
    const field = (page: Page) => page.getByLabel("Your text, a few pages of it");
    await tab.getByLabel("My own").check();
    await field(tab).fill("too short");
    await tab.getByText("9 characters: at least 6000 are needed.").waitFor();
    expect(await tab.getByRole("button", { name: "Train", exact: true }).isDisabled()).toBe(true);
    await field(tab).fill(own);
    await tab.getByText(/characters\. It is in the address\./).waitFor();
    await tab.getByLabel(/^Width/).fill("48");
    await tab.getByLabel(/^Steps/).fill("30");
    const other = await opened(tab.url());
    expect(await field(other).inputValue()).toBe(own);
    expect(await other.getByLabel(/^Width/).inputValue()).toBe("48");
    expect(await other.getByLabel(/^Steps/).inputValue()).toBe("30");
    const file = { name: "mine.txt", mimeType: "text/plain", buffer: Buffer.from(own.slice(0, 7000)) };
    await other.getByLabel("Or a text file").setInputFiles(file);
    await other.getByText("7,000 characters. It is in the address.").waitFor();
    expect(await field(other).inputValue()).toBe(own.slice(0, 7000));
  });

  it("refuses a run that is damaged in the library's words", async () => {
    const tab = await opened(`${bare.url}#/share?${small}`);
    const zip = { name: "broken.zip", mimeType: "application/zip", buffer: Buffer.from("PK, but not really") };
    await tab.getByText("1 thread", { exact: true }).waitFor();
    await tab.getByLabel("Bring a run (zip of a run folder)").setInputFiles(zip);
    const words = "expected a zip archive, which ends with its directory, got 18 bytes without";
    expect(await tab.locator(".fault").textContent()).toContain(words);
  });

  it("is served by the studio, isolated", async () => {
    const folder = mkdtempSync(join(tmpdir(), "layerwise-playground-"));
    const studio = await serveStudio({ folder, port: 0, token: false, page: join(root, "dist", "studio", "page") });
    try {
      const tab = await opened(`${studio.url}playground#/share`);
      await tab.getByText(/^\d threads?$/).waitFor();
      expect(await tab.locator(".notice").count()).toBe(0);
      expect(await tab.evaluate("crossOriginIsolated")).toBe(true);
    } finally {
      await studio.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
