/** What a run ran on: versions, commit, processor, threads, instruction set. Numbers may change in the last bit where these differ. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import os from "node:os";
import { fileURLToPath } from "node:url";
import type { Engine } from "../engine/engine.ts";

const root = new URL("../../", import.meta.url);

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { version: string };
  return version;
}

/** The commit of layerwise itself, when it runs from its repository. */
function commit(): string | null {
  const { status, stdout } = spawnSync("git", ["rev-parse", "HEAD"], { cwd: fileURLToPath(root), encoding: "utf8" });
  return status === 0 ? stdout.trim() : null;
}

/** The widest vector instructions of the processor, where the system tells. */
export function instructionSet(): string {
  try {
    const flags = new Set(/^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1]?.trim().split(/\s+/));
    return ["avx512f", "avx2", "avx"].find((each) => flags.has(each)) ?? process.arch;
  } catch {
    return process.arch;
  }
}

export interface Environment extends Record<string, string | number | null> {
  layerwise: string;
  commit: string | null;
  node: string;
  onnxruntime: string;
  platform: string;
  processor: string;
  instructionSet: string;
  threads: number;
  device: string;
}

export async function environment(engine: Engine): Promise<Environment> {
  const { version } = await import("../engine/ort.ts");
  return {
    layerwise: packageVersion(),
    commit: commit(),
    node: process.version,
    onnxruntime: version,
    platform: `${process.platform} ${process.arch}`,
    processor: os.cpus()[0]?.model.trim() ?? "unknown",
    instructionSet: instructionSet(),
    threads: engine.threads,
    device: engine.device,
  };
}

/** On which of these a resumed run may differ in the last bit. */
const decisive = ["node", "onnxruntime", "processor", "instructionSet", "threads", "device"] as const;

/** What is no longer as it was, in words. */
export function changes(before: Readonly<Record<string, unknown>>, now: Environment): string[] {
  return decisive
    .filter((key) => key in before && before[key] !== now[key])
    .map((key) => `${key} was ${before[key]}, is ${now[key]}`);
}
