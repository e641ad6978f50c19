/** Sentence pairs packed into rows: several pairs per row, each a segment of its own, so that little is padding. */
import { reject } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import type { Tokenizer } from "../tokenizer.ts";

/** Lines of two languages; line i of one translates line i of the other. */
export interface SentencePairs {
  readonly source: readonly string[];
  readonly target: readonly string[];
}

/** Ids of one pair: the source ends with EOS; the target has neither begin nor end. */
export interface IdPair {
  readonly source: Int32Array;
  readonly target: Int32Array;
}

/** A batch of packed rows, each array [rows · length]. A segment's number counts from 1 in its row; 0 is padding. */
export interface PackedBatch {
  readonly source: Int32Array;
  readonly sourcePositions: Int32Array;
  readonly sourceSegments: Int32Array;
  /** BOS, then the sentence. */
  readonly target: Int32Array;
  readonly targetPositions: Int32Array;
  readonly targetSegments: Int32Array;
  /** The sentence, then EOS. */
  readonly labels: Int32Array;
}

/** Sizes of a batch, and the order of pairs. */
export interface PackingOptions {
  /** Rows of a batch. */
  rows: number;
  /** Pieces of a row, on either side. */
  length: number;
  /** Seed of the order in which pairs meet. */
  seed: number;
  /** Told how many pairs were too long. */
  warn?: (message: string) => void;
}

/** Ids of the pieces that begin, end and fill a sentence. */
export type Specials = Pick<Tokenizer, "bosId" | "eosId" | "padId">;

/** Encodes both sides of all pairs. */
export function encodePairs(tokenizer: Tokenizer, { source, target }: SentencePairs): IdPair[] {
  checkSpecials(tokenizer);
  return source.map((line, i) => ({
    source: Int32Array.of(...tokenizer.encode(line), tokenizer.eosId),
    target: tokenizer.encode(target[i]!),
  }));
}

function checkSpecials({ bosId, eosId, padId }: Specials): void {
  if (Math.min(bosId, eosId, padId) >= 0) return;
  const got = `begin ${bosId}, end ${eosId}, padding ${padId}`;
  reject({ who: "tokenizer", needed: "pieces for begin, end and padding", got, remedy: "train one on the pairs" }, 2);
}

/** Rows that may still take a pair; more of them fill rows better and take longer. */
const OPEN_ROWS = 64;

interface OpenRow {
  readonly pairs: IdPair[];
  source: number;
  target: number;
}

/** Which pairs share a row: each goes into the first open row with room for both its sides. */
export function packRows(pairs: readonly IdPair[], length: number): IdPair[][] {
  const rows: OpenRow[] = [];
  for (const pair of pairs) {
    const [source, target] = [pair.source.length, pair.target.length + 1];
    const open = rows.slice(-OPEN_ROWS).find((row) => row.source + source <= length && row.target + target <= length);
    const row = open ?? { pairs: [], source: 0, target: 0 };
    if (!open) rows.push(row);
    row.pairs.push(pair);
    row.source += source;
    row.target += target;
  }
  return rows.map((row) => row.pairs);
}

/** All batches of an epoch. Pairs longer than a row are left out. */
export function packBatches(pairs: readonly IdPair[], specials: Specials, options: PackingOptions): PackedBatch[] {
  const { rows: count, length, seed, warn } = options;
  const fitting = pairs.filter(({ source, target }) => Math.max(source.length, target.length + 1) <= length);
  const left = pairs.length - fitting.length;
  if (left > 0) warn?.(`${left} of ${pairs.length} pairs are longer than ${length} pieces and are left out`);
  if (fitting.length === 0) {
    reject({ who: "batches", needed: `a pair of at most ${length} pieces`, got: "none", remedy: "raise length" }, 2);
  }
  const rows = packRows(new RandomStream(seed, "packing").shuffle([...fitting]), length);
  return Array.from({ length: Math.ceil(rows.length / count) }, (_, i) => {
    return layOut(rows.slice(i * count, (i + 1) * count), specials, count, length);
  });
}

function layOut(rows: readonly IdPair[][], specials: Specials, count: number, length: number): PackedBatch {
  const numbers = (value = 0) => new Int32Array(count * length).fill(value);
  const { padId, bosId, eosId } = specials;
  const batch = {
    ...{ source: numbers(padId), sourcePositions: numbers(), sourceSegments: numbers() },
    ...{ target: numbers(padId), targetPositions: numbers(), targetSegments: numbers(), labels: numbers(padId) },
  };
  rows.forEach((pairs, r) => {
    let [from, to] = [r * length, r * length];
    pairs.forEach(({ source, target }, segment) => {
      place(source, from, segment + 1, batch.source, batch.sourcePositions, batch.sourceSegments);
      place([bosId, ...target], to, segment + 1, batch.target, batch.targetPositions, batch.targetSegments);
      batch.labels.set(target, to);
      batch.labels[to + target.length] = eosId;
      from += source.length;
      to += target.length + 1;
    });
  });
  return batch;
}

function place(
  ids: ArrayLike<number>,
  start: number,
  segment: number,
  to: Int32Array,
  positions: Int32Array,
  segments: Int32Array,
): void {
  to.set(ids, start);
  segments.fill(segment, start, start + ids.length);
  for (let i = 0; i < ids.length; i++) positions[start + i] = i;
}

/** Pieces that batches predict, padding left out. */
export function predictedPieces(batches: readonly PackedBatch[]): number {
  return batches.reduce((total, { targetSegments }) => total + targetSegments.filter((each) => each > 0).length, 0);
}
