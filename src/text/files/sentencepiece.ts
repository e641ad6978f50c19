/** SentencePiece and files: lines as bytes from files or a stream, and training from text files to `.model` and `.vocab`. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { LayerwiseError, messageOf, rejectFile } from "../../base/errors.ts";
import { refuseExisting, writeAtomically } from "../../files/atomic.ts";
import type { Model } from "../sentencepiece/model.ts";
import { writeModel, writeVocabulary } from "../sentencepiece/model-writer.ts";
import { type ModelSummary, summarise } from "../sentencepiece/summary.ts";
import { TRAINING_DEFAULTS, type TrainingOptions } from "../sentencepiece/training/options.ts";
import { Trainer, type TrainingStep } from "../sentencepiece/training/trainer.ts";

const NEWLINE = 10;

/** A source of text: a file, or a stream such as `process.stdin` with a name for errors. */
export type TextSource = string | { name: string; stream: AsyncIterable<string | Uint8Array> };

/** Who wants to know how far things are. */
export interface TrainingWatch {
  /** After each line: how many bytes have been read. */
  onBytes?: (bytes: number) => void;
  onStep?: (step: TrainingStep) => void;
}

/** The lines of a source as bytes, cut at `\n` only; a last line without newline counts. */
export async function* byteLines(source: TextSource): AsyncGenerator<Uint8Array> {
  const stream = typeof source === "string" ? createReadStream(source, { highWaterMark: 1 << 20 }) : source.stream;
  let rest: Uint8Array[] = [];
  try {
    for await (const chunk of stream) {
      const block: Uint8Array = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      let start = 0;
      for (let end = block.indexOf(NEWLINE); end >= 0; end = block.indexOf(NEWLINE, start)) {
        const line = block.subarray(start, end);
        yield rest.length === 0 ? line : Buffer.concat([...rest, line]);
        rest = [];
        start = end + 1;
      }
      if (start < block.length) rest.push(block.subarray(start));
    }
  } catch (error) {
    throw unreadable(nameOf(source), error);
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}

function unreadable(name: string, error: unknown): unknown {
  const isSystemError = error instanceof Error && "code" in error && "syscall" in error;
  return isSystemError ? new LayerwiseError(`${name}: cannot be read (${messageOf(error)})`, 2) : error;
}

/** What a source is called in errors. */
export function nameOf(source: TextSource): string {
  return typeof source === "string" ? source : source.name;
}

/** How many bytes the sources hold, or undefined if one is a stream. */
export async function bytesIn(sources: readonly TextSource[]): Promise<number | undefined> {
  let bytes = 0;
  for (const source of sources) {
    if (typeof source !== "string") return undefined;
    bytes += await sizeOf(source);
  }
  return bytes;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** Trains on the lines of all sources. Text must be valid UTF-8; `\r` before a newline does not count as text. */
export async function trainOnText(
  sources: readonly TextSource[],
  options: Partial<TrainingOptions>,
  { onBytes = () => {}, onStep = () => {} }: TrainingWatch = {},
): Promise<Model> {
  const trainer = new Trainer({ ...TRAINING_DEFAULTS, ...options });
  let bytes = 0;
  for (const source of sources) {
    let number = 0;
    for await (const line of byteLines(source)) {
      trainer.add(trainingText(line, source, ++number));
      bytes += line.length + 1;
      onBytes(bytes);
    }
  }
  return trainer.finish(onStep);
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function trainingText(line: Uint8Array, source: TextSource, number: number): string {
  try {
    const text = strict.decode(line.at(-1) === 13 ? line.subarray(0, -1) : line);
    return number === 1 && text.startsWith("\ufeff") ? text.slice(1) : text;
  } catch {
    return rejectFile({
      who: `${nameOf(source)}: line ${number}`,
      needed: "UTF-8 text",
      got: "bytes that are not",
      remedy: "convert the file to UTF-8",
    });
  }
}

/** The two files of a model called `name`. */
export function modelFiles(name: string): { model: string; vocabulary: string } {
  const stem = name.replace(/\.model$/u, "");
  return { model: `${stem}.model`, vocabulary: `${stem}.vocab` };
}

/** Refuses names that are taken, unless `force`. */
export function refuseTaken(name: string, force: boolean): void {
  const { model, vocabulary } = modelFiles(name);
  for (const path of [model, vocabulary]) refuseExisting(path, force);
}

/** Writes NAME.vocab and then NAME.model, each whole or not at all. */
export async function saveModel(model: Model, name: string): Promise<void> {
  const files = modelFiles(name);
  await writeAtomically(files.vocabulary, writeVocabulary(model));
  await writeAtomically(files.model, writeModel(model));
}

/** A model that was trained and written, and what is in it. */
export interface SavedModel {
  readonly model: string;
  readonly vocabulary: string;
  readonly summary: ModelSummary;
}

/** Trains on text and writes NAME.model and NAME.vocab; names that are taken are refused before anything is read. */
export async function trainToFiles(
  sources: readonly TextSource[],
  name: string,
  options: Partial<TrainingOptions>,
  { force = false, ...watch }: TrainingWatch & { force?: boolean | undefined } = {},
): Promise<SavedModel> {
  refuseTaken(name, force);
  const model = await trainOnText(sources, options, watch);
  await saveModel(model, name);
  return { ...modelFiles(name), summary: summarise(model) };
}

const BLOCK_CHARACTERS = 1 << 16;

/** Turns each line of the sources, given with its place, into a line of text; what is written comes in blocks. */
export async function turnLines(
  sources: readonly TextSource[],
  turn: (line: Uint8Array, place: string) => string,
  write: (block: string) => Promise<void>,
): Promise<void> {
  let block = "";
  for (const source of sources) {
    let number = 0;
    for await (const line of byteLines(source)) {
      block += `${turn(line, `${nameOf(source)}: line ${++number}`)}\n`;
      if (block.length < BLOCK_CHARACTERS) continue;
      await write(block);
      block = "";
    }
  }
  await write(block);
}
