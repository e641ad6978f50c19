/** `layerwise glue all`: every task of GLUE whose files are there, their average and the submission. */
import { join } from "node:path";
import type { Command } from "commander";
import { table } from "../../base/index.ts";
import type { GlueSettings } from "../../tasks/finetune/index.ts";
import { fitted } from "../help.ts";
import { print, say } from "../output.ts";

const examples = `
A run per task below --out; finished ones stay, so the same command goes on where it was stopped. The score of a task is the mean of its
metrics on the dev set, as the benchmark counts; WNLI is answered with its commonest class, as everybody submits. submission.zip has the files
of the tasks whose test texts are there.

Examples:
  layerwise glue all --from runs/pretrained --glue ~/data/glue --out runs/glue-all
  layerwise glue all --scratch --like runs/pretrained --tasks RTE,MRPC --epochs 2

JSON: {rows: [{task, run, figures, score}], average, missing, submission, stopped}`;

/** What `glue all` is given. */
export interface AllFlags {
  readonly from?: string;
  readonly out?: string;
  readonly tasks?: string;
  readonly json?: boolean;
}

/** Says what the command does, and does it; `settings` reads those of fine-tuning. */
export function describeAll<F extends AllFlags>(command: Command, settings: (flags: F) => Promise<GlueSettings>): void {
  command
    .description("fine-tune on every task whose files are there; average and submission")
    .addHelpText("after", fitted(examples))
    .action(async (flags: F) => tuneAll(flags, await settings(flags)));
}

async function tuneAll({ from, out = "runs/glue-all", tasks, json }: AllFlags, settings: GlueSettings): Promise<void> {
  const { glueAll, glueTable } = await import("../../tasks/finetune/index.ts");
  const { watchSession } = await import("../session.ts");
  const { figuresOfKind } = await import("../../tasks/index.ts");
  const how = { settings, from, out, tasks: tasks?.split(",").map((name) => name.trim()) };
  const report = await watchSession((signal) => glueAll({ ...how, signal }), { shown: figuresOfKind("finetune") });
  print(json ? JSON.stringify(report) : table(glueTable(report)));
  if (report.stopped) say("stopped; give the same command again to go on");
  else if (report.submission.length > 0) say(`submission: ${join(out, "submission.zip")}`);
}
