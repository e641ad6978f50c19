/** `layerwise glue`: fine-tunes an ALBERT on a task of GLUE, searches for settings, and writes the benchmark's submission files. */
import { join } from "node:path";
import { InvalidArgumentError } from "commander";
import { LARGEST, reject, table, withScores } from "../../base/index.ts";
import type { SearchFlags } from "../../sweep/index.ts";
import type { Command } from "../command.ts";
import { namesIn, settingsIn, whole, wholeFrom } from "../flags.ts";
import { openUsing, type UseFlags } from "../opened.ts";
import { counting, print, save, say } from "../output.ts";
import { isUnfinished, watchSession, watchTrials } from "../session.ts";
import { finetuneSettings, type TuneFlags, tuneSettings, tuneTexts } from "./finetune.ts";

/** The benchmark's tasks, which `text.glueTasks` describes. */
export const taskNames = ["CoLA", "SST-2", "MRPC", "STS-B", "QQP", "MNLI", "QNLI", "RTE", "WNLI"] as const;

const examples = `
Tasks: ${taskNames.join(", ")}. GLUE's folder holds one folder a task, with train.tsv and dev.tsv.

Examples:
  layerwise glue SST-2 --from runs/pretrained --glue ~/data/glue
  layerwise glue RTE --scratch --tokenizer albert-30k --data ~/data --halt --ponder 0.001 --depth 6
  layerwise glue SST-2 --scratch --like runs/pretrained      the same model untrained, to compare with
  layerwise resume runs/glue/SST-2-1      after Ctrl-C or a kill, exactly as if it had never stopped
  layerwise glue search MRPC --from runs/pretrained --seeds 3 --parallel 2
  layerwise glue predict runs/glue/SST-2 --out submission
  layerwise glue all --from runs/pretrained --glue ~/data/glue

JSON: {run, task, metric, epochs: [{epoch, step, loss, figures}], best}`;

const searchExamples = `
Without more flags the original's grid: rates 5e-5, 3e-5, 2e-5, batches of 16 and 32, epochs 2 to 4 of one run, 5 seeds (1 for MNLI, QNLI
and QQP). The setting with the best mean over seeds wins. A sweep (layerwise sweep show DIR): the same command goes on where it was stopped.

Examples:
  layerwise glue search CoLA --from runs/pretrained --out runs/cola
  layerwise glue search CoLA --from runs/pretrained --strategy random --trials 8 --rates 1e-5,1e-3 --seeds 2
  layerwise glue search CoLA --from runs/pretrained --strategy halving --trials 8 --epochs 4
  layerwise glue search CoLA --from runs/pretrained --on redis://office:6379

JSON: {task, metric, trials, rows: [{rate, batch, epochs, epoch, mean, deviation, values}], best: {..., run, step}, failed: [{trial, why}]}
A setting of which a trial diverged is left out of the table, and the trial stands under failed.`;

const predictExamples = `
Writes index and prediction, with a tab between, under the names the benchmark wants: SST-2.tsv; MNLI-m.tsv, MNLI-mm.tsv and AX.tsv from
a model of MNLI. Numbers of STS-B are brought into 0 to 5.

Example:
  layerwise glue predict runs/glue/SST-2 --out submission --glue ~/data/glue`;

const evalExamples = `
Examples:
  layerwise glue eval runs/glue/SST-2
  layerwise glue eval runs/glue/MNLI --split dev-mismatched --json    {task, split, texts, loss, figures}`;

const allExamples = `
A run per task below --out; finished ones stay, so the same command goes on where it was stopped. The score of a task is the mean of its
metrics on the dev set, as the benchmark counts (of CoLA Matthews' correlation alone, of MNLI both dev sets); WNLI is answered with its commonest class, as everybody submits. submission.zip has the files
of the tasks whose test texts are there.

Examples:
  layerwise glue all --from runs/pretrained --glue ~/data/glue --out runs/glue-all
  layerwise glue all --scratch --like runs/pretrained --tasks RTE,MRPC --epochs 2

JSON: {rows: [{task, run, figures, score}], average, missing, submission, stopped}`;

interface GlueFlags extends TuneFlags {
  readonly from?: string;
  /** Of `glue all`. */
  readonly tasks?: string[];
}

interface GlueSearchFlags extends GlueFlags, SearchFlags {
  readonly from?: string;
  readonly parallel: number;
  readonly on?: string;
}

export function addGlue(program: Command): void {
  const command = program.command("glue").argumentAmong("<task>", taskNames);
  const out = "run folder (default: runs/glue/ and the task, with a number where that is taken)";
  addTuneFlags(command, out, "print model, texts, memory and an estimate of time, and stop")
    .explain(examples)
    .action(tune);
  addSearch(command);
  addEval(command);
  addPredict(command);
  const all = command.command("all").option("--tasks <names>", "only these, with commas between", namesIn);
  const folder = "folder of the runs, report.json and submission.zip (default: runs/glue-all)";
  addTuneFlags(all.description("fine-tune on every task whose files are there; average and submission"), folder)
    .explain(allExamples)
    .action(tuneAll);
}

/** Where the weights come from, where runs go, and the settings of fine-tuning. */
function addTuneFlags(command: Command, out: string, dryRun?: string): Command {
  return command
    .option("--from <run>", "an ALBERT's run: pre-trained, imported or fine-tuned")
    .option("--scratch", "begin with random weights")
    .settings([finetuneSettings], { out, dryRun });
}

