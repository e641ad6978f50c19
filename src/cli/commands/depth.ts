/** `layerwise depth`: how deep the tokens of an ALBERT or a language model run, and which ones run deeper. */
import { type Command, Option } from "commander";
import { reject, startProgress } from "../../base/index.ts";
import { depthTable, type TraceRow, traceTable } from "../../depth/index.ts";
import type { ProbeSentence, Split } from "../../text/index.ts";
import { addCheckpointFlag, addDepthFlags, type UseFlags } from "../finished.ts";
import { whole } from "../flags.ts";
import { fitted } from "../help.ts";
import type { Using } from "../opened.ts";

const examples = `
Without --text, --conllu, --probe or --agreement, the text is the run's own (or --corpus), masked as in pre-training.
[MASK/…] are the places to predict: shown as [MASK], as a random piece, or as they were; unmasked is all that does not show [MASK].
The similarity trace is the mean cosine between a token's states before and after each iteration it ran.

Examples:
  layerwise depth runs/albert                                       table by kind of token, and the similarity trace
  layerwise depth runs/albert --text "The cat sat on the mat ." --html cat.html --svg cat.svg
  layerwise depth runs/1                                            a language model's valid text by kind of word and by surprise
  layerwise depth runs/1 --continue "it was a"                      along the text that it writes
  layerwise depth runs/albert --conllu en_ewt-ud-dev.conllu         by part of speech and dependency relation
  layerwise depth runs/albert --probe subj_number.txt               SentEval's form: split, label, text, perhaps a word to mask
  layerwise depth runs/albert --agreement linzen.txt --svg distance.svg    depth of the masked verb against its distance

JSON: {run, step, cap} with {kinds, trace, tokens}, {kinds, surprises, tokens}, {prompt, tokens}, {text, tokens}, {upos, deprel, trace, tokens}, or {labels, masked, distances}; a row
has {name, tokens, mean, deviation, atCap}.`;

interface Flags extends UseFlags {
  corpus?: string;
  data?: string;
  split: Split;
  texts: number;
  length?: number;
  text?: string;
  continue?: string;
  tokens: number;
  conllu?: string;
  probe?: string;
  agreement?: string;
  html?: string;
  svg?: string;
  threads?: number;
  json?: boolean;
}

export function addDepth(program: Command): void {
  const command = program
    .command("depth")
    .argument("<run>", "run folder of pretrain, import, glue or train")
    .option("--corpus <name>", "text to mask (default: the run's own, or the embedded books)")
    .option("--data <dir>", "folder of datasets")
    .addOption(
      new Option("--split <split>", "which part of the corpus").choices(["train", "valid", "test"]).default("valid"),
    )
    .option("--texts <n>", "most texts or sentences to read", whole, 512)
    .option("--length <n>", "tokens of a masked text (default: as in training, at most 128)", whole)
    .option("--text <text>", "show one sentence, darker where it is deeper")
    .option("--continue <text>", "let a language model continue this text, and show how deep each of its tokens ran")
    .option("--tokens <n>", "tokens to continue it by", whole, 60)
    .option("--conllu <file>", "a treebank in CoNLL-U")
    .option("--probe <file>", "sentences with labels, in SentEval's form")
    .option("--agreement <file>", "subject–verb agreement with distances")
    .option("--html <file>", "write the sentence as HTML")
    .option("--svg <file>", "write the sentence, or the plot over distance, as SVG")
    .option("--threads <n>", "threads of ONNX Runtime (default: physical cores)", whole)
    .option("--json", "print only JSON, with a row a token");
  addDepthFlags(addCheckpointFlag(command)).addHelpText("after", fitted(examples)).action(run);
}

type Run = Using<"depths">;
type Albert = Extract<Run, { readonly depthsByKind: unknown }>;
type Language = Extract<Run, { readonly depthsByWord: unknown }>;

interface Report {
  readonly result: Readonly<Record<string, unknown>>;
  readonly text: string;
}

async function run(path: string, flags: Flags): Promise<void> {
  const asked = [flags.text, flags.continue, flags.conllu, flags.probe, flags.agreement].filter(
    (each) => each !== undefined,
  );
  if (asked.length > 1) {
    reject(
      { who: "depth", needed: "one of --text, --continue, --conllu, --probe and --agreement", got: `${asked.length}` },
      2,
    );
  }
  const { openUsing } = await import("../opened.ts");
  const opened = await openUsing(path, "depths", flags);
  const progress = startProgress("reading", { output: process.stderr, unit: "texts" });
  const { result, text } = await reportOf(opened, { ...flags, onText: progress.at });
  progress.end();
  const all = { run: path, step: opened.step, cap: capOf(opened), ...result };
  process.stdout.write(`${flags.json ? JSON.stringify(all) : text}\n`);
}

const capOf = ({ model }: Run) => model.policy.depth;

type Asked = Flags & { readonly onText: (done: number) => void };

