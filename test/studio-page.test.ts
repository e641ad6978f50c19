/** The studio's page in Chromium, against the real server and real runs: every view, live, by keyboard, light and dark. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findChromium } from "../scripts/chromium.ts";
import type { RunList, RunRow } from "../src/studio/api.ts";
import { begin, isBuilt, layerwise, makeRuns, searching, UNLABELLED } from "./studio-runs.ts";

const executablePath = isBuilt ? findChromium() : undefined;
if (executablePath === undefined) process.stderr.write("skipped: the studio's page needs a build and Chromium\n");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "layerwise-page-"));
const runs = join(folder, "runs");
const at = (name: string) => join(runs, name);
const processes: ChildProcess[] = [];

/** The studio in a process of its own, as people have it; answers with its address. */
async function serve(): Promise<string> {
  const child = begin("studio", runs, "--port", "0");
  processes.push(child);
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  return String(line).trim();
}

describe.skipIf(executablePath === undefined)(
  "the studio's page in Chromium (built by npm run build; on the path: chromium-headless-shell or chromium)",
  () => {
    let url: string;
    let browser: Browser;
    let context: BrowserContext;
    let page: Page;
    const faults: string[] = [];

    beforeAll(async () => {
      process.env.XDG_CACHE_HOME = join(folder, "cache");
      await makeRuns(folder, runs);
      url = await serve();
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
        const shared = table.locator("tbody tr", { hasText: "shared" });
        expect(await shared.textContent()).toContain("24 / 24");
        await expect.poll(() => shared.textContent(), { timeout: 60_000 }).toContain("2 → 4"); // counted after the first view
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
          "#/new?task=language&preset=tiny&name=live&s.steps=5000&s.threads=1&s.evaluateEvery=500&s.checkpointEvery=500",
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
        const same = "--preset tiny --steps 5000 --threads 1 --evaluate-every 500 --checkpoint-every 500".split(" ");
        await layerwise(["train", ...same, "--out", join(folder, "whole")]);
        const hash = async (path: string) =>
          JSON.parse(await layerwise(["runs", "show", path, "--json"])).weightsHash as string;
        expect(await hash(at("live"))).toBe(await hash(join(folder, "whole")));
      }, 600_000);

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
        processes.push(begin(...searching.split(" "), "--steps", "4000", "--out", at("moving")));
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

      it("has seeds side by side, each with its own π and pattern", async () => {
        await open(`#/search/${await idOf("search")}`);
        await expect.poll(() => page.locator(".seeds > li").count()).toBe(2);
        const { seeds } = JSON.parse(readFileSync(join(at("search"), "architecture.json"), "utf8"));
        const shown = await page.locator(".seeds > li code").allInnerTexts();
        expect(shown).toEqual(seeds.map(({ pattern }: { pattern: string }) => pattern));
        expect(await page.locator(".seeds .mini-map").count()).toBe(2);
      });

      it("has a front whose points say how to train them, and do", async () => {
        await open(`#/search/${await idOf("search")}`);
        const point = page.locator(".front .point.published").first();
        await point.focus();
        await page.keyboard.press("Enter");
        const said = await page.locator(".chosen-point code").last().textContent();
        expect(said).toMatch(/ retrain \S+ .*--width 16 .*--out \S+retrain-1$/);
        const pattern = (await page.locator(".chosen-point code").first().textContent())!;
        await page.getByRole("button", { name: "Train it now" }).click();
        const row = await until(
          () => rowOf("retrain-1"),
          (each) => each?.status === "finished",
        );
        const ofSearch = (await rowOf("search/seed-1")).settings;
        expect(row.settings).toMatchObject({ blocks: pattern, width: ofSearch.width, steps: ofSearch.steps });
        // The page was not left: the network joins the front as soon as it is trained, and its baseline with it.
        const retrained = page.locator(".front .point.retrain");
        await expect
          .poll(() => retrained.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label"))))
          .toContainEqual(expect.stringMatching(/^retrain-1, trained again: .*perplexity \d/));
        await until(
          () => retrained.count(),
          (count) => count === 2,
        );
        await page.getByText("retrain-1 has ended").waitFor();
        await page.getByRole("button", { name: "retrain-1", exact: true }).click();
        await expect.poll(() => page.locator(".chosen-point h3").textContent()).toBe("retrain-1");
        const { networks } = JSON.parse(readFileSync(join(at("retrain-1"), "retrain.json"), "utf8"));
        const facts = () => page.locator(".chosen-point .facts").textContent();
        await expect.poll(facts).toContain(`forward${networks[0].latencyMs.toPrecision(4)} ms`);
        expect(await facts()).toContain(`perplexity${networks[0].perplexity.toPrecision(4)}`);
      });
    });

    describe("depth", () => {
      const text = "The cat sat on the mat.";

      it("of every piece is that of `layerwise depth --json`, with a halting probability per iteration", async () => {
        await open(`#/depth/${await idOf("albert")}?text=${encodeURIComponent(text)}`);
        await page.locator(".piece").first().waitFor();
        const depths = (await page.locator(".piece-depth").allInnerTexts()).map(Number);
        const told = JSON.parse(await layerwise(["depth", at("albert"), "--text", text, "--json"]));
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

      it("is tabulated by part of speech and by relation, out of a treebank's file", async () => {
        const file = join(folder, "two.conllu");
        writeFileSync(file, "1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\t_\t_\t0\troot\t_\t_\n\n");
        await open(`#/depth/${await idOf("albert")}`);
        await page.getByLabel("By part of speech and relation: a CoNLL-U file").setInputFiles(file);
        const table = (name: string) => page.getByRole("table", { name }).locator("tbody th");
        await expect
          .poll(async () => (await table("By part of speech").allInnerTexts()).sort())
          .toEqual(["DET", "NOUN"]);
        expect((await table("By relation").allInnerTexts()).sort()).toEqual(["det", "root"]);
        await open(`#/depth/${await idOf("halting")}?table=kinds`);
        await expect
          .poll(() => table("By kind of token").allInnerTexts(), { timeout: 60_000 })
          .toContain("common words");
        await page.getByLabel("By part of speech and relation: a CoNLL-U file").setInputFiles(file);
        await expect.poll(async () => (await table("By relation").allInnerTexts()).sort()).toEqual(["det", "root"]);
      });
    });

    describe("play", () => {
      it("writes what `layerwise generate` writes with the same seed, token by token with probabilities", async () => {
        await open(`#/play/${await idOf("halting")}?prompt=it+was&tokens=16&temperature=0.7&topk=20&seed=3`);
        await page.getByRole("button", { name: "Continue the text" }).click();
        await page.getByText("tokens per second").waitFor({ timeout: 60_000 });
        const how = "--tokens 16 --temperature 0.7 --top-k 20 --seed 3 --json".split(" ");
        const told = JSON.parse(await layerwise(["generate", at("halting"), "--prompt", "it was", ...how]));
        expect(await page.getByTestId("text").textContent()).toBe(`it was${told.text}`);
        await page.locator(".piece").first().focus();
        await expect.poll(() => page.locator("p.detail").textContent()).toMatch(/probability [\d.]+ %, depth \d of 4/);
      });

      it("fills masks: eight guesses each, the most probable first", async () => {
        await open(`#/play/${await idOf("albert")}`);
        await page.getByLabel("Text with [MASK]").fill("The [MASK] sat on the [MASK].");
        await page.getByRole("button", { name: "Fill" }).click();
        await expect.poll(() => page.locator(".bars").count(), { timeout: 60_000 }).toBe(2);
        for (const mask of await page.locator(".bars").all()) {
          const shares = (await mask.locator(".number").allInnerTexts()).map(Number.parseFloat);
          expect(shares).toHaveLength(8);
          expect(shares).toEqual([...shares].sort((a, b) => b - a));
        }
        expect(await page.locator(".panel h2").allInnerTexts()).toEqual([
          expect.stringMatching(/^Mask 1, depth \d+$/),
          expect.stringMatching(/^Mask 2, depth \d+$/),
        ]);
      });

      it("translates what `layerwise translate` translates, line by line", async () => {
        const lines = ["The dog sings.", "The boy waits."];
        await open(`#/play/${await idOf("translator")}`);
        await page.getByLabel("Sentences, one per line").fill(lines.join("\n"));
        await page.getByLabel("Beam").fill("2");
        await page.getByRole("button", { name: "Translate" }).click();
        await expect.poll(() => page.locator("ol.prose li").count(), { timeout: 60_000 }).toBe(2);
        const told = await layerwise(["translate", at("translator"), "--beam", "2"], `${lines.join("\n")}\n`);
        expect(await page.locator("ol.prose li").allTextContents()).toEqual(told.trimEnd().split("\n"));
      });

      it("classifies as `layerwise glue predict` does, with scores and depths", async () => {
        await layerwise(["glue", "predict", at("labels"), "--out", join(folder, "submission")]);
        const told = readFileSync(join(folder, "submission", "SST-2.tsv"), "utf8")
          .trim()
          .split("\n")
          .slice(1);
        await open(`#/play/${await idOf("labels")}`);
        for (const [i, text] of UNLABELLED.entries()) {
          await page.getByLabel("Text", { exact: true }).fill(text);
          const answered = page.waitForResponse(/\/classify$/);
          await page.getByRole("button", { name: "Classify" }).click();
          await answered;
          await expect
            .poll(() => page.locator(".panel h2").last().textContent())
            .toBe(`SST-2: ${told[i]!.split("\t")[1]}`);
        }
        const scores = (await page.locator(".bars .number").allInnerTexts()).map(Number.parseFloat);
        expect(scores.reduce((sum, score) => sum + score)).toBeCloseTo(100, 0);
        expect(await page.locator(".piece").count()).toBeGreaterThan(3);
      });

      it("shows the memory of a Transformer-XL and clears it", async () => {
        await open(`#/play/${await idOf("search/seed-1")}?tokens=4&prompt=it+was`);
        await page.getByRole("button", { name: "Continue the text" }).click();
        await page.getByText(/memory: \d+ of \d+ steps/).waitFor({ timeout: 60_000 });
        const memory = async () => Number(/memory: (\d+) of/.exec((await page.locator("form").textContent())!)?.[1]);
        const first = await memory();
        await page.getByLabel("read on after the last text").check();
        const written = page.waitForResponse(/\/generate$/);
        await page.getByRole("button", { name: "Continue the text" }).click();
        await (await written).finished();
        await expect.poll(memory).toBe(4); // all of it: the first text and the second
        expect(first).toBeLessThanOrEqual(4);
        await page.getByRole("button", { name: "Clear memory" }).click();
        expect(await page.getByText(/memory: \d+ of/).count()).toBe(0);
        const asked = page.waitForRequest(/\/generate$/);
        await page.getByRole("button", { name: "Continue the text" }).click();
        expect((await asked).postDataJSON()).not.toHaveProperty("keepMemory");
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

      it("starts a comparison of sharing, whose table fills to that of `layerwise compare`", async () => {
        await open("#/new?task=compare&preset=tiny&name=sharing&s.steps=60&s.threads=1&s.evaluateEvery=60");
        for (const name of ["vanilla 3/3", "cycle 3/6"]) await page.getByLabel(name, { exact: true }).check();
        await page.getByRole("button", { name: "Start" }).click();
        await page.getByRole("link", { name: "Sharing", exact: true }).click();
        const table = page.getByRole("region", { name: "Table of sharing" });
        await table.getByRole("row", { name: /^vanilla 3\/3/ }).waitFor({ timeout: 120_000 });
        await expect.poll(() => table.getByText("finished").count(), { timeout: 120_000 }).toBe(2);
        const how = "--preset tiny --steps 60 --threads 1 --evaluate-every 60 --seeds 1 --json".split(" ");
        const only = ["--only", "vanilla 3/3,cycle 3/6", "--out", at("sharing")];
        const { rows } = JSON.parse(await layerwise(["compare", ...how, ...only])) as {
          rows: { name: string; perplexity: { mean: number } }[];
        };
        const cells = await table
          .locator("tbody tr")
          .evaluateAll((all) =>
            all.map((row) => [row.querySelector("th"), row.querySelectorAll("td")[5]].map((cell) => cell?.textContent)),
          );
        expect(cells).toEqual(rows.map(({ name, perplexity }) => [name, perplexity.mean.toPrecision(4)]));
      });

      it("says the server's refusal as a sentence", async () => {
        await open("#/new?task=language&preset=tiny&s.width=-3");
        await page.getByRole("button", { name: "Start" }).click();
        expect(await page.getByRole("alert").textContent()).toMatch(/width/);
        faults.splice(0, faults.length, ...faults.filter((fault) => !/status of 4\d\d/.test(fault)));
      });
    });

    describe("a sweep", () => {
      const spec = `task: language
preset: tiny
settings: { steps: 400, evaluateEvery: 200, threads: 1 }
vary:
  rate: [0.001, 0.03]
  unique: [1, 2]
`;

      it("is followed while its trials run, to the table of `layerwise sweep show`", async () => {
        const file = join(folder, "rates.yaml");
        writeFileSync(file, spec);
        await open("#/sweep");
        const sweeps = page.locator(".controls select");
        await layerwise([
          ...["sweep", file, "--out", at("elsewhere"), "--on", "kubernetes:1"],
          ...["--image", "none", "--claim", "none"],
        ]);
        await sweeps.selectOption("elsewhere"); // announced while the page is open, and a folder without any run
        await page.getByText("waiting").nth(3).waitFor();
        processes.push(begin("sweep", file, "--out", at("rates"), "--on", "local:1"));
        await sweeps.selectOption("rates");
        await page.getByRole("region", { name: "Table of trials" }).waitFor({ timeout: 60_000 });
        const ended = async () =>
          Number(/trials ended\s*(\d+) of 4/.exec((await page.locator("main").textContent())!)?.[1]);
        const early = await ended();
        await until(ended, (now) => now === 4);
        expect(early).toBeLessThan(4);
        const { rows } = JSON.parse(await layerwise(["sweep", "show", at("rates"), "--json"])) as {
          rows: { values: Record<string, unknown>; figure: { mean: number } }[];
        };
        const cells = await page
          .locator("table.trials tbody tr")
          .evaluateAll((all) =>
            all.map((row) => [...row.querySelectorAll("td")].slice(0, 3).map((cell) => cell.textContent)),
          );
        expect(cells).toEqual(
          rows.map(({ values, figure }) => [`${values.rate}`, `${values.unique}`, figure.mean.toPrecision(4)]),
        );
        expect(await page.locator("table.trials tbody tr").first().textContent()).toContain("best");
        expect((await rowsNow()).filter(({ status }) => status === "foreign")).toEqual([]);
      });

      it("is read by keyboard: arrows walk from the best candidate to the worst, and the address keeps it", async () => {
        await open("#/sweep"); // the one that changed last, which may be one of another test
        await page.locator(".controls select").selectOption("rates");
        const picture = page.getByRole("img", {
          name: /^Candidates across rate, unique, perplexity\. Best so far: rank 1/,
        });
        await picture.focus();
        await page.keyboard.press("ArrowRight");
        await expect.poll(() => page.locator(".parallel output").textContent()).toMatch(/^rank 1 of 4: rate 0/);
        await page.keyboard.press("End");
        await expect.poll(() => page.locator(".parallel output").textContent()).toMatch(/^rank 4 of 4: /);
        expect(page.url()).toMatch(/candidate=0\.\d/);
        expect(await page.locator(".scatter[role=img]").first().getAttribute("aria-label")).toMatch(
          /^perplexity against rate, mean over trials: \S+ at 0\.\d+, \S+ at 0\.\d+$/,
        );
        expect(await page.locator(".chosen-point code").textContent()).toMatch(
          /train --config \S+rates\/trials\/\d\.yaml$/,
        );
      });
    });

    describe("the address", () => {
      /** What is seen and set in the view; ages pass. */
      const seen = () =>
        page.evaluate<{ text: string; set: unknown[] }>(`(() => {
          const controls = [...document.querySelectorAll("main input, main select, main textarea, main [aria-pressed]")];
          const set = controls.map((each) =>
            /radio|checkbox/.test(each.type) ? each.checked : (each.getAttribute("aria-pressed") ?? each.value));
          return { text: document.querySelector("main").textContent.replace(/now|\\d+ min ago/g, ""), set };
        })()`);
      const type = async (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text);
      const views: readonly (readonly [string, () => Promise<string>, () => Promise<unknown>])[] = [
        [
          "runs",
          async () => "#/runs",
          async () => {
            await type("Filter", "kind=language");
            await page.getByLabel("Group by").selectOption("steps");
            await page.getByLabel("Select shared", { exact: true }).check();
          },
        ],
        [
          "a run",
          async () => `#/run/${await idOf("shared")}`,
          async () => {
            await page.locator(".choices").getByText("minutes").click();
            await page.getByLabel("log y").check();
          },
        ],
        [
          "compared runs",
          async () => `#/compare?ids=${await idOf("shared")},${await idOf("halting")}`,
          async () => page.locator(".choices").getByText("tokens").click(),
        ],
        [
          "a search",
          async () => `#/search/${await idOf("search/seed-1")}`,
          async () => {
            await page.getByRole("slider").focus();
            await page.keyboard.press("Home");
            await page.getByRole("button", { name: "Show as table" }).click();
            await page.locator(".front tbody button").first().click();
          },
        ],
        [
          "depth",
          async () => `#/depth/${await idOf("albert")}`,
          async () => {
            await type("Text", "A dog ran.");
            await page.getByRole("button", { name: "Show depths" }).click();
            await page.getByLabel("Beside it").selectOption(await idOf("halting"));
            await page.getByRole("button", { name: "Table by kind of token" }).first().click();
            await expect.poll(() => page.locator("table.depths").count(), { timeout: 60_000 }).toBe(2);
          },
        ],
        [
          "play",
          async () => `#/play/${await idOf("halting")}`,
          async () => {
            await type("Prompt", "once upon");
            await type("Temperature", "0.5");
            await type("Top-p", "0.9");
          },
        ],
        ["a sweep", async () => "#/sweep", async () => page.locator("table.trials tbody button").nth(2).click()],
        [
          "new",
          async () => "#/new?task=language",
          async () => {
            await type("width", "48");
            await page.keyboard.press("Tab");
          },
        ],
      ];

      it.each(views)("fixes all of %s: whoever opens it sees the same", async (_, hash, act) => {
        await open(await hash());
        await page.locator("main h1").waitFor();
        await page.waitForTimeout(300);
        const before = page.url();
        await act();
        await expect.poll(() => page.url()).not.toBe(before);
        await expect.poll(async () => (await seen()).text).not.toContain("Reading");
        const [address, then] = [page.url(), await seen()];
        await page.goto("about:blank");
        await page.goto(address);
        await expect.poll(seen, { timeout: 30_000 }).toEqual(then);
        expect(page.url()).toBe(address);
      });
    });

    /** Saves what is shown, and opens it in a browser without a network. */
    async function saved(): Promise<Page> {
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
      return other;
    }

    it("saves every view as one HTML file that opens from disk with its data", async () => {
      const [shared, halting, albert] = await Promise.all(["shared", "halting", "albert"].map(idOf));
      const views: readonly (readonly [string, string])[] = [
        ["#/runs?group=kind", "table.runs"],
        [`#/run/${shared}`, ".plot"],
        [`#/compare?ids=${shared},${halting}`, ".plot"],
        [`#/depth/${albert}?beside=${halting}&text=A+dog+ran.`, ".panel:nth-of-type(2) .piece"],
        ["#/sharing", "table"],
        ["#/sweep", "table.trials"],
      ];
      /** What is told in words; ages pass. */
      const told = (of: Page) =>
        of.evaluate<
          string[]
        >(`[...document.querySelectorAll("main h1, main h2, main table, main .facts, main .plot, main .piece")]
          .map((each) => (each.getAttribute("aria-label") ?? each.textContent).replace(/now|\\d+ min ago/g, ""))`);
      for (const [hash, needed] of views) {
        await open(hash);
        await page.locator(needed).first().waitFor({ timeout: 60_000 });
        await page.waitForTimeout(500);
        const shown = await told(page);
        const other = await saved();
        await expect.poll(() => told(other), { message: hash }).toEqual(shown);
        await other.context().close();
      }
    });

    it("saves a moment of a search", async () => {
      await open(`#/search/${await idOf("search/seed-1")}?step=20`);
      await page.locator(".heat-map canvas").waitFor();
      const other = await saved();
      await expect.poll(() => other.getByRole("slider").getAttribute("aria-valuetext")).toBe("step 20");
      expect(await other.locator(".heat-map canvas").getAttribute("aria-label")).toBe(
        await page.locator(".heat-map canvas").getAttribute("aria-label"),
      );
      await other.context().close();
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
          `#/play/${await idOf("labels")}`,
          `#/play/${await idOf("translator")}`,
          "#/sharing",
          "#/sweep?candidate=0.1",
          "#/new?task=search",
          "#/nowhere",
        ];
        for (const view of views) {
          await open(view);
          for (const width of [1280, 390]) {
            await page.setViewportSize({ width, height: 900 });
            await page.waitForTimeout(300);
            await page.evaluate(axe);
            const found = await page.evaluate(async () => {
              const { axe } = globalThis as unknown as {
                axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
              };
              return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
            });
            expect(found, `${view} at ${width}`).toEqual([]);
            expect(await page.evaluate("document.documentElement.scrollWidth"), view).toBeLessThanOrEqual(width);
          }
          await page.setViewportSize({ width: 1280, height: 900 });
        }
      },
      600_000,
    );

    it("broke no rule of the content security policy and threw nothing", () => {
      expect(faults).toEqual([]);
    });
  },
);
