/** The studio's page in Chromium, against the real server and real runs: every view, live, by keyboard, light and dark. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunList, RunRow } from "../src/studio/api.ts";

/** The first browser on the path. */
function findChromium(): string | undefined {
  const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((each) => join(each, name))).find((path) => existsSync(path));
}

const executablePath = findChromium();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "layerwise-page-"));
const runs = join(folder, "runs");
const root = fileURLToPath(new URL("..", import.meta.url));

const command = (args: readonly string[]) => ["--import", "tsx", join(root, "src/cli/main.ts"), ...args];

/** The command line's answer. */
function layerwise(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, command(args), { encoding: "utf8", cwd: root });
  expect(status, stderr).toBe(0);
  return stdout;
}

const tiny = "--preset tiny --threads 1 --evaluate-every 4".split(" ");
const small =
  "--pieces 300 --width 16 --heads 2 --feed-forward 32 --blocks 3 --memory 4 --batch 4 --length 8 --cutoffs 40,120".split(
    " ",
  );
const searching = [
  "search",
  ...small,
  "--threads",
  "1",
  "--evaluate-every",
  "4",
  "--warmup",
  "2",
  "--architecture-rate",
  "0.1",
];
const at = (name: string) => join(runs, name);

function makeRuns(): void {
  layerwise("train", ...tiny, "--steps", "24", "--depth", "4", "--unique", "2", "--out", at("shared"));
  layerwise("train", ...tiny, "--steps", "12", "--depth", "4", "--halt", "--out", at("halting"));
  layerwise("pretrain", "--preset", "trial", "--threads", "1", "--steps", "6", "--out", at("albert"));
  layerwise(...(searching as [string]), "--steps", "40", "--seeds", "2", "--out", at("search"));
  mkdirSync(at("damaged"));
  writeFileSync(join(at("damaged"), "config.yaml"), "task: [unclosed");
}

const processes: ChildProcess[] = [];

