/** `layerwise depth`: how many iterations the tokens of an ALBERT's run take, and which ones take more. */
import { type Command, Option } from "commander";
import type { ProbeAnalysis, TraceRow } from "../../analysis/depth-analysis.ts";
import { reject } from "../../base/errors.ts";
import { table } from "../../base/table.ts";
import type { DepthRow } from "../../depth/tally.ts";
import type { CheckpointChoice } from "../../runs/folder.ts";
import type { Split } from "../../text/files/corpus.ts";
import { addCheckpointFlag } from "../finished.ts";
import { whole } from "../flags.ts";

const examples = `
Without --text, --conllu, --probe or --agreement, the text is the run's own (or --corpus), masked as in pre-training.
[MASK/…] are the places to predict: shown as [MASK], as a random piece, or as they were; unmasked is all that does not show [MASK].
The similarity trace is the mean cosine between a token's states before and after each iteration it ran.

Examples:
  layerwise depth runs/albert                                       table by kind of token, and the similarity trace
  layerwise depth runs/albert --text "The cat sat on the mat ." --html cat.html --svg cat.svg
  layerwise depth runs/albert --conllu en_ewt-ud-dev.conllu         by part of speech and dependency relation
  layerwise depth runs/albert --probe subj_number.txt               SentEval's form: split, label, text, perhaps a word to mask
  layerwise depth runs/albert --agreement linzen.txt --svg distance.svg    depth of the masked verb against its distance

JSON: {run, step, cap} with {kinds, trace, tokens}, {text, tokens}, {upos, deprel, trace, tokens}, or {labels, masked, distances}; a row
has {name, tokens, mean, deviation, atCap}.`;

interface Flags {
  checkpoint?: CheckpointChoice;
  corpus?: string;
  data?: string;
  split: Split;
  texts: number;
  length?: number;
  text?: string;
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
    .argument("<run>", "run folder of pretrain, import or glue")
    .option("--corpus <name>", "text to mask (default: the run's own, or the embedded books)")
    .option("--data <dir>", "folder of datasets")
    .addOption(
      new Option("--split <split>", "which part of the corpus").choices(["train", "valid", "test"]).default("valid"),
    )
    .option("--texts <n>", "most texts or sentences to read", whole, 512)
    .option("--length <n>", "tokens of a masked text (default: as in training, at most 128)", whole)
    .option("--text <text>", "show one sentence, darker where it is deeper")
    .option("--conllu <file>", "a treebank in CoNLL-U")
    .option("--probe <file>", "sentences with labels, in SentEval's form")
    .option("--agreement <file>", "subject–verb agreement with distances")
    .option("--html <file>", "write the sentence as HTML")
    .option("--svg <file>", "write the sentence, or the plot over distance, as SVG")
    .option("--threads <n>", "threads of ONNX Runtime (default: physical cores)", whole)
    .option("--json", "print only JSON, with a row a token");
  addCheckpointFlag(command).addHelpText("after", examples).action(run);
}

type Opened = Awaited<ReturnType<typeof openForDepth>>;

async function openForDepth(path: string, flags: Flags) {
  const { needTokenizer, openAlbertRun } = await import("../../tasks/pretrain/albert-run.ts");
  const { defaultEngine } = await import("../../tasks/engine.ts");
  const { specialIds } = await import("../../text/masked/documents.ts");
  const { DepthReader } = await import("../../analysis/depth-reader.ts");
  const { startProgress } = await import("../../base/progress.ts");
  const run = await openAlbertRun(path, flags.checkpoint);
  for (const warning of run.warnings) process.stderr.write(`${warning}\n`);
  const { tokenizer } = needTokenizer(run);
  const engine = await defaultEngine({ threads: flags.threads ?? null, device: "cpu" });
  const reader = await DepthReader.create(engine, run);
  const progress = startProgress("reading", { output: process.stderr, unit: "texts" });
  const framing = { tokenizer, special: specialIds(tokenizer), length: run.model.options.length };
  return { run, reader, framing, progress };
}

interface Report {
  readonly result: Readonly<Record<string, unknown>>;
  readonly text: string;
}

async function run(path: string, flags: Flags): Promise<void> {
  const asked = [flags.text, flags.conllu, flags.probe, flags.agreement].filter((each) => each !== undefined);
  if (asked.length > 1) {
    reject({ who: "depth", needed: "one of --text, --conllu, --probe and --agreement", got: `${asked.length}` }, 2);
  }
  const opened = await openForDepth(path, flags);
  try {
    const { result, text } = await reportOf(opened, flags);
    opened.progress.end();
    const all = { run: path, step: opened.run.step, cap: opened.reader.cap, ...result };
    process.stdout.write(`${flags.json ? JSON.stringify(all) : text}\n`);
  } finally {
    await opened.reader.release();
  }
}

async function reportOf(opened: Opened, flags: Flags): Promise<Report> {
  if (flags.text !== undefined) return sentenceReport(opened, flags.text, flags);
  if (flags.conllu !== undefined) return tagReport(opened, flags.conllu, flags);
  const { readAgreement, readProbe } = await import("../../text/probing/probing.ts");
  if (flags.probe !== undefined) return probeReport(opened, readProbe(flags.probe), flags);
  if (flags.agreement !== undefined) return probeReport(opened, readAgreement(flags.agreement), flags);
  return kindReport(opened, flags);
}

