/** `layerwise doctor`: what this machine offers, and how fast it multiplies matrices. */
import type { Command } from "../command.ts";
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
    .explain(HELP)
    .action(async ({ json }: { json?: boolean }) => {
      const { diagnose, diagnosisText } = await import("../../tasks/index.ts");
      const found = await diagnose();
      print(json ? JSON.stringify(found, null, 2) : diagnosisText(found));
    });
}
