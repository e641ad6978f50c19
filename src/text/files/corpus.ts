/** Corpora by name or path: text in three parts, the original's TFRecord batches, or data that `layerwise data build` made. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { LayerwiseError, messageOf, reject } from "../../base/errors.ts";
import { type LineRange, readLines } from "../../files/lines.ts";
import { type ByteRange, characterFrom, readPieces } from "../../files/pieces.ts";
import {
  type Corpus,
  type CorpusPart,
  type CorpusText,
  cutPoints,
  linesOfText,
  partsBetween,
  SPLITS,
  type Split,
  textsOf,
} from "../corpus.ts";
import { glueTexts } from "../labelled/glue-examples.ts";
import { glueTask, glueTasks } from "../labelled/glue-tasks.ts";
import { defaultCacheFolder } from "./cache.ts";
import { glueFile, hasGlueFile } from "./glue.ts";
import { outlineOf } from "./outline.ts";
import { inNameOrder } from "./records.ts";

/** Lines of a file, and what they are. */
export interface TextFile extends LineRange {
  path: string;
  /** WikiText's form: headings begin articles, hyphens are written @-@. */
  articles?: boolean;
  /** Name of a GLUE task: the lines are its examples, of which only the texts count. */
  task?: string;
}

/** The lines of a file as part of a corpus, read when asked for. */
export function fileText({ path, articles, task, ...range }: TextFile): CorpusText {
  const { from = 0, to = -1 } = range;
  return {
    path,
    ...(articles === undefined ? {} : { articles }),
    lines: () => {
      const lines = readLines(path, range);
      return task === undefined ? lines : glueTexts(lines, glueTask(task), { source: path, first: from });
    },
    ...(task === undefined && !range.lossy ? { span: { from, to: range.to ?? Infinity } } : {}),
    identity: async () => [(await outlineOf(path)).sha256, from, to, ...(task === undefined ? [] : [task])],
  };
}

const textPart = (...files: readonly TextFile[]): CorpusPart => ({ kind: "text", texts: files.map(fileText) });

/** Where a corpus is looked for and fetched from. */
export interface CorpusOptions {
  /** Folder of datasets; LAYERWISE_DATA, or a folder in the cache, if not given. */
  data?: string | undefined;
  /** Address to fetch from instead of the publisher's. */
  from?: string | undefined;
  /** Told when something is fetched. */
  say?: ((message: string) => void) | undefined;
}

/** The corpus that comes with the package. */
export const DEFAULT_CORPUS = "books";
const EMBEDDED = fileURLToPath(new URL("../../../corpus/", import.meta.url));

/**
 * Opens `books` (embedded), `wikitext-2` (fetched if need be), a dataset under `data` (`glue/SST-2`), a text file, a folder, or several
 * of them with commas between, one after another.
 */
export async function openCorpus(nameOrPath = DEFAULT_CORPUS, options: CorpusOptions = {}): Promise<Corpus> {
  if (nameOrPath.includes(",") && !existsSync(nameOrPath)) return openSeveral(nameOrPath.split(","), options);
  if (nameOrPath === DEFAULT_CORPUS) return openFolder(join(EMBEDDED, nameOrPath), nameOrPath);
  const data = dataFolder(options.data);
  if (nameOrPath === "wikitext-2") return openWikiText(data, options);
  const place = [nameOrPath, join(data, nameOrPath)].find((path) => existsSync(path) || batchFolders(path).length > 0);
  if (place === undefined) rejectMissing(nameOrPath, data);
  if (!existsSync(place)) return openBatchFolders(place, basename(place));
  if (statSync(place).isDirectory()) return openFolder(place, basename(resolve(place)));
  return isBatchFile(place) ? openBatchFiles(dirname(resolve(place)), [place]) : openFile(place);
}

/** Where datasets lie: what was asked for, LAYERWISE_DATA, or a folder in the cache. */
export function dataFolder(asked?: string): string {
  return asked ?? (process.env.LAYERWISE_DATA || join(defaultCacheFolder(), "data"));
}

