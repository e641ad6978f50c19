/** The studio beside a live run for a long time: a real training, its page in Chromium, and what server and page take of memory and processor. */
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type CDPSession, chromium } from "playwright-core";
import { findChromium } from "../scripts/chromium.ts";
import type { RunList } from "../src/studio/api.ts";

const SAMPLE_MS = 20_000;
/** Steps and pages settle before slopes are taken. */
const SETTLED = 0.25;

/** One look at all processes. */
interface Sample {
  readonly minute: number;
  readonly step: number;
  readonly messages: number;
  readonly serverMegabytes: number;
  readonly serverCpuMs: number;
  readonly pageHeapMegabytes: number;
  readonly pageMegabytes: number;
  readonly pageCpuMs: number;
  readonly pageNodes: number;
}

/** Memory in use and processor time so far of a process, from /proc. */
export function useOf(pid: number): { readonly cpuMs: number; readonly megabytes: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return {
    cpuMs: 10 * (Number(fields[11]) + Number(fields[12])),
    megabytes: Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024,
  };
}

/** Starts the studio over a folder; answers with its address. */
export async function startStudio(main: string, folder: string): Promise<{ server: ChildProcess; url: string }> {
  const server = spawn(process.execPath, [main, "studio", folder, "--port", "0", "--no-token"]);
  const url = await new Promise<string>((resolve) => {
    server.stdout.once("data", (text: Buffer) => resolve(`${text}`.trim()));
  });
  return { server, url };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function idOf(url: string, path: string): Promise<string> {
  for (;;) {
    const { runs } = (await (await fetch(`${url}api/runs`)).json()) as RunList;
    const found = runs.find((row) => row.path === path && row.step > 0);
    if (found) return found.id;
    await pause(500);
  }
}

/** Watches a live run's page for so many minutes; samples go to `samples.jsonl` of the folder. */
export async function watch(main: string, folder: string, minutes: number): Promise<object> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("the live page needs chromium-headless-shell or chromium on the path");
  mkdirSync(folder, { recursive: true });
  rmSync(join(folder, "runs"), { recursive: true, force: true });
  const file = join(folder, "samples.jsonl");
  if (existsSync(file)) rmSync(file);
  const flags = "--preset tiny --steps 100000000 --threads 1 --evaluate-every 2000 --checkpoint-every 2000".split(" ");
  const training = spawn(process.execPath, [main, "train", ...flags, "--out", join(folder, "runs", "live")], {
    stdio: "ignore",
  });
  const { server, url } = await startStudio(main, join(folder, "runs"));
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(`${url}#/run/${await idOf(url, "live")}`);
    await page.locator(".plot").first().waitFor({ timeout: 60_000 });
    const cdp = await page.context().newCDPSession(page);
    const pids = await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo");
    const renderer = pids.processInfo.find(({ type }) => type === "renderer")!.id;
    const samples = await sampled(cdp, {
      server: server.pid!,
      renderer,
      minutes,
      file,
      run: join(folder, "runs/live"),
    });
    return { minutes, ...figuresOf(samples) };
  } finally {
    await browser.close();
    for (const each of [server, training]) each.kill();
  }
}

interface Watched {
  readonly server: number;
  readonly renderer: number;
  readonly minutes: number;
  readonly file: string;
  readonly run: string;
}

async function sampled(cdp: CDPSession, { server, renderer, minutes, file, run }: Watched): Promise<Sample[]> {
  let messages = 0;
  cdp.on("Network.eventSourceMessageReceived", () => messages++);
  await cdp.send("Network.enable", { maxTotalBufferSize: 1, maxResourceBufferSize: 1 });
  await cdp.send("Performance.enable");
  const [samples, start]: [Sample[], number] = [[], performance.now()];
  while (performance.now() - start < minutes * 60_000) {
    await pause(SAMPLE_MS);
    await cdp.send("HeapProfiler.collectGarbage");
    const { metrics } = await cdp.send("Performance.getMetrics");
    const metric = (name: string) => metrics.find((each) => each.name === name)?.value ?? 0;
    const [theServer, page] = [useOf(server), useOf(renderer)];
    const sample = {
      minute: (performance.now() - start) / 60_000,
      step: lastStep(join(run, "events.jsonl")),
      messages,
      serverMegabytes: theServer.megabytes,
      serverCpuMs: theServer.cpuMs,
      pageHeapMegabytes: metric("JSHeapUsedSize") / 2 ** 20,
      pageMegabytes: page.megabytes,
      pageCpuMs: page.cpuMs,
      pageNodes: metric("Nodes"),
    };
    samples.push(sample);
    appendFileSync(file, `${JSON.stringify(sample)}\n`);
  }
  return samples;
}

function lastStep(file: string): number {
  const steps = readFileSync(file, "latin1")
    .slice(-2000)
    .matchAll(/"step":(\d+)/g);
  return Number([...steps].at(-1)?.[1] ?? 0);
}

function figuresOf(samples: readonly Sample[]) {
  const settled = samples.slice(Math.floor(samples.length * SETTLED));
  const [first, last] = [samples[0]!, samples.at(-1)!];
  const hours = (last.minute - first.minute) / 60;
  const share = (name: "serverCpuMs" | "pageCpuMs") => (last[name] - first[name]) / (36_000 * hours);
  const memory = (name: "serverMegabytes" | "pageHeapMegabytes" | "pageMegabytes" | "pageNodes") => ({
    settled: settled[0]![name],
    peak: Math.max(...samples.map((each) => each[name])),
    last: last[name],
    slopePerHour: slope(settled.map((each) => [each.minute / 60, each[name]])),
  });
  return {
    samples: samples.length,
    steps: last.step,
    messagesPerSecond: (last.messages - first.messages) / (3600 * hours),
    serverPercentOfCore: share("serverCpuMs"),
    pagePercentOfCore: share("pageCpuMs"),
    serverMegabytes: memory("serverMegabytes"),
    pageHeapMegabytes: memory("pageHeapMegabytes"),
    pageMegabytes: memory("pageMegabytes"),
    pageNodes: memory("pageNodes"),
  };
}

/** Least squares. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (i: 0 | 1) => points.reduce((sum, point) => sum + point[i], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const products = points.map(([a, b]) => [(a - x) * (b - y), (a - x) ** 2] as const);
  return products.reduce((sum, [xy]) => sum + xy, 0) / products.reduce((sum, [, xx]) => sum + xx, 0);
}
