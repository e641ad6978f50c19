/** Corpora: text in three parts, read line by line, in memory or behind an interface that files fulfil too. */
import { reject, rejectData } from "../base/errors.ts";
import { checkOptions } from "../base/options.ts";
import { sha256Of } from "../format/sha256.ts";

/** The part to train on, the one to choose by, and the one to report. */
export type Split = "train" | "valid" | "test";
/** All splits, in the order of their use. */
export const SPLITS: readonly Split[] = ["train", "valid", "test"];

/** Lines that can be read as often as needed. */
export interface CorpusText {
  lines(): Iterable<string>;
  /** What the content depends on: hashes, and which lines were taken. */
  identity(): Promise<readonly (string | number)[]>;
  /** The file it is in. Without one it is in memory, and nothing made from it is kept on disk. */
  readonly path?: string;
  /** Lines [from, to) of that file are its lines, as they are stored there. */
  readonly span?: { readonly from: number; readonly to: number };
  /** WikiText's form: headings begin articles, hyphens are written @-@. */
  readonly articles?: boolean;
  /** The text as it stands, line ends included, in pieces. Default: its lines, each with its end. */
  raw?(): Iterable<string>;
}

/** What a split is made of: texts one after another, or files of batches or tokens made from text. */
export type CorpusPart =
  | { readonly kind: "text"; readonly texts: readonly CorpusText[] }
  | { readonly kind: "records"; readonly paths: readonly string[] }
  | { readonly kind: "tokens"; readonly path: string };

/** A named text in up to three parts. */
export interface Corpus {
  readonly name: string;
  readonly parts: ReadonlyMap<Split, CorpusPart>;
  /** File of the tokenizer model that belongs to the data, if there is one. */
  readonly tokenizer?: string;
}

/** A part of a corpus in memory: its lines, or one string with line breaks. */
export type TextLines = string | Iterable<string>;

/** The parts of a corpus in memory; with `train` alone, its last tenth becomes the other two. */
export interface TextParts {
  readonly train: TextLines;
  readonly valid?: TextLines;
  readonly test?: TextLines;
}

/** A corpus in memory. With `train` alone, 90 % of its lines train, 5 % validate and 5 % test. */
export function textCorpus(parts: TextParts, name = "text"): Corpus {
  checkOptions(`corpus ${name}`, parts, SPLITS);
  if (parts.train === undefined) reject({ who: `corpus ${name}`, needed: "a train part", got: "none" }, 2);
  const given = SPLITS.flatMap((split) => {
    const lines = parts[split];
    return lines === undefined ? [] : [[split, linesFrom(lines, `corpus ${name} / ${split}`)] as const];
  });
  const all = given.length === 1 ? cut(given[0]![1], `corpus ${name}`) : given;
  return { name, parts: new Map(all.map(([split, lines]) => [split, { kind: "text", texts: [textOfLines(lines)] }])) };
}

function linesFrom(lines: TextLines, who: string): string[] {
  const cutLines = typeof lines === "string" ? linesOfText(lines) : [...lines].flatMap((line) => cutLine(line, who));
  if (cutLines.length === 0) rejectData({ who, needed: "at least one line", got: "none" });
  return cutLines;
}

/** A line that holds line breaks is several; an empty one stays, since it may part documents. */
function cutLine(line: unknown, who: string): string[] {
  if (typeof line !== "string") return reject({ who, needed: "lines that are strings", got: typeof line }, 2);
  return line === "" ? [""] : linesOfText(line);
}

/** The lines of a text without their ends (`\n` or `\r\n`), as files are read; a byte order mark at the start is dropped. */
export function linesOfText(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line, i) => {
    const [from, to] = [i === 0 && line.startsWith("\ufeff") ? 1 : 0, line.endsWith("\r") ? -1 : line.length];
    return line.slice(from, to);
  });
}

function textOfLines(lines: readonly string[]): CorpusText {
  return { lines: () => lines, identity: async () => [await sha256Of(lines.join("\n")), lines.length] };
}

function cut(lines: readonly string[], who: string): (readonly [Split, readonly string[]])[] {
  return cutPoints(lines.length, who).map(({ split, from, to }) => [split, lines.slice(from, to)]);
}

/** One text for all: the first 90 % of its lines train, the next 5 % validate, the last 5 % test; each gets one at least. */
export function cutPoints(lines: number, who: string): { split: Split; from: number; to: number }[] {
  if (lines < 3) {
    rejectData({ who, needed: "at least 3 lines of text to split", got: `${lines}`, remedy: "give a longer text" });
  }
  const validFrom = Math.min(lines - 2, Math.floor(lines * 0.9));
  const testFrom = Math.min(lines - 1, Math.max(validFrom + 1, Math.floor(lines * 0.95)));
  return partsBetween(0, validFrom, testFrom, lines);
}

/** The three parts between four points. */
export function partsBetween(
  ...points: [number, number, number, number]
): { split: Split; from: number; to: number }[] {
  return SPLITS.map((split, i) => ({ split, from: points[i]!, to: points[i + 1]! }));
}

/** The part of a corpus that a split names. */
export function partOf(corpus: Corpus, split: Split): CorpusPart {
  const part = corpus.parts.get(split);
  if (part) return part;
  return rejectData({
    who: `corpus ${corpus.name}`,
    needed: `a ${split} part`,
    got: `only ${[...corpus.parts.keys()].join(", ")}`,
  });
}

/** A split that has to be text. */
export function textsOf(corpus: Corpus, split: Split): readonly CorpusText[] {
  const part = partOf(corpus, split);
  if (part.kind === "text") return part.texts;
  return rejectData({
    who: `corpus ${corpus.name}`,
    needed: "text",
    got: `${part.kind === "records" ? "TFRecord batches" : "token files"}, which have no text any more`,
    remedy: "give the corpus they were made from",
  });
}

/** The same corpus read as it stands: each line with its end, as vocabularies of bytes want it. */
export function withLineEnds(corpus: Corpus): Corpus {
  const parts = [...corpus.parts].map(([split, part]): [Split, CorpusPart] => {
    return [split, part.kind === "text" ? { ...part, texts: part.texts.map(endedLines) } : part];
  });
  return { ...corpus, parts: new Map(parts) };
}

function endedLines({ span: _, ...text }: CorpusText): CorpusText {
  const ended = function* () {
    for (const line of text.lines()) yield `${line}\n`;
  };
  return {
    ...text,
    lines: () => text.raw?.() ?? ended(),
    identity: async () => [...(await text.identity()), "line ends"],
  };
}

/** Whether all of a part is in files, so that what is made from it may be kept on disk too. */
export function liesInFiles(part: CorpusPart): boolean {
  return part.kind !== "text" || part.texts.every(({ path }) => path !== undefined);
}

/** The lines of a split that is text. */
export function linesOf(corpus: Corpus, split: Split): Iterable<string> {
  const texts = textsOf(corpus, split);
  return {
    *[Symbol.iterator]() {
      for (const text of texts) yield* text.lines();
    },
  };
}

/** What the content of texts depends on, for caches and to tell one corpus from another. */
export async function identityOf(part: CorpusPart): Promise<(string | number)[]> {
  const texts = part.kind === "text" ? part.texts : [];
  return (await Promise.all(texts.map((text) => text.identity()))).flat();
}
