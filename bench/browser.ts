/** The training step of two transformer blocks in Chromium, on one page, one WebAssembly thread each: against jax-js and TensorFlow.js. */
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright-core";
import { build } from "vite";
import { messageOf } from "../src/base/errors.ts";
import { packages } from "./blocks.ts";
import { type Bench, type BenchOptions, compare, interleave, type Measurement } from "./measure.ts";
import { packageFolder } from "./peer.ts";
import { CHECKED, checkLosses } from "./two-blocks.ts";

const NAME = "two transformer blocks, training step in Chromium";
const targets: Readonly<Record<keyof typeof packages, number>> = { "jax-js": 0.9, "TensorFlow.js": 0.25 };
/** Steps take seconds, so few rounds are enough. */
const ROUNDS = 9;
const root = fileURLToPath(new URL("..", import.meta.url));

function findChromium(say: BenchOptions["say"]): string | undefined {
  const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = names.flatMap((name) => folders.map((each) => join(each, name))).find((path) => existsSync(path));
  if (!found) say("no browser on the path: install chromium");
  return found;
}

/** The page as a bundle: the peers' packages come from their folder, all else from here. */
async function bundled(peers: string, into: string): Promise<void> {
  const alias = Object.values(packages)
    .flat()
    .map((each) => each.replace(/(?<=.)@[^@/]*$/, ""))
    .map((find) => ({ find: new RegExp(`^${find}$`), replacement: join(peers, "node_modules", find) }));
  await build({
    root,
    configFile: false,
    logLevel: "error",
    resolve: { alias },
    build: {
      outDir: into,
      target: "esnext",
      rollupOptions: {
        input: join(root, "bench", "peers", "blocks_page.mjs"),
        preserveEntrySignatures: "strict",
        output: { entryFileNames: "page.js" },
      },
    },
  });
  const wasm = join(peers, "node_modules", "@tensorflow", "tfjs-backend-wasm", "dist");
  symlinkSync(wasm, join(into, "tfjs"), "dir");
}

const kinds: Readonly<Record<string, string>> = { ".js": "text/javascript", ".wasm": "application/wasm" };

/** Serves a folder without the headers of isolation: WebAssembly has one thread then, whoever runs it. */
async function served(folder: string) {
  const server = createServer(({ url = "/" }, response) => {
    const file = join(folder, url);
    response.setHeader("content-type", kinds[extname(file)] ?? "text/html");
    response.end(extname(file) && existsSync(file) ? readFileSync(file) : "<!doctype html><title>bench</title>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() };
}

interface Steps {
  losses: number[];
  times: number[];
}

async function measured(page: Page, { rounds, say }: BenchOptions): Promise<Measurement[]> {
  const call = <T>(code: string) => page.evaluate(`import("/page.js").then((bench) => bench.${code})`) as Promise<T>;
  const steps = (name: string, count: number) => call<Steps>(`steps(${JSON.stringify(name)}, ${count})`);
  const names = Object.keys(targets) as (keyof typeof targets)[];
  await call("open('ours')");
  const ours = await steps("ours", CHECKED);
  const about = new Map<string, string>();
  for (const name of names) {
    const { backend } = await call<{ backend: string }>(`open(${JSON.stringify(name)})`);
    checkLosses(ours.losses, (await steps(name, CHECKED)).losses);
    say(`${name} computes on ${backend}; losses agree: ${ours.losses.map((loss) => loss.toFixed(4))}`);
    about.set(name, backend);
  }
  const contenders = ["ours", ...names].map((name) => [name, async () => (await steps(name, 1)).times] as const);
  const times = await interleave(Object.fromEntries(contenders), Math.min(rounds, ROUNDS));
  return names.map((name) => {
    const title = `${name}, ${about.get(name)}, 1 thread each, same page`;
    return compare(NAME, targets[name], times.get("ours")!, title, times.get(name)!);
  });
}

export const bench: Bench = async (options) => {
  const { say } = options;
  const peers = packageFolder("jax-js and TensorFlow.js", Object.values(packages).flat(), say);
  const executablePath = findChromium(say);
  if (!peers || !executablePath) return [];
  const folder = mkdtempSync(join(tmpdir(), "layerwise-bench-"));
  await bundled(peers, folder);
  const server = await served(folder);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--headless", "--disable-gpu"] });
  try {
    const page = await browser.newPage();
    page.on("pageerror", (error) => say(String(error)));
    await page.goto(server.url);
    return await measured(page, options);
  } catch (error) {
    say(`the page is left out: ${messageOf(error)}`);
    return [];
  } finally {
    await browser.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
};
