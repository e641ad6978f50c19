/** From nothing to the first training step, tokens cached: the built command line against a script of PyTorch, whole processes in turn. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { RandomStream } from "../src/base/random.ts";
import { type Bench, compare, interleave } from "./measure.ts";
import { pythonPeer, torchPython, withFolder } from "./peer.ts";

const config = { vocabulary: 2000, width: 256, heads: 8, hidden: 1024, depth: 4, batch: 16, length: 128, dropout: 0.1 };
/** Tokens of the embedded books, about. */
const TOKENS = 200_000;
const ROUNDS = 7;
const POLL_MS = 2;
const program = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

/** Starts the command line and waits for the event of its first step; then it is stopped. */
async function ours(folder: string, threads: number): Promise<number> {
  const out = join(folder, "run");
  rmSync(out, { recursive: true, force: true });
  const { vocabulary, width, heads, depth, batch, length, dropout } = config;
  const sizes = { pieces: vocabulary, width, heads, depth, batch, length, dropout, threads, steps: 1000 };
  const flags = Object.entries({ ...sizes, optimiser: "adamw", corpus: "books", out });
  const args = flags.flatMap(([name, value]) => [`--${name}`, String(value)]);
  const start = performance.now();
  const child = spawn(process.execPath, [program, "train", ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, LAYERWISE_CACHE: join(folder, "cache") },
  });
  let said = "";
  child.stderr.on("data", (text) => {
    said = (said + text).slice(-500);
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  while (!hasStep(join(out, "events.jsonl"))) {
    if (child.exitCode !== null) throw new Error(`layerwise train ended early: ${said.trim()}`);
    await sleep(POLL_MS);
  }
  const elapsed = performance.now() - start;
  child.kill("SIGKILL");
  await ended;
  return elapsed;
}

const hasStep = (path: string) => existsSync(path) && readFileSync(path, "utf8").includes('"type":"step"');

/** The script prints a line after its first step. */
async function theirs(python: string, tokens: string, threads: number): Promise<number> {
  const start = performance.now();
  const args = ["--config", JSON.stringify(config), "--tokens", tokens, "--threads", String(threads)];
  const peer = pythonPeer(python, "torch_start.py", args);
  await peer.line();
  const elapsed = performance.now() - start;
  peer.end();
  return elapsed;
}

export const bench: Bench = async ({ say, rounds, threads }) => {
  const python = torchPython(say);
  if (!existsSync(program)) say("dist/cli/main.js is absent: npm run build");
  if (!python || !existsSync(program)) return [];
  return withFolder(async (folder) => {
    const tokens = join(folder, "tokens.bin");
    const random = new RandomStream(1, "tokens");
    writeFileSync(
      tokens,
      Uint16Array.from({ length: TOKENS }, () => random.integer(config.vocabulary)),
    );
    const contenders = { ours: () => ours(folder, threads), torch: () => theirs(python, tokens, threads) };
    say("filling the caches");
    await interleave(contenders, 1);
    const times = await interleave(contenders, Math.min(rounds, ROUNDS));
    const name = "start to first training step, cached data";
    return [compare(name, 0.5, times.get("ours")!, "PyTorch script", times.get("torch")!)];
  });
};
