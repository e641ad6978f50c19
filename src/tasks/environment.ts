/** What a run ran on: versions, commit, processor, threads, instruction set. Numbers may change in the last bit where these differ. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import os from "node:os";
import { fileURLToPath } from "node:url";
import type { Engine } from "../engine/engine.ts";

const root = new URL("../../", import.meta.url);

/** The version of layerwise. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { version: string };
  return version;
}

/** The commit of layerwise itself, when it runs from its repository. */
function commit(): string | null {
  const { status, stdout } = spawnSync("git", ["rev-parse", "HEAD"], { cwd: fileURLToPath(root), encoding: "utf8" });
  return status === 0 ? stdout.trim() : null;
}

/** The processor's name. */
export const processor = (): string => os.cpus()[0]?.model.trim() ?? "unknown";

/** The vector instructions that decide matrix speed, widest first, out of the flags in /proc/cpuinfo; none where there is no such file. */
export function instructionSets(cpuinfo: string = readIfThere("/proc/cpuinfo")): string[] {
  const line = cpuinfo.match(/^(?:flags|Features)\s*:(.*)$/m)?.[1] ?? "";
  const flags = new Set(line.trim().split(/\s+/));
  const names = { avx512f: "AVX-512", avx512_vnni: "AVX-512 VNNI", amx_tile: "AMX", avx2: "AVX2", fma: "FMA" };
  const arm = { sve: "SVE", asimd: "NEON" };
  return Object.entries({ ...names, ...arm }).flatMap(([flag, name]) => (flags.has(flag) ? [name] : []));
}

const readIfThere = (path: string) => (existsSync(path) ? readFileSync(path, "utf8") : "");

/** What a run was made with: versions, processor, threads. */
export interface Environment extends Record<string, string | number | null> {
  layerwise: string;
  commit: string | null;
  node: string;
  onnxruntime: string;
  platform: string;
  processor: string;
  instructionSet: string;
  threads: number;
  /** Processes that trained together. */
  processes: number;
  localSteps: number;
  device: string;
}

/** The environment of an engine here and now. */
export async function environment(engine: Engine): Promise<Environment> {
  const { runtimeVersion } = await import("../engine/ort.ts");
  return {
    layerwise: packageVersion(),
    commit: commit(),
    node: process.version,
    onnxruntime: await runtimeVersion(),
    platform: `${process.platform} ${process.arch}`,
    processor: processor(),
    instructionSet: instructionSets().join(", ") || process.arch,
    threads: engine.threads,
    processes: engine.world?.size ?? 1,
    localSteps: engine.world?.localSteps ?? 1,
    device: engine.device,
  };
}

/** On which of these a resumed run may differ in the last bit. */
const decisive = [
  "layerwise",
  "node",
  "onnxruntime",
  "processor",
  "instructionSet",
  "threads",
  "processes",
  "device",
] as const;

/** What is no longer as it was, in words. */
export function changes(before: Readonly<Record<string, unknown>>, now: Environment): string[] {
  return decisive
    .filter((key) => key in before && before[key] !== now[key])
    .map((key) => `${key} was ${before[key]}, is ${now[key]}`);
}
