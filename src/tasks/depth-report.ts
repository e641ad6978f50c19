/** What there is to say about the depths of a run's tokens: tables for people, the same as data, and pictures of sentences. */
import { reject } from "../base/errors.ts";
import { table } from "../base/table.ts";
import { type DepthRow, depthTable, type TraceRow, traceTable } from "../depth/tally.ts";
import type { Split } from "../text/corpus.ts";
import type { ProbeSentence } from "../text/probing/probing.ts";
import type { LanguageRun } from "./language/uses.ts";
import type { AnyRun } from "./run.ts";

/** A run that can tell how deep its tokens ran. */
export type DepthRun = Extract<AnyRun, { readonly depths: unknown }>;
/** One of an ALBERT, which also tells by tag and by probe. */
export type AlbertDepthRun = Extract<DepthRun, { readonly depthsByKind: unknown }>;

/** A report: as data, in words, and as pictures where it is about one text or about distances. */
export interface DepthReport {
  readonly data: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly html?: string;
  readonly svg?: string;
}

/** Which texts a report reads, and who hears how many are done. */
export interface DepthReading {
  readonly split?: Split | undefined;
  /** Most texts or sentences. Default: 512. */
  readonly texts?: number | undefined;
  readonly onText?: ((done: number) => void) | undefined;
}

/** Which text of an ALBERT's: masked, of its own corpus or of another. */
export interface MaskedReading extends DepthReading {
  readonly corpus?: string | undefined;
  readonly data?: string | undefined;
  /** Tokens of a text. Default: as in training, at most 128. */
  readonly length?: number | undefined;
}

const capOf = ({ model }: DepthRun) => model.policy.depth;

const similarity = (trace: readonly TraceRow[]) =>
  trace.length === 0 ? "" : `\n\nsimilarity of successive states\n${traceTable(trace)}`;

/** The trace of each kind, an iteration a row. */
function byKind(traces: Readonly<Record<string, readonly TraceRow[]>>): string {
  const most = Math.max(0, ...Object.values(traces).map((trace) => trace.length));
  if (most === 0) return "";
  const rows = Array.from({ length: most }, (_, i) => ({
    iteration: i + 1,
    ...Object.fromEntries(Object.entries(traces).map(([kind, trace]) => [kind, trace[i]?.cosine.toFixed(3) ?? ""])),
  }));
  return `\n\nthe same by kind\n${table(rows)}`;
}

const tables = (...parts: readonly (readonly [title: string, rows: readonly DepthRow[], column: string])[]) =>
  parts
    .filter(([, rows]) => rows.length > 0)
    .map(([title, rows, column]) => `${title}${title && "\n"}${depthTable(rows, column)}`)
    .join("\n\n");

/** An ALBERT's masked text by kind of token, and the similarity trace. */
export async function kindReport(run: AlbertDepthRun, reading: MaskedReading = {}): Promise<DepthReport> {
  const { split = "valid", onText } = reading;
  const text = { corpus: reading.corpus, data: reading.data, split, texts: reading.texts, length: reading.length };
  const { corpus, texts, length, kinds, trace, traces, tokens } = await run.depthsByKind({ ...text, onText });
  const title = `${corpus}, ${texts} ${split} texts of ${length} tokens, at most ${capOf(run)} iterations`;
  const data = { corpus, split, kinds, trace, traces, tokens };
  return { data, text: `${title}\n\n${depthTable(kinds, "kind")}${similarity(trace)}${byKind(traces)}` };
}

/** A language model's text by kind of word and by surprise. */
export async function wordReport(
  run: LanguageRun,
  { split = "valid", texts, onText }: DepthReading = {},
): Promise<DepthReport> {
  const { kinds, surprises, tokens } = await run.depthsByWord({ split, texts, onText });
  const title = `${tokens.length} tokens of ${split} texts, at most ${capOf(run)} blocks`;
  const rows = tables(["", kinds, "kind"], ["", surprises, "surprise of the next token"]);
  return { data: { split, kinds, surprises, tokens }, text: `${title}\n\n${rows}` };
}

/** How a sentence by depth is written for a terminal. */
export interface DepthText {
  /** Depths in 24-bit colours, not only as figures. Default: false. */
  readonly colours?: boolean | undefined;
  /** Lines are broken between words so that they fit. Default: one line. */
  readonly columns?: number | undefined;
}

/** One text, darker where it is deeper. */
export async function textReport(run: DepthRun, text: string, how: DepthText = {}): Promise<DepthReport> {
  const { traceOf } = await import("../analysis/depth-analysis.ts");
  const found = await run.depths(text);
  const tokens = found.map(({ piece, depth }) => ({ piece, depth }));
  const trace = traceOf(found.map(({ cosines }) => cosines));
  const views = await viewsOf(tokens, capOf(run), text, how);
  return { data: { text, tokens, trace }, ...views, text: `${views.text}${similarity(trace)}` };
}

/** The text that a language model writes after a prompt, darker where it is deeper. */
export async function continuedReport(
  run: LanguageRun,
  prompt: string,
  { tokens: maxTokens = 60, ...how }: DepthText & { readonly tokens?: number | undefined } = {},
): Promise<DepthReport> {
  const [tokens, cap]: [WrittenToken[], number] = [[], capOf(run)];
  const writer = await run.writer();
  for await (const { text, id, depth = cap, probability } of writer.write({ prompt, maxTokens, temperature: 0 })) {
    if (id !== undefined) tokens.push({ piece: text, depth, probability });
  }
  await writer.release();
  return { data: { prompt, tokens }, ...(await viewsOf(tokens, cap, prompt, how)) };
}

