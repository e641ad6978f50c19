/** The original's batch files: TFRecords whose one feature `batch` is a serialised int32 tensor [rows, window]. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { rejectFile } from "../../base/errors.ts";
import { Allowance, type ReadLimits } from "../../format/limits.ts";
import {
  decodeExample,
  decodeIntTensor,
  encodeExample,
  encodeIntTensor,
  type IntTensor,
} from "../../format/tfexample.ts";
import { readRecords, writeRecords } from "../../format/tfrecord.ts";
import {
  type BatchOptions,
  type BatchSource,
  indexedSource,
  planContext,
  streamOf,
  type TokenStream,
} from "../batches.ts";

/** Bytes of memory that a tensor takes besides its numbers. */
const TENSOR_BYTES = 300;

/** Batches of one file: `data` is [count, rows, window]. */
export interface BatchFile {
  source: string;
  rows: number;
  window: number;
  count: number;
  data: Int32Array;
}

/** Parses one file; all its batches must have one shape. */
export function decodeBatchFile(bytes: Uint8Array, source: string, limits: ReadLimits = {}): BatchFile {
  const allowance = new Allowance(source, bytes.length, limits);
  const tensors: IntTensor[] = [];
  for (const record of readRecords(bytes, source))
    tensors.push(decodeBatch(record, allowance, `${source}: record ${tensors.length}`));
  const first = tensors[0];
  if (!first) rejectFile({ who: source, needed: "at least one batch", got: "an empty file" });
  const [rows, window] = first.shape as [number, number];
  const odd = tensors.findIndex(({ shape }) => shape[0] !== rows || shape[1] !== window);
  if (odd >= 0) rejectShape(`${source}: record ${odd}`, [rows, window], tensors[odd]!.shape);
  const data = new Int32Array(tensors.length * rows * window);
  tensors.forEach((tensor, i) => {
    data.set(tensor.data, i * rows * window);
  });
  return { source, rows, window, count: tensors.length, data };
}

function rejectShape(who: string, needed: number[], got: number[]): never {
  rejectFile({ who, needed: `a batch of shape [${needed.join(",")}] like the others`, got: `[${got.join(",")}]` });
}

function decodeBatch(record: Uint8Array, allowance: Allowance, source: string): IntTensor {
  const example = decodeExample(record, source);
  const feature = example.get("batch");
  if (feature?.kind !== "bytes" || feature.values.length !== 1) {
    const names = [...example.keys()].join(", ").slice(0, 200) || "none";
    rejectFile({ who: source, needed: "one bytes feature named batch", got: `features: ${names}` });
  }
  const tensor = decodeIntTensor(feature.values[0]!, source, allowance.rest);
  allowance.take(2 * tensor.data.byteLength + TENSOR_BYTES, "its batches");
  const [rows, window] = tensor.shape;
  if (tensor.shape.length !== 2 || rows! < 1 || window! < 2) {
    rejectFile({ who: source, needed: "a tensor [rows, length + 1]", got: `[${tensor.shape.join(",")}]` });
  }
  return tensor;
}

/** The file that holds the batches of one stream, record by record. */
export function* batchRecords(
  tokens: ArrayLike<number> | TokenStream,
  options: BatchOptions,
): Generator<Uint8Array<ArrayBuffer>> {
  const stream = streamOf(tokens);
  const { stride, batches } = planContext(stream.length, options);
  for (let t = 0; t < batches; t++) yield writeRecords([encodeBatch(stream, stride, t, options)]);
}

function encodeBatch(tokens: TokenStream, stride: number, t: number, { batch, window }: BatchOptions): Uint8Array {
  const data = new Int32Array(batch * window);
  for (let b = 0; b < batch; b++) tokens.copy((b * stride + t) * window, window, data, b * window);
  const tensor = encodeIntTensor({ shape: [batch, window], data });
  return encodeExample(new Map([["batch", { kind: "bytes", values: [tensor] }]]));
}

/** Opens batch files as one source, in the order given; ids must be below `vocabulary`. */
export async function openBatchFiles(paths: readonly string[], vocabulary: number): Promise<BatchSource> {
  const files: BatchFile[] = [];
  for (const path of paths) {
    const file = decodeBatchFile(await readFile(path), path);
    checkIds(file, vocabulary);
    const first = files[0] ?? file;
    if (file.rows !== first.rows || file.window !== first.window) {
      rejectShape(path, [first.rows, first.window], [file.rows, file.window]);
    }
    files.push(file);
  }
  return batchFileSource(files);
}

function checkIds({ data, source }: BatchFile, vocabulary: number): void {
  const bad = data.find((id) => id < 0 || id >= vocabulary);
  if (bad === undefined) return;
  rejectFile({
    who: source,
    needed: `ids below the tokenizer's ${vocabulary} pieces`,
    got: `${bad}`,
    remedy: "give the tokenizer these batches were made with",
  });
}

/** A source over parsed files of one shape; the memory is reset at the start of each. */
export function batchFileSource(files: readonly BatchFile[]): BatchSource {
  const { rows, window } = files[0]!;
  const length = window - 1;
  return indexedSource(
    files.map(({ count }) => count),
    { rows, length },
    (part, t, ids, targets) => {
      for (let b = 0; b < rows; b++) {
        const start = (t * rows + b) * window;
        ids.set(files[part]!.data.subarray(start, start + length), b * length);
        targets.set(files[part]!.data.subarray(start + 1, start + window), b * length);
      }
    },
  );
}

/** Sorts `file2.tfrecords` before `file10.tfrecords`. */
export function inNameOrder(paths: readonly string[]): string[] {
  const order = new Intl.Collator("en", { numeric: true });
  return [...paths].sort((a, b) => order.compare(basename(a), basename(b)));
}