const numbers = (check: (value: number) => boolean, what: string) => (text: string) => {
  const values = text.split(",").map(Number);
  if (values.length === 0 || values.some((value) => !check(value)))
    throw new InvalidArgumentError(`It must be ${what}.`);
  return values;
};
const isCount = (value: number) => Number.isSafeInteger(value) && value > 0;

function addSearch(glue: Command): void {
  const command = glue
    .command("search")
    .description(
      "fine-tune with many settings and seeds, in parallel processes, and pick the best by the mean over seeds",
    )
    .argumentAmong("<task>", taskNames, "a task of GLUE")
    .option("--strategy <name>", "grid, random or halving", "grid")
    .option("--rates <numbers>", "learning rates; for random and halving the lowest and highest count", positive)
    .option("--batches <numbers>", "batch sizes", numbers(isCount, "whole numbers from 1 with commas between"))
    .option("--trials <n>", "random and halving: how many settings are drawn", whole)
    .option("--seeds <n>", "runs of each setting, seeds 1 to n", wholeFrom(1, LARGEST.seeds))
    .option("--parallel <n>", "trials at a time; they share the threads", whole, 1)
    .option("--on <launcher>", "where trials run instead: local:N, redis://host, slurm:N or kubernetes:N");
  addTuneFlags(command, "folder of the trials (default: runs/glue/ and the task, -search)")
    .explain(searchExamples)
    .action(search);
}

const positive = numbers((value) => value > 0, "numbers above 0 with commas between");

function addPredict(glue: Command): void {
  const command = glue
    .command("predict")
    .description("write the benchmark's submission files")
    .argument("<run>", "a fine-tuned run")
    .requiredOption("--out <dir>", "folder to write to");
  addUseFlags(command, "test").explain(predictExamples).action(predict);
}

function addEval(glue: Command): void {
  const command = glue
    .command("eval")
    .description("measure a fine-tuned run: loss, the task's metrics, mean depth")
    .argument("<run>", "a fine-tuned run");
  addUseFlags(command, "dev").explain(evalExamples).action(measure);
}

function addUseFlags(command: Command, split: string): Command {
  return command
    .option("--glue <dir>", "folder of GLUE's tasks (default: as in training)")
    .option("--split <name>", "train, dev, test; dev-mismatched and test-mismatched of MNLI", split)
    .option("--threads <n>", "threads of ONNX Runtime", whole)
    .option("--json", "print only JSON")
    .checkpoint();
}

const settingsOf = (flags: GlueFlags) => tuneSettings("glue", "--from RUN or --scratch", flags.from, flags);

async function tune(name: string, flags: GlueFlags): Promise<void> {
  const task = (await import("../../text/index.ts")).trainableGlueTask(name);
  const { from } = flags;
  await tuneTexts(task, await settingsOf(flags), { from }, { ...flags, prefix: `glue/${task.name}-` });
}

async function tuneAll(flags: GlueFlags): Promise<void> {
  const settings = await settingsOf(flags);
  const { from, out = "runs/glue-all", tasks, json } = flags;
  const { glueAll, glueTable } = await import("../../tasks/finetune/index.ts");
  const { figuresOfKind } = await import("../../tasks/index.ts");
  const shown = figuresOfKind("finetune");
  const report = await watchSession((signal) => glueAll({ settings, from, out, tasks, signal }), { shown });
  print(json ? JSON.stringify(report) : table(glueTable(report)));
  if (report.stopped) say("stopped; give the same command again to go on");
  else if (report.submission.length > 0) say(`submission: ${join(out, "submission.zip")}`);
}

async function search(name: string, flags: GlueSearchFlags): Promise<void> {
  const task = (await import("../../text/index.ts")).trainableGlueTask(name);
  const settings = await settingsOf(flags);
  const { searchGlue, searchSpec, searchTable } = await import("../../sweep/index.ts");
  const spec = searchSpec(task, settings, flags, settingsIn(finetuneSettings, flags));
  const { out: into = `runs/glue/${task.name}-search`, on = `local:${flags.parallel}` } = flags;
  const { reason, found } = await watchTrials((signal) => searchGlue({ spec, into, on, signal }), on);
  if (isUnfinished(into, reason) || !found) return;
  print(flags.json ? JSON.stringify(found) : searchTable(found));
  for (const { trial, why } of found.failed) say(`left out: ${trial}: ${why}`);
  if (!flags.json) say(`best: ${found.best.run}, step ${found.best.step}`);
}

interface MeasureFlags extends Pick<UseFlags, "checkpoint" | "threads"> {
  glue?: string;
  split: string;
  json?: boolean;
}

async function predict(path: string, flags: MeasureFlags & { out: string }): Promise<void> {
  const run = await openUsing(path, "predict", flags);
  if (!run.glue) return reject({ who: path, needed: "a run of one of GLUE's tasks", got: run.task.name }, 2);
  const { submissions } = run.glue;
  const { split, glue, out } = flags;
  const found = await counting("scoring", "texts", (onText) => submissions({ split, glue, say, onText }));
  const written = found.map(({ file, texts }) => ({ file: join(out, file), texts }));
  for (const { file, content } of found) await save(join(out, file), content);
  print(flags.json ? JSON.stringify(written) : table(written));
}

async function measure(path: string, flags: MeasureFlags): Promise<void> {
  const run = await openUsing(path, "predict", flags);
  const { split, glue } = flags;
  const { figures, ...measured } = await counting("scoring", "texts", (onText) =>
    run.evaluate({ split, glue, onText }),
  );
  print(flags.json ? JSON.stringify({ ...measured, figures }) : table([withScores({ ...measured, ...figures })]));
}