interface WrittenToken {
  readonly piece: string;
  readonly depth: number;
  readonly probability?: number | undefined;
}

async function viewsOf(
  tokens: readonly WrittenToken[],
  cap: number,
  title: string,
  { colours = false, columns }: DepthText,
) {
  const { htmlView, sentenceLines, svgView, terminalView } = await import("../pictures/depth-view.ts");
  const lines = columns === undefined ? [tokens] : sentenceLines(tokens, columns);
  return {
    text: lines.map((line) => terminalView(line, cap, colours)).join("\n"),
    html: htmlView([tokens], cap, title),
    svg: svgView(tokens, cap, title),
  };
}

/** Sentences of a treebank (CoNLL-U) by part of speech and relation. */
export async function tagReport(
  run: AlbertDepthRun,
  file: string,
  { texts = 512, onText }: DepthReading = {},
): Promise<DepthReport> {
  const { readConllu } = await import("../text/files/probing.ts");
  const found = await run.depthsByTag(readConllu(file).slice(0, texts), { onText });
  const rows = tables(["", found.upos, "part of speech"], ["", found.deprel, "relation"]);
  return { data: { ...found }, text: rows + similarity(found.trace) };
}

/** How well a linear classifier reads the labels of probing sentences out of frozen states, depth by depth. */
export async function classifyReport(
  run: AlbertDepthRun,
  sentences: readonly ProbeSentence[],
  { texts = 512, onText }: DepthReading = {},
): Promise<DepthReport> {
  const found = await run.probeByDepth(sentences.slice(0, texts), { onText });
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  const { classes, trained, judged, commonest, depths } = found;
  const title = `${classes.length} labels, ${trained} sentences to learn from, ${judged} to judge by; commonest label ${percent(commonest)}`;
  const rows = depths.map(({ depth, accuracy, training }) => ({
    depth,
    accuracy: percent(accuracy),
    "of those learnt": percent(training),
  }));
  return { data: { ...found }, text: `${title}\n\n${table(rows)}` };
}

/** Probing sentences by label and, where a verb is masked, by its distance to the subject. */
export async function probeReport(
  run: AlbertDepthRun,
  sentences: readonly ProbeSentence[],
  { texts = 512, onText }: DepthReading = {},
): Promise<DepthReport> {
  const { distanceSvg } = await import("../pictures/distance-picture.ts");
  const found = await run.depthsByProbe(sentences.slice(0, texts), { onText });
  const { labels, masked, distances, intervening } = found;
  const text = tables(
    ["all pieces, by label", labels, "label"],
    ["the masked word, by label", masked, "label"],
    ["the masked verb, by distance to its subject", distances, "distance"],
    ["the masked verb, by nouns of the other number between", intervening, "nouns"],
  );
  return { data: { ...found }, text, ...(distances.length > 0 ? { svg: distanceSvg(distances) } : {}) };
}

/** What a report is asked about: one of the texts or files below; without them the run's own text. */
export interface DepthQuestion extends MaskedReading, DepthText {
  /** One text, darker where it is deeper. */
  readonly text?: string | undefined;
  /** A text that a language model goes on with, by so many `tokens` (default: 60). */
  readonly continue?: string | undefined;
  readonly tokens?: number | undefined;
  /** A treebank in CoNLL-U. */
  readonly conllu?: string | undefined;
  /** Sentences with labels, in SentEval's form; `classify` trains a linear classifier of them at each depth. */
  readonly probe?: string | undefined;
  readonly classify?: boolean | undefined;
  /** Subject–verb agreement with distances. */
  readonly agreement?: string | undefined;
}

/** What a language model is not asked. */
const ofAlberts = ["conllu", "probe", "agreement", "corpus", "length"] as const;

/** The report that answers a question; one that the run cannot answer is refused, its options `called` as the asker knows them. */
export async function depthReport(
  run: DepthRun,
  asked: DepthQuestion,
  called: (option: string) => string = (option) => option,
): Promise<DepthReport> {
  const { text, continue: prompt, conllu, probe, agreement } = asked;
  if (text !== undefined) return textReport(run, text, asked);
  if ("depthsByWord" in run) {
    const stranger = ofAlberts.find((name) => asked[name]);
    const remedy = "leave it out: words are told apart by their letters";
    if (stranger)
      reject({ who: called(stranger), needed: "a run of pretrain, import or glue", got: run.kind, remedy }, 2);
    return prompt === undefined ? wordReport(run, asked) : continuedReport(run, prompt, asked);
  }
  if (prompt !== undefined) {
    const remedy = `give ${called("text")}`;
    reject({ who: called("continue"), needed: "a run of train", got: `one of kind ${run.kind}`, remedy }, 2);
  }
  if (conllu !== undefined) return tagReport(run, conllu, asked);
  const { readAgreement, readProbe } = await import("../text/files/probing.ts");
  if (probe !== undefined) return (asked.classify ? classifyReport : probeReport)(run, readProbe(probe), asked);
  return agreement === undefined ? kindReport(run, asked) : probeReport(run, readAgreement(agreement), asked);
}
