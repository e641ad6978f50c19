/** Context batching: cuts token streams into batches in which row b of the next batch continues row b of this one. */
import { rejectData } from "../base/errors.ts";
import { check, checkOptions, oneOf, type Rules, required, whole } from "../base/options.ts";

/** What a trainer takes a step on: pieces and, for each, the next one; both are [rows, length], row after row. */
export type Batch = { readonly ids: Int32Array; readonly targets: Int32Array };

/** Batches by index, so that the position in the data is one number; indices past the end start the next epoch. */
export interface BatchSource {
  /** Batches in an epoch. */
  readonly count: number;
  readonly rows: number;
  readonly length: number;
  /** Pieces that a batch predicts. */
  readonly tokens: number;
  at(index: number): Batch;
  /** Whether the rows of this batch do not continue those of the one before: reset the memory. */
  isFirst(index: number): boolean;
}

/** Pieces by place: in memory, or in a file of which only windows are read. */
export interface TokenStream {
  readonly length: number;
  /** Copies the pieces [from, from + count) to `out`, beginning at `at`. */
  copy(from: number, count: number, out: Int32Array, at: number): void;
}

/** An array as a stream; a stream stays as it is. */
export function streamOf(ids: ArrayLike<number> | TokenStream): TokenStream {
  if ("copy" in ids) return ids;
  return {
    length: ids.length,
    copy: (from, count, out, at) => {
      for (let i = 0; i < count; i++) out[at + i] = ids[from + i]!;
    },
  };
}

/** The pieces [from, to) of a stream. */
export function streamPart(stream: TokenStream, from: number, to: number): TokenStream {
  return { length: to - from, copy: (first, count, out, at) => stream.copy(from + first, count, out, at) };
}

/** How to batch. `compat: "original"` also emits the batches whose rows repeat the beginning of the next row. */
export interface BatchOptions {
  /** Rows of a batch. */
  batch: number;
  /** Tokens of a window: the sequence length + 1. */
  window: number;
  compat?: "original";
}

const rules: Rules<BatchOptions> = {
  batch: required(whole(1)),
  window: required(whole(2)),
  compat: oneOf(["original"]),
};

/** Where the batches of one stream lie: row b of batch t is window b·stride + t. */
export interface ContextPlan {
  tokens: number;
  /** W = ⌊tokens / window⌋. */
  windows: number;
  /** S = ⌊tokens / (batch·window)⌋. */
  stride: number;
  /** Batches emitted: S, or W − (batch − 1)·S with `compat`. */
  batches: number;
  /** Batches emitted beyond S. */
  repeated: number;
  /** Tokens in no batch. */
  dropped: number;
}

/** Plans the batches of a stream of `tokens` tokens. */
export function planContext(tokens: number, options: BatchOptions): ContextPlan {
  checkOptions("batches", options, rules);
  const { batch, window, compat } = options;
  const windows = Math.floor(tokens / window);
  const stride = Math.floor(tokens / (batch * window));
  const batches = compat === "original" && stride > 0 ? windows - (batch - 1) * stride : stride;
  const used = stride > 0 ? ((batch - 1) * stride + batches) * window : 0;
  return { tokens, windows, stride, batches, repeated: batches - stride, dropped: tokens - used };
}

/** All batches of a stream as nested rows: the plain statement of the rule, for certifying and for small data. */
export function contextBatches(tokens: ArrayLike<number>, options: BatchOptions): number[][][] {
  const { stride, batches } = planContext(tokens.length, options);
  const windowAt = (index: number) =>
    Array.from({ length: options.window }, (_, i) => tokens[index * options.window + i]!);
  return Array.from({ length: batches }, (_, t) =>
    Array.from({ length: options.batch }, (_, b) => windowAt(b * stride + t)),
  );
}

/** How lines are shared among shards: shard i takes lines [i·L, (i+1)·L), L = ⌊lines / shards⌋; left-over lines are dropped. */
export function shardLines(lines: number, shards: number): { from: number; to: number }[] {
  const each = Math.floor(lines / check("shards", shards, whole(1)));
  if (each < 1) {
    rejectData(
      { who: "shards", needed: `at most one for each of ${lines} lines`, got: `${shards}`, remedy: "use fewer" },
      2,
    );
  }
  return Array.from({ length: shards }, (_, i) => ({ from: i * each, to: (i + 1) * each }));
}

/** Batches of one or more streams, one after another; each stream starts with a reset of the memory. */
export function streamBatches(
  given: readonly (ArrayLike<number> | TokenStream)[],
  options: BatchOptions,
  who = "batches",
): BatchSource {
  const streams = given.map(streamOf);
  const plans = streams.map((stream) => planContext(stream.length, options));
  const short = plans.findIndex(({ stride }) => stride < 1);
  if (short >= 0 || plans.length === 0) {
    rejectShort(plans.length > 1 ? `${who}: shard ${short + 1}` : who, plans[short]?.tokens ?? 0, options);
  }
  return indexedSource(
    plans.map(({ batches }) => batches),
    { rows: options.batch, length: options.window - 1 },
    (part, t, ids, targets) => fillBatch(streams[part]!, plans[part]!.stride, t, options, ids, targets),
  );
}

function rejectShort(who: string, tokens: number, { batch, window }: BatchOptions): never {
  rejectData({
    who,
    needed: `at least batch · (length + 1) = ${batch * window} tokens`,
    got: `${tokens}`,
    remedy: "use more text, a smaller batch, a smaller length or fewer shards",
  });
}

function fillBatch(
  stream: TokenStream,
  stride: number,
  t: number,
  { batch, window }: BatchOptions,
  ids: Int32Array,
  targets: Int32Array,
): void {
  const length = window - 1;
  for (let b = 0; b < batch; b++) {
    const start = (b * stride + t) * window;
    stream.copy(start, length, ids, b * length);
    stream.copy(start + 1, length, targets, b * length);
  }
}

/** Fills ids and targets with batch t of a part. */
export type FillBatch = (part: number, t: number, ids: Int32Array, targets: Int32Array) => void;

/** A source over parts of `counts` batches each, one part after another. */
export function indexedSource(
  counts: readonly number[],
  { rows, length }: { rows: number; length: number },
  fill: FillBatch,
): BatchSource {
  const count = counts.reduce((sum, n) => sum + n, 0);
  check("batches / count", count, whole(1));
  const tokens = rows * length;
  const place = (index: number) => locate(counts, checkedIndex(index) % count);
  return {
    count,
    rows,
    length,
    tokens,
    at(index) {
      const [part, t] = place(index);
      const ids = new Int32Array(tokens);
      const targets = new Int32Array(tokens);
      fill(part, t, ids, targets);
      return { ids, targets };
    },
    isFirst: (index) => place(index)[1] === 0,
  };
}

function checkedIndex(index: number): number {
  if (Number.isSafeInteger(index) && index >= 0) return index;
  return rejectData({ who: "batches", needed: "an index that is a whole number from 0", got: `${index}` });
}

function locate(counts: readonly number[], index: number): [part: number, t: number] {
  let part = 0;
  while (index >= counts[part]!) index -= counts[part++]!;
  return [part, index];
}
