/** `layerwise predict`: labels, scores and depths of texts by a fine-tuned run. */
import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { reject } from "../../base/index.ts";
import type { CheckpointChoice } from "../../runs/index.ts";
import type { FinetuneRun } from "../../tasks/finetune/index.ts";
import { flagOf } from "../../tasks/settings/index.ts";
import type { PlainText, TextFiles } from "../../text/index.ts";
import { addCheckpointFlag } from "../finished.ts";
import { numberFrom, whole } from "../flags.ts";
import { fitted } from "../help.ts";
import { textsFrom } from "../input.ts";
import { counting, print } from "../output.ts";

const examples = `
A file that ends with .tsv, .csv or .jsonl is read by the columns that the run learnt from (--text-column and --pair-column name others);
any other file, and standard input, hold a text per line, or two with a tab between.

Examples:
  layerwise predict runs/finetune-1 --text "a lovely film"
  layerwise predict runs/finetune-1 reviews.tsv --out labels.tsv
  cat lines.txt | layerwise predict runs/finetune-1 --json
  layerwise predict runs/finetune-1 lines.txt --cap 3 --threshold 0.9     tokens halt earlier than in training
  layerwise predict runs/topics lines.txt --label-threshold 0.3           of a multi-label task
  layerwise predict runs/albert lines.txt --adapter adapters/topics       what finetune --lora learnt on runs/albert

A run of finetune --task tagging takes lines of words or a .conll file, one of qa SQuAD's JSON (or --text CONTEXT --pair QUESTION), one of
choice JSON lines of {text, choices}; --out then writes CoNLL columns, {id: answer} as SQuAD's own script reads it, or a table.

JSON: [{text, pair, label, scores, depth}]; depth is the mean over tokens, null where none halt; of tagging [{words, tags}], of qa
[{id, question, answer}], of choice [{text, label, choice}]`;

interface Flags {
  text?: string;
  pair?: string;
  textColumn?: string;
  pairColumn?: string;
  header: boolean;
  adapter?: string;
  batch?: number;
  cap?: number;
  threshold?: number;
  labelThreshold?: number;
  threads?: number;
  checkpoint?: CheckpointChoice;
  out?: string;
  json?: boolean;
}

export function addPredict(program: Command): void {
  const command = program
    .command("predict")
    .argument("<run>", "a fine-tuned run; with --adapter any ALBERT's")
    .argument("[file]", "texts (default, and with -: standard input)")
    .option("--text <text>", "this text instead of a file")
    .option("--pair <text>", "with --text: the second text of a pair")
    .option("--text-column <column>", "column of the texts in a table (default: as in training)")
    .option("--pair-column <column>", "column of the second texts (default: as in training)")
    .option("--no-header", "the first line of a table is a text; columns go by their places")
    .option("--adapter <dir>", "with the adapter of this folder, trained on the run's model (export --format adapter)")
    .option("--batch <n>", "texts per batch (default: 32)", whole)
    .option("--cap <n>", "deepest depth, where tokens halt", whole)
    .addOption(
      new Option("--threshold <p>", "a token halts when its probabilities exceed this").argParser(numberFrom(0, 1)),
    )
    .option("--label-threshold <p>", "multi-label: the least probability of a label (default: 0.5)", numberFrom(0, 1))
    .option("--threads <n>", "threads of ONNX Runtime", whole)
    .option("--out <file>", "write a table with tabs: text, label, a score per class, depth")
    .option("--json", "print only JSON");
  addCheckpointFlag(command).addHelpText("after", fitted(examples)).action(run);
}

