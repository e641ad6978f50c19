/** TensorBoard's event files: `Event` messages in TFRecord frames, one folder a split, appended to while training. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { LayerwiseError } from "../base/errors.ts";
import { writeAtomically } from "../files/atomic.ts";
import type { Picture } from "../format/png.ts";
import { ProtoReader, ProtoWriter } from "../format/protobuf.ts";
import { readRecords, writeRecords } from "../format/tfrecord.ts";
import type { LoggedEvent, StoredEvent } from "./event-log.ts";

// Field numbers of tensorflow/core/util/event.proto and framework/summary.proto.
const EVENT = { wallTime: 1, step: 2, fileVersion: 3, summary: 5, sessionLog: 7 };
const SESSION_LOG = { status: 1 };
const SESSION_START = 1;
const SUMMARY = { value: 1 };
const VALUE = { tag: 1, simpleValue: 2, image: 4, histogram: 5 };
const IMAGE = { height: 1, width: 2, colourSpace: 3, encoded: 4 };
const HISTOGRAM = { min: 1, max: 2, count: 3, sum: 4, sumOfSquares: 5, limit: 6, bucket: 7 };

const FILE_VERSION = "brain.Event:2";

/** A named drawing of a step. */
export type Drawing =
  | { readonly tag: string; readonly histogram: Float32Array }
  // Whoever draws brings the PNG, so that a run without pictures loads no encoder.
  | { readonly tag: string; readonly picture: Omit<Picture, "data">; readonly png: Uint8Array };

/** Anything TensorBoard can show of a step. */
export type Shown = Drawing | { readonly tag: string; readonly scalar: number };

/** When something is shown. */
export interface Moment {
  readonly step: number;
  readonly timeMs: number;
}

/** An `Event` message with a summary. */
export function encodeSummary({ step, timeMs }: Moment, shown: readonly Shown[]): Uint8Array<ArrayBuffer> {
  return new ProtoWriter()
    .double(EVENT.wallTime, timeMs / 1000)
    .integer(EVENT.step, step)
    .message(EVENT.summary, (summary) => {
      for (const each of shown) summary.message(SUMMARY.value, (value) => writeValue(value, each));
    })
    .finish();
}

function writeValue(value: ProtoWriter, shown: Shown): void {
  value.string(VALUE.tag, shown.tag);
  if ("scalar" in shown) value.float(VALUE.simpleValue, shown.scalar);
  else if ("histogram" in shown) value.message(VALUE.histogram, (inner) => writeHistogram(inner, shown.histogram));
  else value.message(VALUE.image, (inner) => writePicture(inner, shown.picture, shown.png));
}

const BUCKETS = 30;

/** Thirty buckets of equal width between the extremes; values that are not finite are left out. */
function writeHistogram(writer: ProtoWriter, values: Float32Array): void {
  const finite = values.filter(Number.isFinite);
  const min = finite.reduce((least, value) => Math.min(least, value), finite[0] ?? 0);
  const max = finite.reduce((most, value) => Math.max(most, value), finite[0] ?? 0);
  const width = (max - min) / BUCKETS || 1;
  const buckets = new Array<number>(BUCKETS).fill(0);
  for (const value of finite) buckets[Math.min(BUCKETS - 1, Math.floor((value - min) / width))]!++;
  writer.double(HISTOGRAM.min, min).double(HISTOGRAM.max, max).double(HISTOGRAM.count, finite.length);
  writer.double(
    HISTOGRAM.sum,
    finite.reduce((sum, value) => sum + value, 0),
  );
  writer.double(
    HISTOGRAM.sumOfSquares,
    finite.reduce((sum, value) => sum + value * value, 0),
  );
  for (let i = 0; i < BUCKETS; i++) writer.double(HISTOGRAM.limit, min + width * (i + 1));
  for (const count of buckets) writer.double(HISTOGRAM.bucket, count);
}

function writePicture(writer: ProtoWriter, picture: Omit<Picture, "data">, png: Uint8Array): void {
  writer.integer(IMAGE.height, picture.height).integer(IMAGE.width, picture.width);
  writer.integer(IMAGE.colourSpace, picture.palette ? 3 : picture.channels).bytes(IMAGE.encoded, png);
}

/** The first message of every file. */
function encodeVersion(timeMs: number): Uint8Array<ArrayBuffer> {
  return new ProtoWriter()
    .double(EVENT.wallTime, timeMs / 1000)
    .string(EVENT.fileVersion, FILE_VERSION)
    .finish();
}

/** Tells a TensorBoard that is watching to forget what it read from older files of this folder. */
function encodeRestart(timeMs: number): Uint8Array<ArrayBuffer> {
  return new ProtoWriter()
    .double(EVENT.wallTime, timeMs / 1000)
    .message(EVENT.sessionLog, (log) => log.integer(SESSION_LOG.status, SESSION_START))
    .finish();
}

