/** Makes docs/playground/*.png: serves the built playground, trains its exhibits in Chromium and takes pictures, light, dark and on a phone. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { serveStudio } from "../src/studio/index.ts";

const [executablePath] = process.argv.slice(2);
if (!executablePath) throw new Error("name the browser: tsx scripts/playground-pictures.ts /usr/bin/chromium");

const pictures = fileURLToPath(new URL("../docs/playground/", import.meta.url));
const desk = { width: 1180, height: 900 };
const VIEWS = [
  { name: "share", hash: "share?plan=0,1,2,2,1,0&steps=100", colorScheme: "light", viewport: desk, full: false },
  { name: "adapt", hash: "adapt?steps=200", colorScheme: "dark", viewport: desk, full: false },
  {
    name: "search-phone",
    hash: "search?steps=100&blocks=5",
    colorScheme: "light",
    viewport: { width: 390, height: 900 },
    full: false,
  },
] as const;

const wanted = process.argv.slice(3);
const folder = mkdtempSync(join(tmpdir(), "layerwise-pictures-"));
const studio = await serveStudio({ folder, port: 0, token: false });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--headless"] });
try {
  mkdirSync(pictures, { recursive: true });
  for (const { name, hash, colorScheme, viewport, full } of VIEWS) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const context = await browser.newContext({ colorScheme, viewport, reducedMotion: "reduce" });
    const page = await context.newPage();
    page.setDefaultTimeout(600_000);
    await page.goto(`${studio.url}playground/#/${hash}`);
    await page.getByRole("button", { name: "Train", exact: true }).click();
    await page.getByRole("button", { name: "Show the result" }).waitFor();
    await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: full });
    await context.close();
  }
} finally {
  await browser.close();
  await studio.close();
  rmSync(folder, { recursive: true, force: true });
}
