/** Where and of what something was measured: commit and machine, without names of hosts or paths. */
import { spawnSync } from "node:child_process";
import os from "node:os";
import { runtimeVersion } from "../src/engine/ort.ts";

const version = await runtimeVersion();

const git = (...args: string[]) => spawnSync("git", args, { encoding: "utf8" }).stdout?.trim() ?? "";

/** The commit, with a plus where the code differs from it. */
export function commitNow(): string {
  const changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "bench/*.ts", "bench/peers");
  return `${git("rev-parse", "--short", "HEAD") || "unknown"}${changed ? "+" : ""}`;
}

/** Processor, cores and versions. */
export function machineNow(): string {
  const model = os.cpus()[0]?.model.trim() ?? "unknown processor";
  return `${os.availableParallelism()} cores of ${model}, Node ${process.versions.node}, onnxruntime-node ${version}`;
}