function rejectMissing(name: string, data: string): never {
  reject(
    {
      who: "corpus",
      needed: `${DEFAULT_CORPUS}, wikitext-2, a text file, or a folder with train.txt, valid.txt and test.txt`,
      got: `${name}, which is neither here nor under ${data}`,
      remedy: "check the spelling, or say with --data DIR where datasets lie",
    },
    2,
  );
}

async function openWikiText(data: string, { say, from }: CorpusOptions): Promise<Corpus> {
  const folder = join(data, "wikitext-2");
  if (!existsSync(join(folder, "train.txt"))) {
    say?.(`fetching wikitext-2 into ${folder}`);
    const { fetchDataset } = await import("./datasets.ts"); // seldom needed, and it loads downloading and unpacking
    await fetchDataset("wikitext-2", { data, ...(from === undefined ? {} : { from }) }).catch((error) =>
      rejectFetch(folder, error),
    );
  }
  const { parts, ...corpus } = await openFolder(folder, "wikitext-2");
  return { ...corpus, parts: new Map([...parts].map(([split, part]) => [split, withArticles(part)])) };
}

const withArticles = (part: CorpusPart): CorpusPart =>
  part.kind === "text" ? { ...part, texts: part.texts.map((text) => ({ ...text, articles: true })) } : part;

/** Texts of several corpora; each split has those that have it. */
async function openSeveral(names: readonly string[], options: CorpusOptions): Promise<Corpus> {
  const all: Corpus[] = [];
  for (const name of names) all.push(await openCorpus(name.trim(), options));
  const parts = SPLITS.map((split) => [split, all.flatMap((each) => textsIn(each, split))] as const);
  const filled = parts.filter(([, texts]) => texts.length > 0);
  return {
    name: all.map(({ name }) => name).join("+"),
    parts: new Map(filled.map(([split, texts]) => [split, { kind: "text", texts }])),
  };
}

const textsIn = (corpus: Corpus, split: Split): readonly CorpusText[] =>
  corpus.parts.has(split) ? textsOf(corpus, split) : [];

function rejectFetch(folder: string, error: unknown): never {
  const [reason] = messageOf(error).split(";");
  throw new LayerwiseError(
    `wikitext-2 is not in ${folder} and could not be fetched: ${reason}. Put train.txt, valid.txt and test.txt there, say with --data DIR or LAYERWISE_DATA where it lies, or use the embedded corpus: --corpus ${DEFAULT_CORPUS}`,
    1,
    { cause: error },
  );
}

async function openFile(path: string): Promise<Corpus> {
  const name = basename(path, extname(path));
  const { lines } = await outlineOf(path);
  return { name, parts: isStream(path, lines) ? streamParts(path) : await cut({ path }) };
}

/** Texts that are cut by bytes as is customary for them, and those that are one long line. */
const isStream = (path: string, lines: number) =>
  /^(text8|enwik[89])(\.txt|\.xml)?$/i.test(basename(path)) || (lines < 3 && statSync(path).size >= SHORTEST_STREAM);

/** A shorter text of one or two lines is a mistake rather than a stream. */
const SHORTEST_STREAM = 1000;

/** The first 90 % of the bytes, 5 % and 5 %, each cut moved to the next character. */
function streamParts(path: string): Map<Split, CorpusPart> {
  const { size } = statSync(path);
  const at = (part: number) => characterFrom(path, Math.floor(size * part));
  return new Map(
    partsBetween(0, at(0.9), at(0.95), size).map(({ split, from, to }) => {
      return [split, { kind: "text", texts: [streamText(path, { from, to })] }];
    }),
  );
}

/** Bytes [from, to) of a file as a text: pieces end behind a line's end or a space. */
function streamText(path: string, range: ByteRange): CorpusText {
  return {
    path,
    raw: () => readPieces(path, range),
    lines: function* () {
      for (const piece of readPieces(path, range)) yield* linesOfText(piece);
    },
    identity: async () => [(await outlineOf(path)).sha256, "bytes", range.from, range.to],
  };
}

