/** `layerwise depth`: how deep the tokens of an ALBERT or a language model run, and which ones run deeper. */
import { reject } from "../../base/index.ts";
import type { DepthQuestion, DepthRun } from "../../tasks/index.ts";
import { flagOf } from "../../tasks/settings/index.ts";
import type { Command } from "../command.ts";
import { whole } from "../flags.ts";
import { openUsing, type UseFlags } from "../opened.ts";
import { counting, print, save } from "../output.ts";

const examples = `
Without --text, --conllu, --probe or --agreement, the text is the run's own (or --corpus), masked as in pre-training.
[MASK/…] are the places to predict: shown as [MASK], as a random piece, or as they were; unmasked is all that does not show [MASK].
The similarity trace is the mean cosine between a token's states before and after each iteration it ran.

Examples:
  layerwise depth runs/albert                                       table by kind of token, and the similarity trace
  layerwise depth runs/albert --text "The cat sat on the mat ." --html cat.html --svg cat.svg
  layerwise depth runs/albert --text "The cat sat ." --attentions cat.safetensors   attentions, depths and, in its metadata, pieces
  layerwise depth runs/1                                            a language model's valid text by kind of word and by surprise
  layerwise depth runs/1 --continue "it was a"                      along the text that it writes
  layerwise depth runs/albert --conllu en_ewt-ud-dev.conllu         by part of speech and dependency relation
  layerwise depth runs/albert --probe subj_number.txt               SentEval's form: split, label, text, perhaps a word to mask
  layerwise depth runs/albert --probe subj_number.txt --classify    what a linear classifier reads after each depth
  layerwise depth runs/albert --agreement linzen.txt --svg distance.svg    depth of the masked verb against its distance

JSON: {run, step, cap} with {kinds, trace, tokens}, {kinds, surprises, tokens}, {prompt, tokens}, {text, tokens}, {upos, deprel, trace, tokens}, {labels, masked, distances, intervening}, or {classes, commonest, depths}; a row
has {name, tokens, mean, deviation, atCap}.`;

interface Flags extends UseFlags, DepthQuestion {
  html?: string;
  svg?: string;
  attentions?: string;
  json?: boolean;
}

export function addDepth(program: Command): void {
  program
    .command("depth")
    .argument("<run>", "run folder of pretrain, import, glue or train")
    .option("--corpus <name>", "text to mask (default: the run's own, or the embedded books)")
    .option("--data <dir>", "folder of datasets")
    .splits()
    .option("--texts <n>", "most texts or sentences to read", whole, 512)
    .option("--length <n>", "tokens of a masked text (default: as in training, at most 128)", whole)
    .option("--text <text>", "show one sentence, darker where it is deeper")
    .option("--continue <text>", "let a language model continue this text, and show how deep each of its tokens ran")
    .option("--tokens <n>", "tokens to continue it by", whole, 60)
    .option("--conllu <file>", "a treebank in CoNLL-U")
    .option("--probe <file>", "sentences with labels, in SentEval's form")
    .option(
      "--agreement <file>",
      "subject–verb agreement with distances, or a control set of it with other words masked",
    )
    .option("--classify", "--probe: train a linear classifier of its labels on the frozen states after each depth")
    .option("--html <file>", "write the sentence as HTML")
    .option("--svg <file>", "write the sentence, or the plot over distance, as SVG")
    .option(
      "--attentions <file>",
      "--text: write what an ALBERT's tokens look at, probabilities [iterations, heads, T, T], as .safetensors",
    )
    .option("--threads <n>", "threads of ONNX Runtime (default: physical cores)", whole)
    .option("--json", "print only JSON, with a row a token")
    .checkpoint()
    .depths()
    .explain(examples)
    .action(run);
}

async function run(path: string, flags: Flags): Promise<void> {
  const questions = ["text", "continue", "conllu", "probe", "agreement"] as const;
  const asked = questions.filter((name) => flags[name] !== undefined);
  if (flags.classify && flags.probe === undefined) {
    reject({ who: "--classify", needed: "--probe FILE beside it", got: "none" }, 2);
  }
  checkAttentions(flags);
  if (asked.length > 1) {
    const needed = "one of --text, --continue, --conllu, --probe and --agreement";
    reject({ who: "depth", needed, got: `${asked.length}` }, 2);
  }
  const { depthReport } = await import("../../tasks/index.ts");
  const opened = await openUsing(path, "depths", flags);
  if (flags.attentions !== undefined) await saveAttentions(opened, flags.text!, flags.attentions);
  const { isTTY, columns } = process.stdout;
  const how = { colours: isTTY === true && process.env.NO_COLOR === undefined, columns: isTTY ? columns : undefined };
  const { data, text, ...pictures } = await counting("reading", "texts", (onText) =>
    depthReport(opened, { ...flags, ...how, onText }, flagOf),
  );
  for (const form of ["html", "svg"] as const) {
    if (pictures[form] !== undefined) await save(flags[form], pictures[form]);
  }
  const all = { run: path, step: opened.step, cap: opened.model.policy.depth, ...data };
  print(flags.json ? JSON.stringify(all) : text);
}

function checkAttentions({ attentions: file, text }: Flags): void {
  if (file === undefined) return;
  if (text === undefined) reject({ who: "--attentions", needed: "--text TEXT beside it", got: "none" }, 2);
  if (!file.endsWith(".safetensors")) {
    reject({ who: "--attentions", needed: "a file that ends with .safetensors", got: file }, 2);
  }
}

async function saveAttentions(run: DepthRun, text: string, file: string): Promise<void> {
  if (!("attentions" in run)) {
    return reject({ who: "--attentions", needed: "an ALBERT's run", got: `one of kind ${run.kind}` }, 2);
  }
  const { attentionsFile } = await import("../../tasks/index.ts");
  await save(file, attentionsFile(text, await run.attentions(text)));
}
