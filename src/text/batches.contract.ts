/** What tests ask of every source of batches: all of them, one after another. */
import type { Batch, BatchSource } from "./batches.ts";

/** Walks a source from a position to the end of its epoch (or `to`). */
export function* batchesFrom(
  source: BatchSource,
  position = 0,
  to = Math.floor(position / source.count + 1) * source.count,
): Generator<Batch> {
  for (let index = position; index < to; index++) yield source.at(index);
}