const round = (value: number) => Math.round(value * 1000) / 1000;
const depthTable = (rows: readonly DepthRow[], what: string) =>
  table(
    rows.map(({ name, tokens, mean, deviation, atCap }) => {
      return { [what]: name, tokens, iterations: round(mean), deviation: round(deviation), "at the cap": share(atCap) };
    }),
  );
const share = (value: number) => `${(100 * value).toFixed(1)} %`;

function traceTable(trace: readonly TraceRow[]): string {
  if (trace.length === 0) return "";
  const rows = trace.map(({ iteration, tokens, cosine }) => ({ iteration, tokens, cosine: round(cosine) }));
  return `\n\nsimilarity of successive states\n${table(rows)}`;
}

const ROWS = 16;

async function kindReport({ run, reader, framing, progress }: Opened, flags: Flags): Promise<Report> {
  const { PRETRAINING_DEFAULTS } = await import("../../text/masked/examples.ts");
  const { depthByKind } = await import("../../analysis/depth-analysis.ts");
  const { maskedTexts } = await import("../../tasks/pretrain/masked-texts.ts");
  const length = Math.min(framing.length, flags.length ?? Number(run.config.training?.length ?? 128));
  const predictions = Math.ceil(PRETRAINING_DEFAULTS.probability * length);
  const { corpus, batches: drawn } = await maskedTexts(run, { ...flags, rows: ROWS, length, predictions });
  const count = Math.min(drawn.count, Math.max(1, Math.round(flags.texts / ROWS)));
  const batches = Array.from({ length: count }, (_, i) => drawn.at(i));
  const found = await depthByKind(reader, batches, framing.tokenizer, framing.special, progress.at);
  const title = `${corpus.name}, ${count * ROWS} ${flags.split} texts of ${length} tokens, at most ${reader.cap} iterations`;
  const { rows: kinds, trace, tokens } = found;
  return {
    result: { corpus: corpus.name, split: flags.split, kinds, trace, tokens },
    text: `${title}\n\n${depthTable(kinds, "kind")}${traceTable(trace)}`,
  };
}

async function sentenceReport({ reader, framing }: Opened, text: string, flags: Flags): Promise<Report> {
  const { alignWords, plainWords } = await import("../../text/probing/alignment.ts");
  const { traceOf } = await import("../../analysis/depth-analysis.ts");
  const { htmlView, svgView, terminalView } = await import("../../pictures/depth-view.ts");
  const { tokenizer, special, length } = framing;
  const { ids, pieces } = alignWords(plainWords(text), tokenizer);
  const kept = ids.slice(0, length - 2);
  const read = await reader.read([{ ids: Int32Array.from([special.cls, ...kept, special.sep]) }]);
  const names = ["[CLS]", ...pieces.slice(0, length - 2), "[SEP]"];
  const tokens = names.map((piece, i) => ({ piece, depth: read[0]!.depths[i]! }));
  const trace = traceOf(read);
  await written(flags.html, htmlView([tokens], reader.cap, text));
  await written(flags.svg, svgView(tokens, reader.cap, text));
  const colours = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
  return {
    result: { text, tokens, trace },
    text: `${terminalView(tokens, reader.cap, colours)}${traceTable(trace)}`,
  };
}

async function written(file: string | undefined, content: string): Promise<void> {
  if (file === undefined) return;
  const { writeAtomically } = await import("../../files/atomic.ts");
  await writeAtomically(file, new TextEncoder().encode(content));
}

async function tagReport({ reader, framing, progress }: Opened, file: string, { texts }: Flags): Promise<Report> {
  const { readConllu } = await import("../../text/probing/conllu.ts");
  const { depthByTag } = await import("../../analysis/depth-analysis.ts");
  const found = await depthByTag(reader, readConllu(file).slice(0, texts), framing, progress.at);
  const { upos, deprel, trace } = found;
  const tables = [depthTable(upos, "part of speech"), depthTable(deprel, "relation")].join("\n\n");
  return { result: { ...found }, text: tables + traceTable(trace) };
}

async function probeReport(
  { reader, framing, progress }: Opened,
  sentences: Awaited<ReturnType<typeof import("../../text/probing/probing.ts")["readProbe"]>>,
  { texts, svg }: Flags,
): Promise<Report> {
  const { depthByProbe } = await import("../../analysis/depth-analysis.ts");
  const found = await depthByProbe(reader, sentences.slice(0, texts), framing, progress.at);
  if (found.distances.length > 0) await written(svg, await distancePlot(found));
  const parts = [
    `all pieces, by label\n${depthTable(found.labels, "label")}`,
    ...(found.masked.length > 0 ? [`the masked word, by label\n${depthTable(found.masked, "label")}`] : []),
    ...(found.distances.length > 0
      ? [`the masked verb, by distance to its subject\n${depthTable(found.distances, "distance")}`]
      : []),
  ];
  return { result: { ...found }, text: parts.join("\n\n") };
}

async function distancePlot({ distances }: ProbeAnalysis): Promise<string> {
  const { COLOURS, dotMark, lineMark, plotSvg } = await import("../../pictures/plot.ts");
  const points = distances.map(({ distance, mean }) => ({ x: distance, y: mean }));
  const axes = {
    title: "Iterations of the masked verb against the distance to its subject",
    x: { title: "distance in words", values: points.map(({ x }) => x) },
    y: { title: "mean iterations", values: points.map(({ y }) => y) },
  };
  return plotSvg(axes, (plot) => [
    lineMark(plot, points, COLOURS[0]),
    ...points.map((point, i) => dotMark(plot, point, COLOURS[0], `${distances[i]!.tokens} tokens`)),
  ]);
}