async function reportOf(opened: Run, flags: Asked): Promise<Report> {
  if (flags.text !== undefined) return sentenceReport(opened, flags.text, flags);
  if ("depthsByWord" in opened) return languageReport(opened, flags);
  if (flags.continue !== undefined) {
    reject(
      { who: "--continue", needed: "a run of train", got: `one of kind ${opened.kind}`, remedy: "give --text" },
      2,
    );
  }
  if (flags.conllu !== undefined) return tagReport(opened, flags.conllu, flags);
  const { readAgreement, readProbe } = await import("../../text/index.ts");
  if (flags.probe !== undefined) return probeReport(opened, readProbe(flags.probe), flags);
  if (flags.agreement !== undefined) return probeReport(opened, readAgreement(flags.agreement), flags);
  return kindReport(opened, flags);
}

const similarity = (trace: readonly TraceRow[]) =>
  trace.length === 0 ? "" : `\n\nsimilarity of successive states\n${traceTable(trace)}`;

async function kindReport(opened: Albert, { corpus, data, split, texts, length, onText }: Asked): Promise<Report> {
  const found = await opened.depthsByKind({ corpus, data, split, texts, length, onText });
  const { kinds, trace, tokens } = found;
  const title = `${found.corpus}, ${found.texts} ${split} texts of ${found.length} tokens, at most ${capOf(opened)} iterations`;
  return {
    result: { corpus: found.corpus, split, kinds, trace, tokens },
    text: `${title}\n\n${depthTable(kinds, "kind")}${similarity(trace)}`,
  };
}

async function sentenceReport(opened: Run, text: string, { html, svg }: Asked): Promise<Report> {
  const { traceOf } = await import("../../tasks/pretrain/index.ts");
  const { htmlView, svgView, terminalView } = await import("../../pictures/index.ts");
  const found = await opened.depths(text);
  const [tokens, cap] = [found.map(({ piece, depth }) => ({ piece, depth })), capOf(opened)];
  const trace = traceOf(found.map(({ cosines }) => cosines));
  await written(html, htmlView([tokens], cap, text));
  await written(svg, svgView(tokens, cap, text));
  const colours = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
  return {
    result: { text, tokens, trace },
    text: `${terminalView(tokens, cap, colours)}${similarity(trace)}`,
  };
}

/** Depths of a language model: along a text that it writes, or of a split by kind of word and by surprise. */
async function languageReport(opened: Language, flags: Asked): Promise<Report> {
  const stranger = (["conllu", "probe", "agreement", "corpus", "length"] as const).find((name) => flags[name]);
  if (stranger) {
    const remedy = "leave it out: words are told apart by their letters";
    reject({ who: `--${stranger}`, needed: "a run of pretrain, import or glue", got: opened.kind, remedy }, 2);
  }
  if (flags.continue !== undefined) return continuedReport(opened, flags.continue, flags);
  const { split, texts, onText } = flags;
  const { kinds, surprises, tokens } = await opened.depthsByWord({ split, texts, onText });
  const title = `${tokens.length} tokens of ${split} texts, at most ${capOf(opened)} blocks`;
  const tables = [depthTable(kinds, "kind"), depthTable(surprises, "surprise of the next token")].join("\n\n");
  return { result: { split, kinds, surprises, tokens }, text: `${title}\n\n${tables}` };
}

async function continuedReport(
  opened: Language,
  prompt: string,
  { tokens: maxTokens, html, svg }: Asked,
): Promise<Report> {
  const { htmlView, svgView, terminalView } = await import("../../pictures/index.ts");
  const writer = await opened.writer();
  const [tokens, cap] = [[] as { piece: string; depth: number; probability?: number | undefined }[], capOf(opened)];
  for await (const { text, id, depth = cap, probability } of writer.write({ prompt, maxTokens, temperature: 0 })) {
    if (id !== undefined) tokens.push({ piece: text, depth, probability });
  }
  await writer.release();
  await written(html, htmlView([tokens], cap, prompt));
  await written(svg, svgView(tokens, cap, prompt));
  const colours = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
  return { result: { prompt, tokens }, text: terminalView(tokens, cap, colours) };
}

async function written(file: string | undefined, content: string): Promise<void> {
  if (file === undefined) return;
  const { writeAtomically } = await import("../../files/index.ts");
  await writeAtomically(file, new TextEncoder().encode(content));
}

async function tagReport(opened: Albert, file: string, { texts, onText }: Asked): Promise<Report> {
  const { readConllu } = await import("../../text/index.ts");
  const found = await opened.depthsByTag(readConllu(file).slice(0, texts), { onText });
  const { upos, deprel, trace } = found;
  const tables = [depthTable(upos, "part of speech"), depthTable(deprel, "relation")].join("\n\n");
  return { result: { ...found }, text: tables + similarity(trace) };
}

async function probeReport(
  opened: Albert,
  sentences: readonly ProbeSentence[],
  { texts, svg, onText }: Asked,
): Promise<Report> {
  const found = await opened.depthsByProbe(sentences.slice(0, texts), { onText });
  if (found.distances.length > 0)
    await written(svg, (await import("../../pictures/index.ts")).distanceSvg(found.distances));
  const parts = [
    `all pieces, by label\n${depthTable(found.labels, "label")}`,
    ...(found.masked.length > 0 ? [`the masked word, by label\n${depthTable(found.masked, "label")}`] : []),
    ...(found.distances.length > 0
      ? [`the masked verb, by distance to its subject\n${depthTable(found.distances, "distance")}`]
      : []),
  ];
  return { result: { ...found }, text: parts.join("\n\n") };
}
