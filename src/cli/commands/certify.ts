/** `layerwise certify`: golden values from folders, verdicts as a table or JSON. */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { LayerwiseError, messageOf, table } from "../../base/index.ts";
import type { GoldenCase, Verdict } from "../../certify/index.ts";
import { fitted } from "../help.ts";

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
    .addHelpText("after", fitted(examples))
    .action(run);
}

async function run(folders: string[], options: { json?: boolean; threads?: number }): Promise<void> {
  const { certifyCase } = await import("../../certify/index.ts");
  const { defaultEngine } = await import("../../tasks/index.ts");
  const cases = await findCases(folders.length > 0 ? folders : [shippedFixtures()]);
  const engine = await defaultEngine({ threads: options.threads });
  const verdicts: Verdict[] = [];
  for (const load of cases) verdicts.push(await certifyLoaded(load, (golden) => certifyCase(golden, engine)));
  const count = (status: Verdict["status"]) => verdicts.filter((each) => each.status === status).length;
  const totals = { passed: count("passed"), failed: count("failed"), notCovered: count("notCovered") };
  process.stdout.write(`${options.json ? asJson(totals, verdicts) : asTable(totals, verdicts)}\n`);
  if (totals.failed > 0) process.exitCode = 1;
}

function shippedFixtures(): string {
  return fileURLToPath(new URL("../../../fixtures", import.meta.url));
}

interface Found {
  readonly folder: string;
  readonly name: string;
  readonly about: Record<string, unknown>;
}

async function findCases(folders: readonly string[]): Promise<Found[]> {
  const found = (await Promise.all(folders.map(casesUnder))).flat();
  if (found.length > 0) return found;
  throw new LayerwiseError(`certify: expected golden cases (<case>.json) under ${folders.join(", ")}, got none`, 2);
}

async function casesUnder(folder: string): Promise<Found[]> {
  const { isCase } = await import("../../certify/index.ts");
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    throw new LayerwiseError(`certify: cannot read the folder ${folder}: ${messageOf(error)}`, 2);
  });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".json"));
  const paths = files.map((entry) => path.join(entry.parentPath, entry.name)).sort();
  const found: Found[] = [];
  for (const file of paths) {
    const about = await readJson(file);
    if (isCase(about)) found.push({ folder: path.dirname(file), name: path.basename(file, ".json"), about });
  }
  return found;
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new LayerwiseError(`certify: cannot read ${file}: ${messageOf(error)}`, 2);
  }
}

async function certifyLoaded(found: Found, judge: (golden: GoldenCase) => Promise<Verdict>): Promise<Verdict> {
  const { systemOf } = await import("../../certify/index.ts");
  const { readSafetensors } = await import("../../index.ts");
  const { folder, name, about } = found;
  const system = systemOf(about, folder);
  const file = path.join(folder, `${name}.safetensors`);
  try {
    const tensors = existsSync(file) ? readSafetensors(await readFile(file), file).tensors : new Map();
    return await judge({ folder, name, system, about, tensors });
  } catch (error) {
    return { folder, case: name, system, status: "failed", worst: null, reason: messageOf(error) };
  }
}

type Totals = Readonly<Record<Verdict["status"], number>>;

function asJson(totals: Totals, verdicts: readonly Verdict[]): string {
  return JSON.stringify({ ...totals, cases: verdicts.map(({ reason: _, ...verdict }) => verdict) });
}

const words = { passed: "passed", failed: "FAILED", notCovered: "not covered" };

function asTable(totals: Totals, verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ system, case: name, status, worst, reason }) => ({
    system,
    case: name,
    status: words[status],
    "largest error": worst ? worst.error.toExponential(1) : "",
    in: worst?.tensor ?? reason ?? "",
  }));
  return `${table(rows)}\n\n${totals.passed} passed, ${totals.failed} failed, ${totals.notCovered} not covered`;
}