/** One text file, cut into three parts. */
async function cut({ from: first = 0, ...file }: TextFile): Promise<Map<Split, CorpusPart>> {
  const { lines } = await outlineOf(file.path);
  const points = cutPoints(lines - first, file.path);
  return new Map(
    points.map(({ split, from, to }) => [split, textPart({ ...file, from: first + from, to: first + to })]),
  );
}

/** The folder of a GLUE task: texts of its training examples alone; those to be judged by stay unseen. */
async function openTask(folder: string): Promise<Corpus | undefined> {
  const task = [...glueTasks.values()].find(({ folders }) => folders.includes(basename(resolve(folder))));
  if (!task || !hasGlueFile(task, "train", folder)) return undefined;
  const path = glueFile(task, "train", folder);
  return { name: task.name, parts: await cut({ path, task: task.name, from: task.train.header === false ? 0 : 1 }) };
}

/** A folder with train.txt …, train.tokens …, `<name>_train/*.tfrecords` …, or a GLUE task's train.tsv. */
async function openFolder(folder: string, name: string): Promise<Corpus> {
  const parts = filesOf(folder, "txt") ?? filesOf(folder, "tokens");
  if (parts) return { name, parts, ...modelIn(folder) };
  const task = await openTask(folder);
  if (task) return task;
  const files = batchFilesIn(folder);
  if (files.length > 0) return openBatchFiles(resolve(folder), files);
  const names = batchNames(folder);
  if (names.length === 1) return openBatchFolders(join(folder, names[0]!), names[0]!);
  return reject(
    {
      who: folder,
      needed: "train.txt, valid.txt and test.txt, or folders NAME_train, NAME_valid, NAME_test with .tfrecords files",
      got: names.length > 1 ? `batches of ${names.join(", ")}` : "neither",
      ...(names.length > 1 ? { remedy: `choose one: ${join(folder, names[0]!)}` } : {}),
    },
    2,
  );
}

function filesOf(folder: string, extension: "txt" | "tokens"): Map<Split, CorpusPart> | undefined {
  const part = (path: string): CorpusPart => (extension === "txt" ? textPart({ path }) : { kind: "tokens", path });
  const paths = SPLITS.map((split) => [split, join(folder, `${split}.${extension}`)] as const);
  const there = paths.filter(([, path]) => existsSync(path));
  return there.length > 0 ? new Map(there.map(([split, path]) => [split, part(path)])) : undefined;
}

function modelIn(folder: string): { tokenizer?: string } {
  const path = join(folder, "tokenizer.model");
  return existsSync(path) ? { tokenizer: path } : {};
}

/** The names NAME of which a folder holds NAME_train, NAME_valid or NAME_test with batches. */
function batchNames(folder: string): string[] {
  const names = readdirSync(folder).map((entry) => /^(.+)_(?:train|valid|test)$/.exec(entry)?.[1]);
  return [...new Set(names)].filter(
    (name) => name !== undefined && batchFolders(join(folder, name)).length > 0,
  ) as string[];
}

/** The splits that exist as `<stem>_<split>` folders with batch files. */
function batchFolders(stem: string): [Split, string[]][] {
  return SPLITS.map((split): [Split, string[]] => [split, batchFilesIn(`${stem}_${split}`)]).filter(
    ([, paths]) => paths.length > 0,
  );
}

const isBatchFile = (name: string) => /\.tfrecords?$/.test(name);

function batchFilesIn(folder: string): string[] {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return [];
  const files = readdirSync(folder).filter(isBatchFile);
  return inNameOrder(files.map((name) => join(folder, name)));
}

/** Batch files without their neighbours: the folder's name says which split they are, or they train. */
function openBatchFiles(folder: string, paths: string[]): Corpus {
  const [, name, split] = /^(.*?)(?:[-_](train|valid|test))?$/.exec(basename(folder))!;
  return {
    name: name!,
    parts: new Map([[(split ?? "train") as Split, { kind: "records", paths }]]),
    ...modelIn(dirname(folder)),
  };
}

function openBatchFolders(stem: string, name: string): Corpus {
  const parts = batchFolders(stem).map(([split, paths]): [Split, CorpusPart] => [split, { kind: "records", paths }]);
  return { name, parts: new Map(parts), ...modelIn(dirname(stem)) };
}
