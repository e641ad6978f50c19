/** `layerwise train` and `layerwise resume`. */
import { InvalidArgumentError } from "commander";
import type { TrainConfig } from "../../tasks/index.ts";
import { carryOut, resume } from "../carry-out.ts";
import type { Command } from "../command.ts";
import { numberFrom, ON, type SettingsFlags, schemaFrom, settingsFrom, trainSchemas, whole } from "../flags.ts";
import { engineOf } from "../opened.ts";
import { handed } from "../output.ts";

const schemas = await trainSchemas();

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
  layerwise resume runs/first                    goes on from the last checkpoint, exactly as if it had never stopped
  layerwise resume runs/first --steps 2000       trains for longer, also where it has ended
  layerwise resume runs/first --set rate=0.001   with another setting, which is written down in the run
  layerwise resume runs/compare                  the trials of a sweep that have not ended

A run is bound to its settings, text and tokenizer: what was changed elsewhere is named and refused.`;

export function addTrain(program: Command): void {
  program
    .command("train")
    .tasks(schemas)
    .settings(schemas, {
      dryRun: "print model, plan, parameters, FLOPs, memory and an estimate of time, and stop",
    })
    .explain(trainExamples)
    .action(runTrain);
}

function setting(text: string, before: Record<string, string>): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError("It must be a setting and its value, such as rate=0.001.");
  return { ...before, [name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())]: value! };
}

export function addResume(program: Command): void {
  program
    .command("resume")
    .argument("<run>", "run folder, or the folder of a sweep")
    .option("--set <name=value>", "change a setting from here on (may be given several times)", setting, {})
    .option("--steps <n>", "train for this many updates in all", whole)
    .option("--epochs <n>", "train for this many passes over the data in all", numberFrom(0))
    .option("--minutes <n>", "train for this many minutes in all", numberFrom(0))
    .option("--device <name>", "go on on this device, cpu or webgpu (default: where it began)")
    .option("--new-text", "go on although the text is another than the run began with")
    .option("--on <launcher>", `of a sweep, ${ON}`)
    .explain(resumeExamples)
    .action(async (path: string, { on, device, ...changes }) => {
      await resume(path, { changes, engine: await engineOf({ device }), on });
    });
}

async function runTrain(flags: SettingsFlags): Promise<void> {
  const settings = (await settingsFrom(await schemaFrom(schemas, flags), flags)) as TrainConfig;
  const { openJob } = await import("../../tasks/index.ts");
  // Mistakes in data or in the run to start from leave no folder.
  const job = await openJob(settings, handed());
  await carryOut(job, settings.task, flags);
}
