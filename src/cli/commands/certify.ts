/** `layerwise certify`: golden values from folders, verdicts as a table or JSON. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { reject } from "../../base/index.ts";
import type { CaseFiles, Verdict } from "../../certify/index.ts";
import type { Command } from "../command.ts";
import { print } from "../output.ts";

const examples = `
Examples:
  layerwise certify                    the fixtures that ship with layerwise
  layerwise certify golden             every case under a folder of golden values
  layerwise certify golden/optimisers --json

Exit code: 0 when no case failed, 1 when one did, 2 when a folder cannot be read.`;

export function addCertify(program: Command): void {
  program
    .command("certify")
    .argument(
      "[folder...]",
      "folders of golden values, searched recursively (default: the fixtures shipped with layerwise)",
    )
    .option("--json", "print only JSON")
    .option("--threads <n>", "threads for ONNX Runtime", Number)
    .explain(examples)
    .action(run);
}

async function run(folders: string[], { json, threads }: { json?: boolean; threads?: number }): Promise<void> {
  const { certifyFiles, totalsOf, verdictTable } = await import("../../certify/index.ts");
  const { defaultEngine } = await import("../../tasks/index.ts");
  const cases = await findCases(folders.length > 0 ? folders : [shippedFixtures()]);
  const engine = await defaultEngine({ threads });
  const verdicts: Verdict[] = [];
  for (const files of cases) {
    const tensorFile = path.join(files.folder, `${files.name}.safetensors`);
    const tensors = existsSync(tensorFile) ? await readFile(tensorFile) : undefined;
    verdicts.push(await certifyFiles({ ...files, tensors }, engine));
  }
  const totals = totalsOf(verdicts);
  const data = { ...totals, cases: verdicts.map(({ reason: _, ...verdict }) => verdict) };
  print(json ? JSON.stringify(data) : verdictTable(verdicts));
  if (totals.failed > 0) process.exitCode = 1;
}

const shippedFixtures = () => fileURLToPath(new URL("../../../fixtures", import.meta.url));

type Found = Omit<CaseFiles, "tensors">;

async function findCases(folders: readonly string[]): Promise<Found[]> {
  const { isCase } = await import("../../certify/index.ts");
  const { jsonFilesBelow } = await import("../../files/index.ts");
  const files = (await Promise.all(folders.map((folder) => jsonFilesBelow(folder, 2)))).flat();
  const found = files.flatMap(({ path: file, value: about }) =>
    isCase(about) ? [{ folder: path.dirname(file), name: path.basename(file, ".json"), about }] : [],
  );
  if (found.length > 0) return found;
  return reject({ who: "certify", needed: `golden cases (<case>.json) under ${folders.join(", ")}`, got: "none" }, 2);
}
