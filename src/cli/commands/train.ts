/** `layerwise train` and `layerwise resume`. */
import type { Command } from "commander";
import {
  addConfigFlags,
  type Config,
  flagsOf,
  presetNamed,
  presets,
  readConfig,
  resolveConfig,
} from "../../tasks/language/settings.ts";
import { freeFolder } from "../free-folder.ts";

const trainExamples = `
Presets: ${Object.keys(presets).join(", ")}. Order: defaults < task < preset < --config file < flags.

Examples:
  layerwise train --preset tiny --out runs/first       a minute on a laptop, embedded books
  layerwise train --corpus notes.txt --minutes 10      your own text
  layerwise train --unique 2 --depth 6 --share cycle   six layers deep, two layers of weights
  layerwise train --task translate --data ~/data --unique 3 --depth 6 --share cycle_rev
  layerwise train --preset wikitext --data ~/data --dry-run
  layerwise train --config run.yaml --rate 0.001 --seed 2`;

const resumeExamples = `
Examples:
  layerwise resume runs/first      goes on from the last checkpoint, exactly as if it had never stopped`;

export function addTrain(program: Command): void {
  const command = program
    .command("train")
    .description("train a model into a run folder")
    .option("--out <dir>", "run folder (default: runs/ and the next free number)")
    .option("--preset <name>", `a named set of settings: ${Object.keys(presets).join(", ")}`)
    .option("--config <file>", "settings from a YAML file")
    .option("--dry-run", "print model, plan, parameters, FLOPs, memory and an estimate of time, and stop");
  addConfigFlags(command).addHelpText("after", trainExamples).action(runTrain);
}

export function addResume(program: Command): void {
  program
    .command("resume")
    .description("go on with a run from its last checkpoint")
    .argument("<run>", "run folder")
    .addHelpText("after", resumeExamples)
    .action(async (path: string) => (await import("../resume.ts")).resume(path));
}

interface TrainFlags extends Record<string, unknown> {
  out?: string;
  preset?: string;
  config?: string;
  dryRun?: boolean;
  json?: boolean;
}

function settingsFrom(flags: TrainFlags): Config {
  return resolveConfig([
    ...(flags.preset === undefined ? [] : [{ source: `preset ${flags.preset}`, values: presetNamed(flags.preset) }]),
    ...(flags.config === undefined ? [] : [{ source: flags.config, values: readConfig(flags.config) }]),
    { source: "flags", values: flagsOf(flags) },
  ]);
}

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function runTrain(flags: TrainFlags): Promise<void> {
  const settings = settingsFrom(flags);
  const { openJob } = await import("../../tasks/jobs.ts");
  // Mistakes in data or in the run to start from leave no folder.
  const job = await openJob(settings, { say });
  const { carryOut } = await import("../carry-out.ts");
  await carryOut(job, settings.task, { ...flags, into: flags.out ?? freeFolder() });
}
