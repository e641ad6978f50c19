/**
 * The studio under load: 500 runs of 10,000 steps, the first answer, and a live run's page for half a minute.
 *
 *   npm run build && npx tsx bench/studio.ts [FOLDER]      (about 1 GB, in the system's folder for temporary files unless given)
 */
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeEvent, type StoredEvent } from "../src/runs/event-log.ts";
import type { RunList } from "../src/studio/api.ts";

const [RUNS, STEPS, LIVE_MS, STEPS_A_SECOND] = [500, 10_000, 30_000, 40];
const given = process.argv[2];
const folder = given ?? mkdtempSync(join(tmpdir(), "layerwise-studio-load-"));
const main = ["dist/cli/main.js"];

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
  spawnSync(process.execPath, [...main, ...flags], { stdio: "ignore" });
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

interface Use {
  readonly cpuMs: number;
  readonly megabytes: number;
}

function useOf(pid: number): Use {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return {
    cpuMs: 10 * (Number(fields[11]) + Number(fields[12])),
    megabytes: Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024,
  };
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

makeRuns();
const server = spawn(process.execPath, [...main, "studio", folder, "--port", "0", "--no-token"]);
const url = await new Promise<string>((resolve) => {
  server.stdout.once("data", (text: Buffer) => resolve(`${text}`.trim()));
});
const begin = performance.now();
const { runs } = (await (await fetch(`${url}api/runs`)).json()) as RunList;
const firstMs = performance.now() - begin;
const again = performance.now();
await (await fetch(`${url}api/runs`)).text();
const secondMs = performance.now() - again;
const { id } = runs.find(({ path }) => path === "run-0")!;
const series = performance.now();
await (await fetch(`${url}api/runs/${id}/series?points=800`)).text();
const seriesMs = performance.now() - series;
await new Promise((resolve) => setTimeout(resolve, 3000)); // reports are worked out behind the first view
const figures = { runs: runs.length, firstMs, secondMs, seriesMs, ...(await live(url, id, server.pid!)) };
process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
server.kill();
if (given === undefined) rmSync(folder, { recursive: true });