async function run(path: string, file: string | undefined, flags: Flags): Promise<void> {
  const { kindOf } = await import("../../tasks/index.ts");
  if ((await kindOf(path)) === "head") return answer(path, file, flags);
  const { openUsing } = await import("../opened.ts");
  const { checkpoint, threads, batch, cap, threshold, labelThreshold } = flags;
  const opened = await (flags.adapter === undefined
    ? openUsing(path, "predict", { checkpoint, threads })
    : openAdapted(path, flags.adapter, flags));
  const texts = await textsFor(opened, file, flags);
  const how = { batch, cap, threshold, labelThreshold };
  const found = await counting("predicting", "texts", (onText) => opened.predict(texts, { ...how, onText }));
  const { predictedRow, predictionLines, predictionTable } = await import("../../tasks/finetune/index.ts");
  const rows = found.map((prediction, i) => predictedRow(texts[i]!, prediction));
  if (flags.out !== undefined) {
    const { writeAtomically } = await import("../../files/index.ts");
    await writeAtomically(flags.out, predictionLines(rows));
  }
  if (flags.json) print(JSON.stringify(rows));
  else if (flags.out === undefined) print(predictionTable(rows));
  else process.stdout.write(`${rows.length} labels: ${flags.out}\n`);
}

/** Flags that only labelled texts understand. */
const ofTexts = ["textColumn", "pairColumn", "adapter", "batch", "cap", "threshold", "labelThreshold"] as const;

/** Tags, answers or choices by a run of such a head. */
async function answer(path: string, file: string | undefined, flags: Flags): Promise<void> {
  const stranger = ofTexts.find((name) => flags[name] !== undefined);
  if (stranger)
    reject({ who: flagOf(stranger), needed: "a run of labelled texts", got: path, remedy: "leave it out" }, 2);
  const { openUsing } = await import("../opened.ts");
  const { headInputs, headReport } = await import("../../tasks/finetune/index.ts");
  const opened = await openUsing(path, "answer", flags);
  const { text, pair } = flags;
  const inputs = headInputs(opened.spec, { file, text, pair, lines: linesOf(file, text) });
  const report = headReport(opened.spec, inputs, await opened.answer(inputs));
  if (flags.out !== undefined) {
    const { writeAtomically } = await import("../../files/index.ts");
    await writeAtomically(flags.out, report.file);
  }
  if (flags.json) process.stdout.write(`${JSON.stringify(report.rows)}\n`);
  else process.stdout.write(flags.out === undefined ? report.text : `${inputs.length} answers: ${flags.out}\n`);
}

const linesOf = (file: string | undefined, text: string | undefined) =>
  file === undefined && text === undefined ? readFileSync(0, "utf8") : undefined;

/** Another head and adapters on top of a run's model. */
async function openAdapted(path: string, adapter: string, how: Pick<Flags, "checkpoint" | "threads">) {
  const { openUsing } = await import("../opened.ts");
  const { withAdapter } = await import("../../tasks/finetune/index.ts");
  const { defaultEngine } = await import("../../tasks/index.ts");
  const engine = how.threads === undefined ? undefined : await defaultEngine({ threads: how.threads });
  const adapted = await withAdapter(await openUsing(path, "embed", how), adapter, { engine });
  return { ...adapted, files: undefined };
}

/** The texts asked about: the one of --text, or those of a file; pairs where the run learnt from pairs. */
async function textsFor(
  { files }: Pick<FinetuneRun, "files">,
  file: string | undefined,
  flags: Flags,
): Promise<readonly PlainText[]> {
  const { text, pair } = flags;
  if (text === undefined && pair !== undefined)
    reject({ who: "predict", needed: "--text beside --pair", got: "none" }, 2);
  if (text !== undefined && file !== undefined) reject({ who: "predict", needed: "a file or --text", got: "both" }, 2);
  const pairs = files?.task === "pairs" || files?.pair !== undefined;
  const { plainText } = await import("../../text/index.ts");
  const said = () => [plainText(pair === undefined ? text! : `${text}\t${pair}`, "--text")];
  const texts = text === undefined ? await textsFrom(file, "predict", columnsFor(files, flags)) : said();
  const alone = pairs ? texts.findIndex((each) => each.pair === undefined) : -1;
  if (alone < 0) return texts;
  const who = text === undefined ? `${file ?? "standard input"}: text ${alone + 1}` : "--text";
  return reject({
    who,
    needed: "two texts, as in training",
    got: "one",
    remedy: "give the second after a tab, or as --pair",
  });
}

const columnsFor = (files: TextFiles | undefined, { textColumn, pairColumn, header }: Flags) => ({
  text: textColumn ?? files?.text,
  pair: pairColumn ?? files?.pair,
  pairs: files?.task === "pairs",
  header: header && files?.header,
});
