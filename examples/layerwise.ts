/** The command line, for examples that walk it. */
import { execFileSync } from "node:child_process";

/** Runs `layerwise` and gives what it prints. */
export function layerwise(...args: string[]): string {
  return execFileSync(process.execPath, ["--import", "tsx", "src/cli/main.ts", ...args], {
    encoding: "utf8",
    stdio: "pipe",
  });
}
