/** `layerwise doctor`: what this machine offers, and how fast it multiplies matrices. */

import { spawnSync } from "node:child_process";
import os from "node:os";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { median } from "../../base/median.ts";
import { table } from "../../base/table.ts";
import { instructionSets, packageVersion, processor } from "../../tasks/environment.ts";

const HELP = `
Examples:
  layerwise doctor
  layerwise doctor --json

Matrix speed is the median of a few products by ONNX Runtime; other work on the machine lowers it.`;

/** Products whose speed is measured: [rows, inner] · [inner, columns]. */
const PRODUCTS = [
  [2048, 256, 1024],
  [1024, 512, 2048],
] as const;
const BUDGET_MS = 400;
const MIN_RUNS = 5;

export interface MatrixSpeed {
  product: string;
  threads: number;
  gflops: number;
}

export interface Diagnosis {
  versions: { layerwise: string; node: string; onnxruntime: string };
  platform: string;
  processor: string;
  /** Widest vector instructions first; empty where the system does not tell. */
  instructions: string[];
  memoryGb: number;
  threads: { physical: number | null; usable: number; default: number };
  devices: string[];
  matrixSpeed: MatrixSpeed[];
}

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .option("--json", "print only JSON")
    .addHelpText("after", HELP)
    .action(async ({ json }: { json?: boolean }) => {
      const found = await diagnose();
      process.stdout.write(`${json ? JSON.stringify(found, null, 2) : asText(found)}\n`);
    });
}

/** Looks at the machine and times it: about two seconds. */
export async function diagnose(): Promise<Diagnosis> {
  const { defaultThreads, physicalCores, version } = await import("../../engine/ort.ts");
  const threads = { physical: physicalCores() ?? null, usable: os.availableParallelism(), default: defaultThreads() };
  return {
    versions: { layerwise: packageVersion(), node: process.version, onnxruntime: version },
    platform: `${process.platform} ${process.arch}, ${os.release()}`,
    processor: processor(),
    instructions: instructionSets(),
    memoryGb: Math.round((os.totalmem() / 2 ** 30) * 10) / 10,
    threads,
    devices: await devicesPresent(),
    matrixSpeed: await matrixSpeeds([...new Set([1, threads.default])]),
  };
}

/** Asked in a process of its own, whose standard error is dropped: graphics libraries write there when a device is absent. */
async function devicesPresent(): Promise<string[]> {
  const script = new URL(`../devices${extname(import.meta.url)}`, import.meta.url);
  const { status, stdout } = spawnSync(process.execPath, [...process.execArgv, fileURLToPath(script)], {
    stdio: ["ignore", "pipe", "ignore"],
    encoding: "utf8",
  });
  if (status === 0) return JSON.parse(stdout) as string[];
  const { presentDevices } = await import("../../engine/ort.ts");
  return presentDevices();
}

async function matrixSpeeds(threadCounts: readonly number[]): Promise<MatrixSpeed[]> {
  const speeds: MatrixSpeed[] = [];
  for (const threads of threadCounts) {
    for (const [m, k, n] of PRODUCTS) speeds.push(await matrixSpeed(m, k, n, threads));
  }
  return speeds;
}

/** Only one number of the product leaves the program, so that copying it out is not timed. */
async function matrixSpeed(m: number, k: number, n: number, threads: number): Promise<MatrixSpeed> {
  const { input, matmul, slice } = await import("../../graph/index.ts");
  const { ortEngine } = await import("../../engine/ort.ts");
  const product = matmul(input("a", [m, k]), input("b", [k, n]));
  const corner = slice(slice(product, 0, 0, 1), 1, 0, 1);
  const program = await (await ortEngine({ threads })).compile({ outputs: { corner } });
  const feeds = { a: new Float32Array(m * k).fill(0.5), b: new Float32Array(k * n).fill(0.25) };
  await program.run(feeds); // warm-up
  const times: number[] = [];
  for (const start = performance.now(); times.length < MIN_RUNS || performance.now() - start < BUDGET_MS; ) {
    const before = performance.now();
    await program.run(feeds);
    times.push(performance.now() - before);
  }
  await program.release();
  return { product: `[${m},${k}] · [${k},${n}]`, threads, gflops: (2 * m * k * n) / median(times) / 1e6 };
}

function asText(found: Diagnosis): string {
  const { versions, threads } = found;
  const facts = {
    layerwise: versions.layerwise,
    Node: versions.node,
    "ONNX Runtime": versions.onnxruntime,
    platform: found.platform,
    processor: found.processor,
    instructions: found.instructions.join(", ") || "unknown",
    memory: `${found.memoryGb} GB`,
    cores: `${threads.physical ?? "unknown"} physical, ${threads.usable} usable; ${threads.default} threads by default`,
    devices: found.devices.join(", "),
  };
  const width = Math.max(...Object.keys(facts).map((key) => key.length));
  const lines = Object.entries(facts).map(([key, value]) => `${key.padEnd(width)}  ${value}`);
  const speeds = found.matrixSpeed.map(({ gflops, ...rest }) => ({ ...rest, "GFLOP/s": Math.round(gflops) }));
  return `${lines.join("\n")}\n\n${table(speeds)}`;
}
