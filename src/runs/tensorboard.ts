/** TensorBoard's event files: `Event` messages in TFRecord frames, one file per session of a run, appended to while training. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { LayerwiseError } from "../base/errors.ts";
import { writeAtomically } from "../files/atomic.ts";
import type { Picture } from "../format/png.ts";
import { ProtoReader, ProtoWriter } from "../format/protobuf.ts";
import { readRecords, writeRecords } from "../format/tfrecord.ts";
import type { StoredEvent } from "./event-log.ts";
import { isOfSettings, presentTag, type Shown, shownOf } from "./tensorboard-tags.ts";

// Field numbers of tensorflow/core/util/event.proto and framework/summary.proto.
const EVENT = { wallTime: 1, step: 2, fileVersion: 3, summary: 5, sessionLog: 7 };
const SESSION_LOG = { status: 1 };
const SESSION_START = 1;
const SUMMARY = { value: 1 };
const VALUE = { tag: 1, simpleValue: 2, image: 4, histogram: 5, tensor: 8, metadata: 9 };
const METADATA = { plugin: 1 };
const PLUGIN = { name: 1, content: 2 };
const TENSOR = { type: 1, shape: 2, floats: 5, strings: 8 };
const TYPE = { float: 1, string: 7 };
const SHAPE = { dimension: 2 };
const DIMENSION = { size: 1 };
const IMAGE = { height: 1, width: 2, colourSpace: 3, encoded: 4 };
const HISTOGRAM = { min: 1, max: 2, count: 3, sum: 4, sumOfSquares: 5, limit: 6, bucket: 7 };

const FILE_VERSION = "brain.Event:2";

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
  else if ("text" in shown) writeTensor(value, "text", new Uint8Array(), shown.text);
  else if ("plugin" in shown) writeTensor(value, shown.plugin, shown.content, null);
  else value.message(VALUE.image, (inner) => writePicture(inner, shown.picture, shown.png));
}

/** A tensor with a text, or with nothing, for a plug-in. */
function writeTensor(value: ProtoWriter, plugin: string, content: Uint8Array, text: string | null): void {
  value.message(VALUE.metadata, (metadata) =>
    metadata.message(METADATA.plugin, (data) => {
      data.string(PLUGIN.name, plugin);
      if (content.length > 0) data.bytes(PLUGIN.content, content);
    }),
  );
  value.message(VALUE.tensor, (tensor) => {
    tensor.integer(TENSOR.type, text === null ? TYPE.float : TYPE.string);
    tensor.message(TENSOR.shape, (shape) => {
      shape.message(SHAPE.dimension, (dimension) => dimension.integer(DIMENSION.size, 1));
    });
    if (text === null) tensor.float(TENSOR.floats, 0);
    else tensor.string(TENSOR.strings, text);
  });
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

/** Collects events and appends them to a file; nothing is written before `flush`. */
export class TensorBoardLog {
  readonly #folder: string;
  /** What is shown of a run's settings, at the top of every file. */
  readonly #about: () => readonly Shown[];
  /** Records that wait. */
  readonly #waiting: Uint8Array[] = [];
  /** The file being written. */
  #file: string | undefined;
  /** The last step of which π was shown: a step and its evaluation both tell of it. */
  #piStep = -1;

  constructor(folder: string, about: () => readonly Shown[] = () => []) {
    this.#folder = folder;
    this.#about = about;
  }

  add(event: StoredEvent): void {
    const shown = shownOf(event, event.step !== this.#piStep);
    if ("choices" in event) this.#piStep = event.step;
    if (shown.length > 0) this.show(event, shown);
  }

  /** Shows scalars, histograms, pictures or texts. */
  show(moment: Moment, shown: readonly Shown[]): void {
    this.#waiting.push(encodeSummary(moment, shown));
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    appendFileSync(this.#opened(), writeRecords(this.#waiting));
    this.#waiting.length = 0;
  }

  #opened(): string {
    if (this.#file) return this.#file;
    mkdirSync(this.#folder, { recursive: true });
    const path = newFile(this.#folder);
    appendFileSync(path, writeRecords([encodeVersion(Date.now()), ...this.#beginning()]));
    this.#file = path;
    return path;
  }

  #beginning(): Uint8Array[] {
    const about = this.#about();
    return about.length === 0 ? [] : [encodeSummary({ step: 0, timeMs: Date.now() }, about)];
  }

  /**
   * Replaces all files by a new one that holds exactly `events` and the drawings up to `step`, and goes on in it. Older versions wrote a folder
   * per split and other tags: all of it is written as it is now.
   */
  async rewrite(events: readonly StoredEvent[], step: number): Promise<void> {
    this.#waiting.length = 0;
    this.#piStep = -1;
    const old = eventFiles(this.#folder);
    for (const event of events) this.add(event);
    for (const path of old) this.#waiting.push(...drawingsIn(readFileSync(path), path, step));
    if (this.#waiting.length > 0) {
      const [path, nowMs] = [newFile(this.#folder), Date.now()];
      const records = [encodeVersion(nowMs), encodeRestart(nowMs), ...this.#beginning(), ...this.#waiting];
      await writeAtomically(path, writeRecords(records));
      this.#file = path;
      this.#waiting.length = 0;
    }
    for (const path of old) rmSync(path, { force: true });
    for (const folder of new Set(old.map((path) => dirname(path)))) removeIfEmpty(folder, this.#folder);
  }
}

function removeIfEmpty(folder: string, root: string): void {
  if (folder !== root && readdirSync(folder).length === 0) rmdirSync(folder);
}

/** The records of a file that hold drawings of steps up to `step`, under their present tags: events.jsonl lacks those. A kill may have cut the file short. */
export function drawingsIn(bytes: Uint8Array, path: string, step: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  try {
    for (const record of readRecords(bytes, path)) found.push(...drawingIn(record, path, step));
  } catch (error) {
    if (!(error instanceof LayerwiseError)) throw error;
  }
  return found;
}

/** The record with its drawings, or none. */
function drawingIn(record: Uint8Array, path: string, upTo: number): Uint8Array[] {
  const event = new ProtoReader(record, path);
  let [wallTime, step] = [0, 0];
  const values: Uint8Array[] = [];
  while (!event.done) {
    const { field, wire } = event.tag();
    if (field === EVENT.wallTime) wallTime = event.double();
    else if (field === EVENT.step) step = event.integer();
    else if (field === EVENT.summary) values.push(...drawnValues(event.message()));
    else event.skip(wire);
  }
  if (values.length === 0 || step > upTo) return [];
  const writer = new ProtoWriter().double(EVENT.wallTime, wallTime).integer(EVENT.step, step);
  return [
    writer
      .message(EVENT.summary, (summary) => {
        for (const value of values) summary.bytes(SUMMARY.value, value);
      })
      .finish(),
  ];
}

/** Fields of a value that are neither its tag nor a number. */
const DRAWN: readonly number[] = [VALUE.image, VALUE.histogram, VALUE.tensor, VALUE.metadata];

function* drawnValues(summary: ProtoReader): Generator<Uint8Array> {
  while (!summary.done) {
    summary.tag(); // always a value
    const [value, writer] = [summary.message(), new ProtoWriter()];
    let [tag, drawn] = ["", false];
    while (!value.done) {
      const { field, wire } = value.tag();
      if (field === VALUE.tag) {
        tag = presentTag(value.string());
        writer.string(VALUE.tag, tag);
      } else if (DRAWN.includes(field)) {
        writer.bytes(field, value.bytes());
        drawn = true;
      } else value.skip(wire);
    }
    if (drawn && !isOfSettings(tag)) yield writer.finish();
  }
}

let filesMade = 0;

/** TensorBoard reads a folder's files by name, so names begin with the time. */
function newFile(folder: string): string {
  const seconds = String(Math.floor(Date.now() / 1000)).padStart(10, "0");
  return join(folder, `events.out.tfevents.${seconds}.${hostname()}.${process.pid}.${filesMade++}`);
}

/** The event files of a TensorBoard folder; older versions have them in folders below it. */
export function eventFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile() && entry.name.includes("tfevents"));
  return files.map(({ parentPath, name }) => join(parentPath, name)).sort();
}