/** What an event shows, and in which of TensorBoard's runs; nothing for an end. */
export function shownOf(event: LoggedEvent): { run: string; shown: Shown[] } | undefined {
  if (event.type === "end") return undefined;
  const figures = event.type === "step" ? stepFigures(event) : evaluationFigures(event);
  const shown = Object.entries(figures).map(([tag, scalar]) => ({ tag, scalar }));
  return { run: event.type === "step" ? "train" : event.split, shown };
}

function stepFigures(event: LoggedEvent & { type: "step" }): Record<string, number> {
  return {
    loss: event.loss,
    perplexity: Math.exp(event.loss),
    learning_rate: event.learningRate,
    gradient_norm: event.gradientNorm,
    tokens_per_second: event.tokensPerSecond,
    ...event.scalars,
  };
}

function evaluationFigures(event: LoggedEvent & { type: "evaluation" }): Record<string, number> {
  return {
    loss: event.loss,
    ...(event.perplexity === undefined ? {} : { perplexity: event.perplexity }),
    ...(event.perplexityPerWord === undefined ? {} : { perplexity_per_word: event.perplexityPerWord }),
    ...(event.bitsPerByte === undefined ? {} : { bits_per_byte: event.bitsPerByte }),
    ...event.scalars,
  };
}

/** Collects events and appends them to one file a run; nothing is written before `flush`. */
export class TensorBoardLog {
  readonly #folder: string;
  /** Records that wait, by run. */
  readonly #waiting = new Map<string, Uint8Array[]>();
  /** The file being written, by run. */
  readonly #files = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  add(event: StoredEvent): void {
    const what = shownOf(event);
    if (what) this.show(what.run, event, what.shown);
  }

  /** Shows scalars, histograms or pictures in the given run (`train`, `valid`). */
  show(run: string, moment: Moment, shown: readonly Shown[]): void {
    this.#keep(run, [encodeSummary(moment, shown)]);
  }

  #keep(run: string, records: readonly Uint8Array[]): void {
    const waiting = this.#waiting.get(run) ?? [];
    this.#waiting.set(run, waiting);
    for (const record of records) waiting.push(record);
  }

  flush(): void {
    for (const [run, records] of this.#waiting) {
      if (records.length === 0) continue;
      appendFileSync(this.#fileOf(run), writeRecords(records));
      records.length = 0;
    }
  }

  #fileOf(run: string): string {
    const known = this.#files.get(run);
    if (known) return known;
    const path = newFile(this.#folder, run);
    mkdirSync(join(this.#folder, run), { recursive: true });
    appendFileSync(path, writeRecords([encodeVersion(Date.now())]));
    this.#files.set(run, path);
    return path;
  }

  /** Replaces all files by new ones that hold exactly `events` and the drawings up to `step`, and goes on in them. */
  async rewrite(events: readonly StoredEvent[], step: number): Promise<void> {
    this.#waiting.clear();
    const old = eventFiles(this.#folder);
    for (const event of events) this.add(event);
    for (const path of old) this.#keep(basename(dirname(path)), drawingsIn(readFileSync(path), path, step));
    for (const [run, records] of this.#waiting) {
      if (records.length === 0) continue;
      const path = newFile(this.#folder, run);
      const nowMs = Date.now();
      await writeAtomically(path, writeRecords([encodeVersion(nowMs), encodeRestart(nowMs), ...records]));
      this.#files.set(run, path);
      records.length = 0;
    }
    for (const path of old) rmSync(path, { force: true });
  }
}

/** The records of a file that hold drawings of steps up to `step`: events.jsonl lacks those. A kill may have cut the file short. */
export function drawingsIn(bytes: Uint8Array, path: string, step: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  try {
    for (const record of readRecords(bytes, path)) if (isDrawing(record, path, step)) found.push(record);
  } catch (error) {
    if (!(error instanceof LayerwiseError)) throw error;
  }
  return found;
}

function isDrawing(record: Uint8Array, path: string, upTo: number): boolean {
  const event = new ProtoReader(record, path);
  let drawn = false;
  while (!event.done) {
    const { field, wire } = event.tag();
    if (field === EVENT.step && event.integer() > upTo) return false;
    if (field === EVENT.summary) drawn = holdsDrawing(event.message());
    else if (field !== EVENT.step) event.skip(wire);
  }
  return drawn;
}

function holdsDrawing(summary: ProtoReader): boolean {
  while (!summary.done) {
    summary.tag(); // always a value
    const value = summary.message();
    while (!value.done) {
      const { field, wire } = value.tag();
      if (field === VALUE.image || field === VALUE.histogram) return true;
      value.skip(wire);
    }
  }
  return false;
}

let filesMade = 0;

/** TensorBoard reads a folder's files by name, so names begin with the time. */
function newFile(folder: string, run: string): string {
  const seconds = String(Math.floor(Date.now() / 1000)).padStart(10, "0");
  return join(folder, run, `events.out.tfevents.${seconds}.${hostname()}.${process.pid}.${filesMade++}`);
}

/** The event files of all runs under a TensorBoard folder. */
export function eventFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile() && entry.name.includes("tfevents"));
  return files.map(({ parentPath, name }) => join(parentPath, name)).sort();
}
