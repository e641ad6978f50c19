/** Makes docs/studio/*.png: trains small runs, serves the studio over them and takes pictures of every view, light and dark. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import type { RunList } from "../src/studio/api.ts";
import { serveStudio } from "../src/studio/index.ts";
import { findChromium } from "./chromium.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const pictures = join(root, "docs", "studio");
const MOST_BYTES = 2e6;

const text = "--pieces 1000 --heads 4 --length 64 --batch 8 --dropout 0 --threads 2";
const language = `train ${text} --width 64 --steps 300 --warmup 30 --evaluate-every 20`;
const halting = `train ${text} --width 64 --depth 6 --unique 1 --steps 400 --warmup 40 --schedule linear --floor 0 --weight-decay 0.01 --evaluate-every 25 --halt --halt-bias -2 --accumulate-states weightedSum --ponder-from 120 --ponder-warmup 40`;
const supernet =
  "--pieces 600 --width 64 --heads 2 --feed-forward 256 --length 32 --memory 32 --batch 16 --dropout 0 --cutoffs none --threads 2";
const deciding =
  "--rate 0.004 --architecture-rate 0.1 --freeze 0.15 --temperature-start 5 --temperature-end 0.1 --settle 0.25,0.6 --cut-every 20";
/** Runs by name; some minutes in all. */
const RUNS: Readonly<Record<string, string>> = {
  unshared: `${language} --depth 6`,
  "shared-cycle": `${language} --depth 6 --unique 2 --share cycle`,
  "shared-reverse": `${language} --depth 6 --unique 3 --share cycle_rev`,
  halting: `${halting} --ponder 0.01`,
  "halting-thrifty": `${halting} --ponder 0.03`,
  search: `search ${supernet} ${deciding} --blocks 8 --steps 400 --warmup 20 --evaluate-every 16 --budget 0.75 --seeds 2`,
  sharing: "compare --preset tiny --steps 150 --evaluate-every 50 --threads 1 --seeds 2",
};

const SWEEP = `task: language
preset: tiny
settings: { steps: 150, evaluateEvery: 50, threads: 1 }
vary:
  rate: [0.001, 0.003, 0.01]
  depth: [2, 4]
  unique: [1, 2]
seeds: 2
`;

const SENTENCE = "it was a dark night, and the old man sat by the fire and said nothing.";

/** What is looked at, and what is done before the picture is taken. */
const VIEWS: readonly {
  name: string;
  hash: (id: (path: string) => string) => string;
  act?: (page: Page) => Promise<void>;
}[] = [
  // Trials of the sweep and the comparison would fill the table.
  { name: "runs", hash: (id) => `#/runs?filter=steps%3E200&select=${id("unshared")},${id("shared-cycle")}` },
  { name: "run", hash: (id) => `#/run/${id("shared-cycle")}` },
  {
    name: "compare",
    hash: (id) => `#/compare?ids=${id("unshared")},${id("shared-cycle")},${id("shared-reverse")}&logy=1`,
  },
  { name: "search", hash: (id) => `#/search/${id("search")}?step=112` },
  {
    name: "depth",
    hash: (id) => `#/depth/${id("halting")}?beside=${id("halting-thrifty")}&text=${encodeURIComponent(SENTENCE)}`,
    act: async (page) => {
      await page.locator(".pieces").nth(1).waitFor({ timeout: 120_000 });
      await page.locator(".piece").nth(3).hover();
      await page.locator(".piece").nth(3).focus();
    },
  },
  {
    name: "play",
    hash: (id) => `#/play/${id("halting")}?prompt=it+was+a&tokens=48&temperature=0.7&seed=2`,
    act: async (page) => {
      await page.getByRole("button", { name: "Continue the text" }).click();
      await page.getByText("tokens per second").waitFor({ timeout: 120_000 });
    },
  },
  { name: "sharing", hash: () => "#/sharing" },
  { name: "sweep", hash: () => "#/sweep" },
  {
    name: "new",
    hash: () => "#/new?task=language&preset=tiny&s.unique=2&s.depth=6",
    act: async (page) => {
      await page.getByRole("button", { name: "Estimate" }).click();
      await page.getByText("estimated time").waitFor({ timeout: 120_000 });
    },
  },
];

function train(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const sweep = join(folder, "..", "rates.yaml");
  writeFileSync(sweep, SWEEP);
  for (const [name, line] of Object.entries({ ...RUNS, rates: `sweep ${sweep} --on local:2` })) {
    const out = join(folder, name);
    if (existsSync(out)) continue;
    const args = ["--import", "tsx", join(root, "src/cli/main.ts"), ...line.split(" "), "--out", out];
    const { status } = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    if (status !== 0) throw new Error(`layerwise ${line} ended with ${status}`);
  }
}

async function shoot(browser: Browser, url: string, colorScheme: "light" | "dark"): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme });
  await page.goto(url);
  const list = await page.evaluate(async () => (await (await fetch("/api/runs")).json()) as RunList);
  const id = (path: string) => list.runs.find((run) => run.path === path)!.id;
  for (const { name, hash, act } of VIEWS) {
    await page.goto("about:blank");
    await page.goto(`${new URL(url).origin}/${hash(id)}`);
    await page.waitForTimeout(1500);
    await act?.(page);
    await page.evaluate("scrollTo(0, 0)");
    await page.screenshot({ path: join(pictures, `${name}-${colorScheme}.png`) });
  }
  await page.close();
}

const given = process.argv[2];
const folder = given ?? join(mkdtempSync(join(tmpdir(), "layerwise-pictures-")), "runs");
mkdirSync(pictures, { recursive: true });
train(folder);
process.chdir(dirname(folder)); // pictures show the name of the folder, not where it lies
const studio = await serveStudio({ folder: basename(folder), port: 0 });
const executablePath = findChromium();
if (executablePath === undefined) throw new Error("pictures need chromium-headless-shell or chromium on the path");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
for (const scheme of ["light", "dark"] as const) await shoot(browser, studio.url, scheme);
await browser.close();
await studio.close();
if (given === undefined) rmSync(join(folder, ".."), { recursive: true });
const bytes = readdirSync(pictures).reduce((sum, name) => sum + statSync(join(pictures, name)).size, 0);
process.stdout.write(`${VIEWS.length * 2} pictures in docs/studio, ${Math.round(bytes / 1000)} kB\n`);
if (bytes > MOST_BYTES) process.exitCode = 1;
