/** Batches by index, and what a mean loss over them means: perplexity per piece and per word, bits per byte. */
import { check, whole } from "../base/options.ts";
import type { Figures } from "./events.ts";
import type { Batch } from "./step-options.ts";
import type { Tell } from "./telling.ts";

/** Batches by index: named arrays of numbers, whatever they stand for. */
export interface Batches {
  /** Batches in an epoch. */
  readonly count: number;
  /** What one batch holds of what speed is counted in: predicted pieces of text. Default: its rows. */
  readonly tokens?: number;
  /** Examples in a batch, and places in each, where the model's objective is built for them. */
  readonly rows?: number;
  readonly length?: number;
  /** Every epoch is drawn again: `at` is asked for places counted over all epochs. */
  readonly fresh?: boolean;
  at(index: number): Batch;
}

/** What one batch counts for. */
export const tokensIn = ({ tokens, rows = 1, length = 1 }: Batches): number => tokens ?? rows * length;

/** How much text the pieces of a split stand for. */
export interface TextSize {
  readonly tokens: number;
  readonly words: number;
  readonly bytes: number;
}

/** exp(mean loss) per piece and per word; bits per byte. `tokens` pieces were predicted of a text of the given size. */
export function figures(loss: number, tokens: number, text: TextSize): Figures {
  return {
    loss,
    perplexity: Math.exp(loss),
    perplexityPerWord: Math.exp((loss * text.tokens) / text.words),
    bitsPerByte: (loss * text.tokens) / text.bytes / Math.LN2,
    tokens,
  };
}

/** The first batches of an evaluation, of at most so many tokens but at least one; 0: all of them. */
export function firstTokens<B extends Batches>(batches: B, most: number): B {
  const count = most === 0 ? batches.count : Math.max(1, Math.floor(most / tokensIn(batches)));
  return count >= batches.count ? batches : { ...batches, count, at: (index: number) => batches.at(index) };
}

/** The same examples, row after row as they come, in batches of `rows`, which has to divide their number. */
export function regrouped(batches: Batches, rows: number): Batches {
  const { rows: before = 1, count, tokens } = batches;
  check("batches / rows", (count * before) / rows, whole(1));
  let last: { readonly index: number; readonly batch: Batch } | undefined;
  const batchAt = (index: number) => {
    if (last?.index !== index) last = { index, batch: batches.at(index) };
    return last.batch;
  };
  const at = (index: number): Batch => {
    const out: Record<string, Int32Array | Float32Array> = {};
    for (let row = 0; row < rows; ) {
      const place = index * rows + row;
      const first = place % before;
      const taken = Math.min(before - first, rows - row);
      for (const [name, values] of Object.entries(batchAt(Math.floor(place / before)))) {
        const each = values.length / before;
        out[name] ??= new (values instanceof Float32Array ? Float32Array : Int32Array)(rows * each);
        for (let i = 0; i < taken * each; i++) out[name][row * each + i] = values[first * each + i]!;
      }
      row += taken;
    }
    return out;
  };
  return { ...batches, rows, count: (count * before) / rows, at, ...(tokens && { tokens: (tokens / before) * rows }) };
}

/** Fails where there is no batch at all. */
export function checkBatches({ count }: Pick<Batches, "count">, who = "batches"): void {
  check(`${who} / count`, count, whole(1));
}

/** The same batches, telling how far their reader is. */
export function counted(batches: Batches, tell?: Tell): Batches {
  if (!tell) return batches;
  const at = (index: number) => {
    tell(index, batches.count);
    return batches.at(index);
  };
  return { ...batches, at };
}
