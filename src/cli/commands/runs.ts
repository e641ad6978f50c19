/** `layerwise runs`: lists run folders, shows one, compares several, removes one. */
import { reject } from "../../base/index.ts";
import { encodeJson, type Sorting, sortings } from "../../runs/index.ts";
import type { Command } from "../command.ts";
import { print, say } from "../output.ts";

interface JsonOption {
  json?: boolean;
}

const LIST_EXAMPLES = `
Examples:
  layerwise runs                        the runs under runs/, the newest first
  layerwise runs --sort score           the best first
  layerwise runs experiments --json
  layerwise runs show runs/1            one run: figures, curve, checkpoints, settings
  layerwise runs compare runs/1 runs/2  settings that differ, and results side by side
  layerwise runs remove runs/1          asks first; --yes does not`;

const SHOW_EXAMPLES = `
Examples:
  layerwise runs show runs/1
  layerwise runs show runs/1 --json     with weightsHash, the SHA-256 of the last checkpoint's weights`;

const REMOVE_EXAMPLES = `
A folder that is no run, holds files that no run has, or is in training is refused, and nothing is removed then.

Examples:
  layerwise runs remove runs/1
  layerwise runs remove runs/1 runs/2 --yes`;

const COMPARE_EXAMPLES = `
Examples:
  layerwise runs compare runs/1 runs/2
  layerwise runs compare runs/* --json`;

/** Adds `runs`, `runs show`, `runs compare` and `runs remove`. */
export function addRuns(program: Command): void {
  const runs = program
    .command("runs")
    .argument("[dir]", "folder to search for runs", "runs")
    .choice("--sort <by>", "what stands first: the newest, the best, the longest, or by name", sortings, "changed")
    .option("--json", "print JSON")
    .explain(LIST_EXAMPLES)
    .action(list);
  runs
    .command("show <run>")
    .description("show one run: status, figures, checkpoints, settings, machine")
    .option("--json", "print JSON")
    .explain(SHOW_EXAMPLES)
    .action((path: string, _: JsonOption, command: Command) => show(path, command.optsWithGlobals()));
  runs
    .command("compare <run...>")
    .description("show in which settings runs differ, and their results side by side")
    .option("--json", "print JSON")
    .explain(COMPARE_EXAMPLES)
    .action((paths: string[], _: JsonOption, command: Command) => compare(paths, command.optsWithGlobals()));
  runs
    .command("remove <run...>")
    .description("remove run folders with their checkpoints; never one that is in training")
    .option("--yes", "do not ask")
    .explain(REMOVE_EXAMPLES)
    .action(remove);
}

const printJson = (value: unknown) => print(encodeJson(value, 2));

async function list(folder: string, { json, sort }: JsonOption & { sort: Sorting }): Promise<void> {
  const { briefly, listRuns, runsTable } = await import("../../runs/index.ts");
  const found = await listRuns(folder, sort);
  if (json) return printJson(found.map((each) => ("fault" in each ? each : briefly(each))));
  if (found.length === 0) return print(`no runs under ${folder}; start one with: layerwise train --out ${folder}/1`);
  print(runsTable(found, process.stdout.columns || Number.POSITIVE_INFINITY));
}

async function show(path: string, { json }: JsonOption): Promise<void> {
  const { briefly, runReport, summarise, weightsHash } = await import("../../runs/index.ts");
  const run = await summarise(path);
  if (json) return printJson({ ...briefly(run), weightsHash: await weightsHash(run) });
  print(await runReport(run));
}

async function compare(paths: string[], { json }: JsonOption): Promise<void> {
  if (paths.length < 2)
    reject({ who: "runs compare", needed: "two runs or more", got: paths.join(", "), remedy: "name another run" }, 2);
  const { comparedTables, compareRuns, summarise } = await import("../../runs/index.ts");
  const runs = await Promise.all(paths.map(summarise));
  if (json) return printJson(await compareRuns(runs));
  print(await comparedTables(runs));
}

async function remove(paths: string[], { yes }: { yes?: boolean }): Promise<void> {
  const { removeRuns } = await import("../../runs/index.ts");
  if (await removeRuns(paths, () => yes || agreed(paths))) print(paths.map((path) => `removed ${path}`).join("\n"));
  else say("nothing removed");
}

/** Asks on a terminal; elsewhere --yes must be given. */
async function agreed(paths: readonly string[]): Promise<boolean> {
  if (!process.stdin.isTTY) {
    const needed = "--yes where nobody can be asked";
    return reject({ who: "runs remove", needed, got: "no terminal", remedy: "add --yes" }, 2);
  }
  const { createInterface } = await import("node:readline/promises");
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await asking.question(`remove ${paths.join(", ")} with all checkpoints? [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    asking.close();
  }
}
