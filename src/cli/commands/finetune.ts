/** `layerwise finetune`: an ALBERT on labelled texts of one's own: tables with a column of texts and a column of labels. */
import { reject } from "../../base/index.ts";
import type { FinetuneGiven, GlueSettings, HeadKind } from "../../tasks/finetune/index.ts";
import { taskSettings } from "../../tasks/settings/index.ts";
import { type TableTask, type TextTask, tableTasks } from "../../text/index.ts";
import { type CarryingOut, carryOut } from "../carry-out.ts";
import type { Command } from "../command.ts";
import { type SettingsFlags, settingsFrom } from "../flags.ts";
import { counting, say } from "../output.ts";

/** The settings of every fine-tuning. */
export const finetuneSettings = await taskSettings.finetune();

/** As `headKinds`, which would load all of fine-tuning for a help text. */
const heads = ["tagging", "qa", "choice"] as const satisfies readonly HeadKind[];

const examples = `
Files are tables by the ending of their names: .tsv (tabs), .csv (commas, quotes), .jsonl (an object per line). Columns go by the names in the
first line: text (or sentence) and label, and pair (or sentence2) with --task pairs; --text, --pair and --label name others, or give
their places from 1. Labels of multi-label have commas between. The labels are those of --train; a dev file with others is refused.
--task tagging reads CoNLL's columns (a word first, its tag last, a blank line between sentences; judged by F1 of whole spans where tags are B-X and
I-X, else by accuracy), qa SQuAD's JSON of version 1 or 2 (F1 of words and exact matches), choice JSON lines of {text, choices, label} (accuracy).

Examples:
  layerwise finetune runs/albert --train train.tsv --dev dev.tsv
  layerwise finetune runs/albert --train a.csv --dev b.csv --text review --label stars --task regression
  layerwise finetune runs/albert --train a.jsonl --dev b.jsonl --task multi-label --epochs 5
  layerwise finetune runs/albert --train train.conll --dev dev.conll --task tagging
  layerwise finetune runs/albert --train train.json --dev dev.json --task qa --length 256 --lora 8
  layerwise finetune runs/albert --tokenizer my.model --resize-vocabulary --train train.tsv --dev dev.tsv
  layerwise finetune --scratch --tokenizer albert-30k --data ~/data --train train.tsv --dev dev.tsv
  layerwise predict runs/finetune-1 lines.txt
  layerwise eval runs/finetune-1 --corpus test.tsv

JSON: {run, task, metric, epochs: [{epoch, step, loss, figures}], best}`;

/** What a fine-tuning is given besides its texts. */
export interface TuneFlags extends SettingsFlags {
  readonly scratch?: boolean;
}

interface Flags extends TuneFlags {
  readonly train: string;
  readonly dev: string;
  readonly task: TableTask | HeadKind;
  readonly text?: string;
  readonly pair?: string;
  readonly label?: string;
  readonly header: boolean;
}

export function addFinetune(program: Command): void {
  program
    .command("finetune")
    .argument("[run]", "an ALBERT's run: pre-trained, imported or fine-tuned")
    .option("--scratch", "begin with random weights instead")
    .requiredOption("--train <file>", "texts to learn from")
    .requiredOption("--dev <file>", "texts to judge by, after each epoch")
    .choice(
      "--task <task>",
      "a class per text or per pair, any number of classes, a number; a tag per word, answers in a text, one of several texts",
      [...tableTasks, ...heads],
      "classification",
    )
    .option("--text <column>", "column of the texts (default: text, sentence …)")
    .option("--pair <column>", "column of second texts (default: none; with --task pairs: pair, sentence2 …)")
    .option("--label <column>", "column of the labels (default: label, class, score …)")
    .option("--no-header", "the first line is an example; columns go by their places")
    .settings([finetuneSettings], {
      prefix: "finetune-",
      dryRun: "print model, texts, memory and an estimate of time, and stop",
      without: ["glue"],
    })
    .explain(examples)
    .action(tune);
}

async function tune(from: string | undefined, flags: Flags): Promise<void> {
  const settings = await tuneSettings("finetune", "a run, or --scratch", from, flags);
  if (isHead(flags.task)) return tuneHead(flags.task, from, settings, flags);
  const { readTextFiles } = await import("../../text/index.ts");
  const { task, ...data } = readTextFiles(filesOf(flags, flags.task));
  await tuneTexts(task, settings, { from, ...data }, { ...flags, prefix: "finetune-" });
}

/** Settings of a fine-tuning; one that begins from nothing, or from two things at once, is refused. */
export async function tuneSettings(command: string, needed: string, from: string | undefined, flags: TuneFlags) {
  const { scratch = false } = flags;
  const got = scratch ? "both" : "neither";
  if ((from === undefined) !== scratch)
    reject({ who: command, needed, got, remedy: `see layerwise ${command} --help` }, 2);
  return settingsFrom(finetuneSettings, flags);
}

/** Fine-tunes on texts with labels. */
export async function tuneTexts(task: TextTask, settings: GlueSettings, given: FinetuneGiven, flags: CarryingOut) {
  const { finetuneJob, openFinetune } = await import("../../tasks/finetune/index.ts");
  const parts = await counting(`reading ${task.name}`, "texts", (onText) =>
    openFinetune(task, settings, { ...given, say, onText }),
  );
  await carryOut(finetuneJob(parts), "finetune", flags);
}

const isHead = (task: TableTask | HeadKind): task is HeadKind => (heads as readonly string[]).includes(task);

/** Tags, answers and choices have files of their own forms. */
async function tuneHead(kind: HeadKind, from: string | undefined, settings: GlueSettings, flags: Flags): Promise<void> {
  const stranger = (["text", "pair", "label"] as const).find((name) => flags[name] !== undefined);
  if (stranger)
    reject({ who: `--${stranger}`, needed: "a table of texts", got: `--task ${kind}`, remedy: "leave it out" }, 2);
  const { headJob, openHead } = await import("../../tasks/finetune/index.ts");
  const { train, dev } = flags;
  const parts = await openHead(kind, settings, { from, train, dev, say });
  await carryOut(headJob(parts), "head", { ...flags, prefix: `${kind}-` });
}

/** What the run keeps of where its texts stand; columns that nobody named are left out. */
function filesOf({ train, dev, text, pair, label, header }: Flags, task: TableTask) {
  const columns = Object.entries({ text, pair, label }).filter(([, column]) => column !== undefined);
  return { train, dev, task, ...Object.fromEntries(columns), ...(header ? {} : { header }) };
}
