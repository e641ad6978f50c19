/** What this machine offers: versions, processor, threads, devices, and how fast it multiplies matrices. */
import { spawnSync } from "node:child_process";
import os from "node:os";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { MatrixSpeed } from "../analysis/matrix-speed.ts";
import { factTable, table } from "../base/table.ts";
import { instructionSets, packageVersion, processor } from "./environment.ts";
import type { DeviceTrial } from "./trial.ts";

/** A machine, as plain data. */
export interface Diagnosis {
  versions: { layerwise: string; node: string; onnxruntime: string };
  platform: string;
  processor: string;
  /** Widest vector instructions first; empty where the system does not tell. */
  instructions: string[];
  memoryGb: number;
  threads: { physical: number | null; usable: number; default: number };
  /** Those on which a small model trained, with the losses of the processor. */
  devices: readonly string[];
  /** How fast it trained on each. */
  training: readonly DeviceTrial[];
  matrixSpeed: MatrixSpeed[];
}

/** Looks at the machine and times it: a few seconds. `trials` are those of its devices, where they are known already. */
export async function diagnose(trials?: readonly DeviceTrial[]): Promise<Diagnosis> {
  const { defaultThreads, ortEngine, physicalCores, runtimeVersion } = await import("../engine/ort.ts");
  const { matrixSpeeds } = await import("../analysis/matrix-speed.ts");
  const threads = { physical: physicalCores() ?? null, usable: os.availableParallelism(), default: defaultThreads() };
  const matrixSpeed: MatrixSpeed[] = [];
  for (const count of new Set([1, threads.default])) {
    matrixSpeed.push(...(await matrixSpeeds(await ortEngine({ threads: count }))));
  }
  // A driver may end the process that tries it: then the processor alone is tried here.
  const training = trials ?? quietTrials() ?? (await (await import("./trial.ts")).trialDevices(["cpu"]));
  return {
    versions: { layerwise: packageVersion(), node: process.version, onnxruntime: await runtimeVersion() },
    platform: `${process.platform} ${process.arch}, ${os.release()}`,
    processor: processor(),
    instructions: instructionSets(),
    memoryGb: Math.round((os.totalmem() / 2 ** 30) * 10) / 10,
    threads,
    devices: training.map(({ device }) => device),
    training,
    matrixSpeed,
  };
}

/** Asked in a process of its own, whose standard error is dropped: graphics libraries write there when a device is absent. */
function quietTrials(): DeviceTrial[] | undefined {
  const script = new URL(`./devices${extname(import.meta.url)}`, import.meta.url);
  const { status, stdout } = spawnSync(process.execPath, [...process.execArgv, fileURLToPath(script)], {
    stdio: ["ignore", "pipe", "ignore"],
    encoding: "utf8",
  });
  return status === 0 ? (JSON.parse(stdout) as DeviceTrial[]) : undefined;
}

/** A machine in words, and its speeds as a table. */
export function diagnosisText(found: Diagnosis): string {
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
  const lines = factTable(Object.entries(facts).map(([what, value]) => ({ what, value })));
  const speeds = found.matrixSpeed.map(({ gflops, ...rest }) => ({ ...rest, "GFLOP/s": Math.round(gflops) }));
  const trials = found.training.map(({ device, msPerUpdate, tokensPerSecond }) => ({
    "a small model on": device,
    "ms per update": msPerUpdate.toFixed(1),
    "tokens per second": Math.round(tokensPerSecond),
  }));
  return `${lines}\n\n${table(trials)}\n\n${table(speeds)}`;
}