/** The studio in a process of its own, as people have it; answers with its address. */
async function serve(page: string): Promise<string> {
  const script = join(folder, "serve.mjs");
  const library = JSON.stringify(pathToFileURL(join(root, "src/studio/index.ts")).href);
  const options = JSON.stringify({ folder: runs, port: 0, page });
  writeFileSync(script, `import { serveStudio } from ${library};\nconsole.log((await serveStudio(${options})).url);`);
  const child = spawn(process.execPath, ["--import", "tsx", script], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  processes.push(child);
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  return String(line).trim();
}

describe.skipIf(executablePath === undefined)(
  "the studio's page in Chromium (on the path: chromium-headless-shell or chromium)",
  () => {
    let url: string;
    let browser: Browser;
    let context: BrowserContext;
    let page: Page;
    const faults: string[] = [];

    beforeAll(async () => {
      const outDir = join(folder, "page");
      await build({ root: join(root, "web"), logLevel: "error", build: { outDir } });
      makeRuns();
      url = await serve(`${outDir}/`);
      browser = await chromium.launch({ executablePath: executablePath!, args: ["--no-sandbox", "--disable-gpu"] });
      context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
      page = await context.newPage();
      page.on("pageerror", (error) => faults.push(error.message));
      page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
      await page.goto(url);
    }, 600_000);

    afterAll(async () => {
      for (const each of processes) each.kill("SIGKILL");
      await browser?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const origin = () => new URL(url).origin;
    async function open(hash: string): Promise<void> {
      await page.goto("about:blank");
      await page.goto(`${origin()}/${hash}`);
      await page.locator(".connection.live").waitFor();
    }
    const rowsNow = () => page.evaluate(async () => ((await (await fetch("/api/runs")).json()) as RunList).runs);
    async function rowOf(path: string): Promise<RunRow> {
      return (await rowsNow()).find((row) => row.path === path)!;
    }
    const idOf = async (path: string) => (await rowOf(path)).id;
    /** Waits until something holds; fails with what it last was. */
    async function until<T>(look: () => Promise<T>, holds: (value: T) => boolean, seconds = 120): Promise<T> {
      const end = Date.now() + 1000 * seconds;
      for (;;) {
        const value = await look();
        if (holds(value)) return value;
        if (Date.now() > end) throw new Error(`still ${JSON.stringify(value)} after ${seconds} s`);
        await page.waitForTimeout(200);
      }
    }
    const lossSentence = async () => (await page.locator(".plot").first().getAttribute("aria-label")) ?? "";

    describe("runs", () => {
      it("lists every run with its figures, and a damaged folder as such", async () => {
        await open("#/runs");
        const table = page.getByRole("region", { name: "Table of runs" });
        await table.getByRole("link", { name: "shared", exact: true }).waitFor();
        const text = await table.locator("tbody tr", { hasText: "shared" }).textContent();
        expect(text).toContain("24 / 24");
        expect(text).toContain("2 → 4");
        const damaged = await table.locator("tbody tr", { hasText: "damaged" }).first().textContent();
        expect(damaged).toMatch(/damaged/);
        expect(damaged).toContain("YAML");
      });

      it("filters, sorts and groups by settings, all in the address", async () => {
        await open("#/runs?filter=halt%3Dtrue");
        await expect.poll(() => page.locator("table.runs tbody tr").count()).toBe(1);
        await page.getByLabel("Filter").fill("kind=language");
        await page.getByLabel("Sort by").selectOption("step");
        await page.getByLabel("Group by").selectOption("halt");
        expect(new URL(page.url()).hash).toBe("#/runs?filter=kind%3Dlanguage&sort=step&group=halt");
        await page.reload();
        await expect.poll(() => page.locator("h2.group").allInnerTexts()).toEqual(["halt true 1", "halt false 1"]);
      });

      it("keeps a note in the run's folder", async () => {
        await open("#/runs");
        await page.getByRole("button", { name: "Add note, note on shared" }).click();
        await page.getByRole("textbox", { name: "Note on shared" }).fill("the one to beat");
        await page.keyboard.press("Enter");
        await page.getByRole("button", { name: "the one to beat, note on shared" }).waitFor();
        expect((await rowOf("shared")).note).toBe("the one to beat");
      });

      it("compares a selection: curves over each other and only the settings that differ", async () => {
        await open("#/runs");
        for (const name of ["shared", "halting"]) await page.getByLabel(`Select ${name}`, { exact: true }).check();
        await page.getByRole("button", { name: "Compare" }).click();
        const table = page.getByRole("region", { name: "Table of results and settings" });
        await table.getByText("Settings that differ").waitFor();
        const settings = await table.locator("tbody th[scope=row]").allInnerTexts();
        expect(settings).toEqual(expect.arrayContaining(["unique", "halt", "steps"]));
        expect(settings).not.toContain("corpus");
        expect(await lossSentence()).toMatch(/shared \d.* over 23.00 steps.*halting \d.* over 11.00 steps/);
      });
    });

    describe("a run", () => {
      it("shows curves, plan, checkpoints and log, over the axis in the address", async () => {
        await open(`#/run/${await idOf("shared")}?x=tokens&logy=1`);
        await page.getByRole("img", { name: "4 layers run, 2 own weights: 1, 2, 1, 2" }).waitFor();
        expect(await lossSentence()).toMatch(/^Loss\. train \d\.\d+ → \d\.\d+ over [\d,.]+ tokens/);
        expect(await page.getByRole("radio", { name: "tokens" }).isChecked()).toBe(true);
        expect(await page.locator(".log").textContent()).toContain("valid at step 24");
        expect(await page.locator(".checkpoints").textContent()).toContain("step 24");
      });

      it("draws no line twice: every chart has pixels of its own", async () => {
        const isPainted = "c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((value) => value !== 0)";
        const painted = await page.evaluate<boolean[]>(
          `[...document.querySelectorAll("canvas")].map((c) => ${isPainted})`,
        );
        expect(painted.length).toBeGreaterThan(4);
        expect(painted).not.toContain(false);
      });

      it("is started, watched as it grows, stopped and resumed from the page to the weights of the command", async () => {
        await open(
          "#/new?task=language&preset=tiny&name=live&s.steps=1500&s.threads=1&s.evaluateEvery=500&s.checkpointEvery=500",
        );
        await page.getByRole("button", { name: "Start" }).click();
        await page.getByRole("link", { name: "watch it" }).click({ timeout: 120_000 });
        const reach = (sentence: string) =>
          Number(/over ([\d,.]+) steps/.exec(sentence)?.[1]?.replaceAll(",", "") ?? 0);
        const early = reach(await until(lossSentence, (sentence) => reach(sentence) > 2));
        expect(reach(await until(lossSentence, (sentence) => reach(sentence) > early))).toBeGreaterThan(early);
        await page.getByRole("button", { name: "Stop", exact: true }).click();
        await page.getByRole("button", { name: "Resume", exact: true }).click({ timeout: 60_000 });
        await until(
          () => rowOf("live"),
          ({ status }) => status === "finished",
        );
        await page.locator(".heading .status-finished").waitFor();
        const same = "--preset tiny --steps 1500 --threads 1 --evaluate-every 500 --checkpoint-every 500".split(" ");
        layerwise("train", ...same, "--out", join(folder, "whole"));
        const hash = (path: string) => JSON.parse(layerwise("runs", "show", path, "--json")).weightsHash;
        expect(hash(at("live"))).toBe(hash(join(folder, "whole")));
      });

      it("is the newest one under latest run", async () => {
        await open("#/latest");
        await expect.poll(() => page.locator("h1").textContent()).toBe("live");
      });
    });

    describe("a search", () => {
      it("is walked through by keyboard: slider with Home and End, map with arrows, and a table", async () => {
        await open(`#/search/${await idOf("search/seed-1")}`);
        const slider = page.getByRole("slider", { name: "Time of the search" });
        await slider.focus();
        await page.keyboard.press("Home");
        await expect.poll(() => slider.getAttribute("aria-valuetext")).toBe("step 4");
        expect(page.url()).toContain("step=4");
        await page.keyboard.press("End");
        await expect.poll(() => slider.getAttribute("aria-valuetext")).toBe("step 40");
        await page.locator(".heat-map canvas").focus();
        await page.keyboard.press("ArrowRight");
        await page.keyboard.press("ArrowRight");
        await page.keyboard.press("ArrowDown");
        await expect
          .poll(() => page.locator(".heat-map output").textContent())
          .toMatch(/^block 2, \S+: [\d.]+ %$|: cut$/);
        await page.getByRole("button", { name: "Show as table" }).click();
        await expect.poll(() => page.locator(".heat-map tbody tr").count()).toBe(3);
      });

      it("plays from its beginning to its end, but not for whoever wants less motion", async () => {
        await open(`#/search/${await idOf("search/seed-1")}?step=28`);
        await page.getByRole("button", { name: "Play" }).click();
        await expect
          .poll(() => page.getByRole("slider").getAttribute("aria-valuetext"), { timeout: 20_000 })
          .toBe("step 40");
        await page.emulateMedia({ reducedMotion: "reduce" });
        await expect.poll(() => page.getByRole("button", { name: "Play" }).isDisabled()).toBe(true);
        await page.emulateMedia({ reducedMotion: "no-preference" });
      });

      it("moves while it runs", async () => {
        const args = command([...searching, "--steps", "4000", "--out", at("moving")]);
        processes.push(spawn(process.execPath, args, { cwd: root, stdio: "ignore" }));
        await open("#/runs");
        const row = await until(
          () => rowOf("moving"),
          (each) => each?.uses.includes("search") === true,
        );
        await open(`#/search/${row.id}`);
        const map = page.locator(".heat-map canvas");
        const first = (await map.getAttribute("aria-label", { timeout: 60_000 }))!;
        const last = page.getByRole("slider", { name: "Time of the search" });
        const before = Number(await last.getAttribute("max"));
        await until(
          async () => Number(await last.getAttribute("max")),
          (now) => now > before + 1,
        );
        expect(await map.getAttribute("aria-label")).not.toBe(first);
        processes.pop()!.kill("SIGINT");
      });

      it("has seeds side by side, and a network of the front says how to train it", async () => {
        await open(`#/search/${await idOf("search")}`);
        await expect.poll(() => page.locator(".seeds > li").count()).toBe(2);
        await page.locator(".front tbody button").first().click();
        expect(await page.locator(".chosen-point code").last().textContent()).toMatch(/^layerwise retrain /);
        expect(await page.getByRole("button", { name: "Train it now" }).isEnabled()).toBe(true);
      });
    });

    describe("depth", () => {
      const text = "The cat sat on the mat.";

      it("of every piece is that of `layerwise depth --json`, with a halting probability per iteration", async () => {
        await open(`#/depth/${await idOf("albert")}?text=${encodeURIComponent(text)}`);
        await page.locator(".piece").first().waitFor();
        const depths = (await page.locator(".piece-depth").allInnerTexts()).map(Number);
        const told = JSON.parse(layerwise("depth", at("albert"), "--text", text, "--json"));
        expect(depths).toEqual(told.tokens.map(({ depth }: { depth: number }) => depth));
        await page.locator(".piece").nth(2).focus();
        await expect.poll(() => page.locator(".detail .bars li").count()).toBe(depths[2]);
      });

      it("is shown for two runs side by side, masked and causal, and by kind in a table", async () => {
        await open(`#/depth/${await idOf("albert")}?beside=${await idOf("halting")}&text=${encodeURIComponent(text)}`);
        await expect.poll(() => page.locator(".pieces").count(), { timeout: 60_000 }).toBe(2);
        expect(await page.locator("main").textContent()).toMatch(
          /pieces see both sides.*each piece sees those before it/s,
        );
        await page.getByRole("button", { name: "Table by kind of token" }).first().click();
        await page.getByRole("table", { name: "By kind of token" }).first().waitFor({ timeout: 60_000 });
        expect(await page.locator("table.depths").first().textContent()).toContain("[CLS]");
      });
    });

    describe("play", () => {
      it("writes what `layerwise generate` writes with the same seed, token by token with probabilities", async () => {
        await open(`#/play/${await idOf("halting")}?prompt=it+was&tokens=16&temperature=0.7&topk=20&seed=3`);
        await page.getByRole("button", { name: "Continue the text" }).click();
        await page.getByText("tokens per second").waitFor({ timeout: 60_000 });
        const how = "--tokens 16 --temperature 0.7 --top-k 20 --seed 3 --json".split(" ");
        const told = JSON.parse(layerwise("generate", at("halting"), "--prompt", "it was", ...how));
        expect(await page.getByTestId("text").textContent()).toBe(`it was${told.text}`);
        await page.locator(".piece").first().focus();
        await expect.poll(() => page.locator("p.detail").textContent()).toMatch(/probability [\d.]+ %, depth \d of 4/);
      });

      it("fills a mask", async () => {
        await open(`#/play/${await idOf("albert")}?text=The+cat+sat+on+the+%5BMASK%5D.`);
        await page.getByRole("button", { name: "Fill" }).click();
        await expect.poll(() => page.locator(".bars li").count(), { timeout: 60_000 }).toBe(8);
      });

      it("shows the memory of a Transformer-XL and clears it", async () => {
        await open(`#/play/${await idOf("search/seed-1")}?tokens=4&prompt=it+was`);
        await page.getByRole("button", { name: "Continue the text" }).click();
        await page.getByText(/memory: \d+ of \d+ steps/).waitFor({ timeout: 60_000 });
        await page.getByRole("button", { name: "Clear memory" }).click();
        expect(await page.getByText(/memory: \d+ of/).count()).toBe(0);
      });
    });

    describe("new", () => {
      it("estimates, and says which command it amounts to", async () => {
        await open("#/new?task=language&preset=tiny&name=estimated");
        await page.getByLabel("unique", { exact: true }).fill("1");
        await page.keyboard.press("Tab");
        await expect.poll(() => page.url()).toContain("s.unique=1");
        await page.getByRole("button", { name: "Estimate" }).click();
        await page.getByText("estimated time").waitFor({ timeout: 120_000 });
        expect(await page.locator(".launch code").textContent()).toMatch(/train .*--preset tiny.*--unique 1/);
        expect(existsSync(at("estimated"))).toBe(false);
      });

      it("says the server's refusal as a sentence", async () => {
        await open("#/new?task=language&preset=tiny&s.width=-3");
        await page.getByRole("button", { name: "Start" }).click();
        expect(await page.getByRole("alert").textContent()).toMatch(/width/);
        faults.splice(0, faults.length, ...faults.filter((fault) => !/status of 4\d\d/.test(fault)));
      });
    });

    it("saves a view as one HTML file that opens from disk with its data", async () => {
      await open(`#/search/${await idOf("search/seed-1")}?step=20`);
      await page.locator(".heat-map canvas").waitFor();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Save as HTML" }).click(),
      ]);
      const file = join(folder, "saved.html");
      await download.saveAs(file);
      const offline = await browser.newContext({ offline: true });
      const other = await offline.newPage();
      other.on("pageerror", (error) => faults.push(error.message));
      await other.goto(pathToFileURL(file).href);
      await expect.poll(() => other.getByRole("slider").getAttribute("aria-valuetext")).toBe("step 20");
      expect(await other.locator(".heat-map canvas").getAttribute("aria-label")).toBe(
        await page.locator(".heat-map canvas").getAttribute("aria-label"),
      );
      await offline.close();
    });

    it.each(["light", "dark"] as const)(
      "has no finding of axe-core in any view, %s, and fits a phone",
      async (colorScheme) => {
        await page.emulateMedia({ colorScheme });
        const [shared, halting, albert, search] = await Promise.all(
          ["shared", "halting", "albert", "search"].map(idOf),
        );
        const views = [
          "#/runs?group=kind",
          `#/runs?select=${shared},${halting}`,
          `#/run/${shared}`,
          `#/run/${await idOf("damaged")}`,
          `#/compare?ids=${shared},${halting}`,
          `#/search/${search}`,
          `#/depth/${albert}?beside=${halting}`,
          `#/play/${halting}`,
          "#/sharing",
          "#/new?task=search",
          "#/nowhere",
        ];
        for (const view of views) {
          await open(view);
          await page.waitForTimeout(700);
          await page.evaluate(axe);
          const found = await page.evaluate(async () => {
            const { axe } = globalThis as unknown as {
              axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
            };
            return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
          });
          expect(found, view).toEqual([]);
          await page.setViewportSize({ width: 360, height: 740 });
          await page.waitForTimeout(100);
          expect(await page.evaluate("document.documentElement.scrollWidth"), view).toBeLessThanOrEqual(360);
          await page.setViewportSize({ width: 1280, height: 900 });
        }
      },
    );

    it("broke no rule of the content security policy and threw nothing", () => {
      expect(faults).toEqual([]);
    });
  },
);
