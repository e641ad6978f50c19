/**
 * The studio under load: 500 runs of 10,000 steps, the first answer, and a live run's page for half a minute. With `--minutes`, a
 * real training beside its page in Chromium for so long, and what server and page take of memory and processor.
 *
 *   npm run build && npx tsx bench/studio.ts [FOLDER]      (about 1 GB, in the system's folder for temporary files unless given)
 *   npm run build && npx tsx bench/studio.ts [FOLDER] --minutes 60 [--dist FOLDER]     (another build than ./dist)
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { encodeEvent, type StoredEvent } from "../src/runs/event-log.ts";
import type { RunList } from "../src/studio/api.ts";
import { startStudio, useOf, watch } from "./studio-live.ts";

const [RUNS, STEPS, LIVE_MS, STEPS_A_SECOND] = [500, 10_000, 30_000, 40];
const { values, positionals } = parseArgs({
  options: { minutes: { type: "string" }, dist: { type: "string", default: "dist" } },
  allowPositionals: true,
});
const given = positionals[0];
const folder = given ?? mkdtempSync(join(tmpdir(), "layerwise-studio-load-"));
const main = join(values.dist, "cli", "main.js");

const step = (n: number): StoredEvent => ({
  type: "step",
  step: n,
  loss: 2 + 4 * Math.exp(-n / 2000) + 0.1 * Math.sin(n * 12.9898),
  learningRate: 0.006 * (1 - n / STEPS),
  gradientNorm: 1 + 0.2 * Math.cos(n),
  tokensPerSecond: 9000 + (n % 500),
  epoch: n / 969,
  timeMs: 1_794_000_000_000 + 30 * n,
});

function makeRuns(): void {
  const first = join(folder, "run-0");
  if (existsSync(first)) return;
  const flags = ["train", "--preset", "tiny", "--steps", "5", "--evaluate-every", "5", "--out", first];
  spawnSync(process.execPath, [main, ...flags], { stdio: "ignore" });
  const file = join(first, "events.jsonl");
  const own = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.includes('"evaluation"'));
  const lines = Array.from({ length: STEPS }, (_, i) => encodeEvent(step(i + 1)));
  lines.splice(5, 0, ...own.map((line) => `${line}\n`));
  const end = encodeEvent({ type: "end", step: STEPS, reason: "finished", elapsedMs: 3e5, timeMs: Date.now() });
  writeFileSync(file, `${lines.join("")}${end}`);
  for (let i = 1; i < RUNS; i++) cpSync(first, join(folder, `run-${i}`), { recursive: true });
}

async function live(url: string, id: string, pid: number): Promise<Record<string, number>> {
  const stop = new AbortController();
  const answer = await fetch(`${url}api/events?runs=1&run=${id}&log=1`, { signal: stop.signal });
  let messages = 0;
  const reading = (async () => {
    for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
      messages += part.split("event: update").length - 1;
    }
  })().catch(() => {});
  const [before, start] = [useOf(pid), performance.now()];
  for (let n = STEPS + 1; performance.now() - start < LIVE_MS; n++) {
    appendFileSync(join(folder, "run-0", "events.jsonl"), encodeEvent(step(n)));
    await new Promise((resolve) => setTimeout(resolve, 1000 / STEPS_A_SECOND));
  }
  const [after, seconds] = [useOf(pid), (performance.now() - start) / 1000];
  stop.abort();
  await reading;
  return {
    coreShare: (after.cpuMs - before.cpuMs) / (10 * seconds),
    messagesPerSecond: messages / seconds,
    megabytesBefore: before.megabytes,
    megabytesAfter: after.megabytes,
  };
}

const timed = async (address: string) => {
  const begin = performance.now();
  const text = await (await fetch(address)).text();
  return { ms: performance.now() - begin, text };
};

/** The first list that a new server gives, and all that it says later. */
async function firstView() {
  const { server, url } = await startStudio(main, folder);
  const { ms, text } = await timed(`${url}api/runs`);
  const first = JSON.parse(text) as RunList;
  let runs = first.runs;
  for (const begin = performance.now(); runs.length < RUNS && performance.now() - begin < 60_000; )
    ({ runs } = JSON.parse((await timed(`${url}api/runs`)).text) as RunList);
  await new Promise((resolve) => setTimeout(resolve, 5000)); // reports are worked out and kept behind the first view
  return { server, url, ms, seen: first.runs.length, runs };
}

async function load(): Promise<object> {
  makeRuns();
  process.env.XDG_CACHE_HOME = mkdtempSync(join(tmpdir(), "layerwise-studio-cache-"));
  const cold = await firstView();
  cold.server.kill();
  const { server, url, runs, ...warm } = await firstView();
  try {
    const again = await timed(`${url}api/runs`);
    const { id } = runs.find(({ path }) => path === "run-0")!;
    const series = await timed(`${url}api/runs/${id}/series?points=800`);
    return {
      runs: runs.length,
      coldMs: cold.ms,
      coldRows: cold.seen,
      warmMs: warm.ms,
      warmRows: warm.seen,
      againMs: again.ms,
      seriesMs: series.ms,
      ...(await live(url, id, server.pid!)),
    };
  } finally {
    server.kill();
    rmSync(process.env.XDG_CACHE_HOME, { recursive: true });
  }
}

const figures = values.minutes ? await watch(main, folder, Number(values.minutes)) : await load();
process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
if (given === undefined) rmSync(folder, { recursive: true });
