/** `layerwise train` and `layerwise resume`. */
import { type Command, Option } from "commander";
import type { SettingsSchema } from "../../runs/index.ts";
import type { TrainConfig } from "../../tasks/index.ts";
import { taskSettings } from "../../tasks/settings/index.ts";
import { addRunFlags, addSettings, type SettingsFlags, schemaFrom, settingsFrom } from "../flags.ts";
import { freeFolder } from "../free-folder.ts";

/** The tasks of this command. */
const schemas: readonly SettingsSchema[] = [await taskSettings.language(), await taskSettings.translate()];

const trainExamples = `
Order: defaults < preset < --config file < flags. \`layerwise schema\` prints all settings.

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
    .addOption(
      new Option("--task <name>", "the next token of a text, or translation (default: language)").choices(
        schemas.map(({ task }) => task),
      ),
    );
  addRunFlags(command, schemas, {
    out: "run folder (default: runs/ and the next free number)",
    dryRun: "print model, plan, parameters, FLOPs, memory and an estimate of time, and stop",
    json: "print only JSON",
  });
  addSettings(command, schemas).addHelpText("after", trainExamples).action(runTrain);
}

export function addResume(program: Command): void {
  program
    .command("resume")
    .argument("<run>", "run folder")
    .addHelpText("after", resumeExamples)
    .action(async (path: string) => (await import("../resume.ts")).resume(path));
}

interface TrainFlags extends SettingsFlags {
  out?: string;
  dryRun?: boolean;
  json?: boolean;
}

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function runTrain(flags: TrainFlags): Promise<void> {
  const settings = (await settingsFrom(await schemaFrom(schemas, flags), flags)) as TrainConfig;
  const { openJob } = await import("../../tasks/index.ts");
  // Mistakes in data or in the run to start from leave no folder.
  const job = await openJob(settings, { say });
  const { carryOut } = await import("../carry-out.ts");
  await carryOut(job, settings.task, { ...flags, into: flags.out ?? freeFolder() });
}
