/** `layerwise doctor`: what this machine offers, and how fast it multiplies matrices. */

import { spawnSync } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { fitted } from "../help.ts";
import { print } from "../output.ts";

const HELP = `
Examples:
  layerwise doctor
  layerwise doctor --json

Matrix speed is the median of a few products by ONNX Runtime; other work on the machine lowers it.`;

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .option("--json", "print only JSON")
    .addHelpText("after", fitted(HELP))
    .action(async ({ json }: { json?: boolean }) => {
      const { diagnose, diagnosisText } = await import("../../tasks/index.ts");
      const found = await diagnose(devicesPresent());
      print(json ? JSON.stringify(found, null, 2) : diagnosisText(found));
    });
}

/** Asked in a process of its own, whose standard error is dropped: graphics libraries write there when a device is absent. */
function devicesPresent(): string[] | undefined {
  const script = new URL(`../devices${extname(import.meta.url)}`, import.meta.url);
  const { status, stdout } = spawnSync(process.execPath, [...process.execArgv, fileURLToPath(script)], {
    stdio: ["ignore", "pipe", "ignore"],
    encoding: "utf8",
  });
  return status === 0 ? (JSON.parse(stdout) as string[]) : undefined;
}
