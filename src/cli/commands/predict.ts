/** `layerwise predict`: labels, scores and depths of texts by a fine-tuned run. */
import { reject } from "../../base/index.ts";
import type { AskedTexts, PredictOptions } from "../../tasks/finetune/index.ts";
import { flagOf } from "../../tasks/settings/index.ts";
import type { Command } from "../command.ts";
import { numberFrom, whole } from "../flags.ts";
import { readInput } from "../input.ts";
import { engineOf, openUsing, type UseFlags } from "../opened.ts";
import { counting, print, save } from "../output.ts";

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

JSON: [{text, pair, label, scores, depth}]; depth is the mean over tokens, null where none halt; of tagging [{words, tags, scores, depth}] with
the probabilities of all tags for each word, of qa [{id, question, answer, scores, depth}], of choice [{text, label, choice, scores, depth}]`;

interface Flags extends AskedTexts, PredictOptions, Pick<UseFlags, "checkpoint" | "threads"> {
  adapter?: string;
  out?: string;
  json?: boolean;
}

export function addPredict(program: Command): void {
  program
    .command("predict")
    .argument("<run>", "a fine-tuned run; with --adapter any ALBERT's")
    .argument("[file]", "texts (default, and with -: standard input)")
    .option("--text <text>", "this text instead of a file")
    .option("--pair <text>", "with --text: the second text of a pair")
    .option("--text-column <column>", "column of the texts in a table (default: as in training)")
    .option("--pair-column <column>", "column of the second texts (default: as in training)")
    .option("--no-header", "the first line of a table is a text; columns go by their places")
    .option("--adapter <dir>", "with the adapter of this folder, trained on the run's model (export --format adapter)")
    .option("--batch <n>", "texts per batch (default: 32, fewer of more than 256 tokens)", whole)
    .option("--cap <n>", "deepest depth, where tokens halt", whole)
    .option("--threshold <p>", "a token halts when its probabilities exceed this", numberFrom(0, 1))
    .option("--label-threshold <p>", "multi-label: the least probability of a label (default: 0.5)", numberFrom(0, 1))
    .option("--threads <n>", "threads of ONNX Runtime", whole)
    .option("--out <file>", "write a table with tabs: text, label, a score per class, depth")
    .option("--json", "print only JSON")
    .checkpoint()
    .explain(examples)
    .action(run);
}

async function run(path: string, named: string | undefined, flags: Flags): Promise<void> {
  const file = named === "-" ? undefined : named;
  const isHead = await tagsAnswersOrChooses(path, flags.adapter);
  const { what, rows, text, file: content } = await (isHead ? answered : predicted)(path, file, flags);
  await save(flags.out, content);
  if (flags.json) print(JSON.stringify(rows));
  else process.stdout.write(flags.out === undefined ? text : `${rows.length} ${what}: ${flags.out}\n`);
}

/** Whether a run, or an adapter for it, has a head besides labelled texts. */
async function tagsAnswersOrChooses(path: string, adapter: string | undefined): Promise<boolean> {
  if (adapter === undefined) return (await (await import("../../tasks/index.ts")).kindOf(path)) === "head";
  const { readAdapter } = await import("../../tasks/finetune/index.ts");
  return (await readAdapter(adapter)).head !== undefined;
}

/** Labels of texts. */
async function predicted(path: string, file: string | undefined, flags: Flags) {
  const { askedTexts, predictionReport } = await import("../../tasks/finetune/index.ts");
  const { checkpoint, threads, batch, cap, threshold, labelThreshold } = flags;
  const use = { checkpoint, threads };
  const opened = await (flags.adapter === undefined
    ? openUsing(path, "predict", { ...use, cap, threshold })
    : openAdapted(path, flags.adapter, use));
  const texts = await askedTexts(opened.files, { ...flags, file, lines: await linesFor(file, flags) });
  const how = { batch, cap, threshold, labelThreshold };
  const found = await counting("predicting", "texts", (onText) => opened.predict(texts, { ...how, onText }));
  return { what: "labels", ...predictionReport(texts, found) };
}

/** Flags that only labelled texts understand. */
const ofTexts = ["textColumn", "pairColumn", "batch", "labelThreshold"] as const;

/** Tags, answers or choices by a run of such a head. */
async function answered(path: string, file: string | undefined, flags: Flags) {
  const stranger = ofTexts.find((name) => flags[name] !== undefined);
  if (stranger)
    reject({ who: flagOf(stranger), needed: "a run of labelled texts", got: path, remedy: "leave it out" }, 2);
  const { headInputs, headReport } = await import("../../tasks/finetune/index.ts");
  const { checkpoint, threads, text, pair, cap, threshold } = flags;
  const opened = await (flags.adapter === undefined
    ? openUsing(path, "answered", { checkpoint, threads, cap, threshold })
    : openAdaptedHead(path, flags.adapter, { checkpoint, threads }));
  const inputs = headInputs(opened.spec, { file, text, pair, lines: await linesFor(file, flags) });
  const found = await opened.answered(inputs, { cap, threshold });
  return { what: "answers", ...headReport(opened.spec, inputs, found) };
}

/** Standard input, where nothing else is given. */
const linesFor = async (file: string | undefined, { text, pair }: Flags) =>
  file === undefined && text === undefined && pair === undefined ? readInput() : undefined;

/** Another head and adapters on top of a run's model. */
async function openAdapted(path: string, adapter: string, use: UseFlags) {
  const { withAdapter } = await import("../../tasks/finetune/index.ts");
  const engine = await engineOf({ threads: use.threads });
  return { ...(await withAdapter(await openUsing(path, "embed", use), adapter, { engine })), files: undefined };
}

/** The same with a head that tags, answers or chooses. */
async function openAdaptedHead(path: string, adapter: string, use: UseFlags) {
  const { withHeadAdapter } = await import("../../tasks/finetune/index.ts");
  const engine = await engineOf({ threads: use.threads });
  return withHeadAdapter(await openUsing(path, "embed", use), adapter, { engine });
}
