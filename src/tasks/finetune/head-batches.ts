/** Batches for heads of any kind: rows padded to one length, and targets by name. */
import { rejectData } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import type { Engine } from "../../engine/engine.ts";
import type { DescribedAlbert } from "../../model/albert/description.ts";
import { type PieceTokenizer, specialIds } from "../../text/masked/documents.ts";
import type { Batches } from "../../train/evaluate.ts";
import type { HeadExample, HeadTask } from "./head-tasks.ts";

/** A head's task with its model, opened. */
export interface OpenedHead<X, Y> {
  readonly task: HeadTask<X, Y>;
  readonly described: DescribedAlbert;
  readonly tokenizer: PieceTokenizer;
  readonly engine: Engine;
  readonly length: number;
  readonly batch: number;
  readonly seed: number;
}

/** Batches drawn again each epoch; the last one is filled up with examples of its beginning. */
export function headBatches<X, Y>(
  opened: OpenedHead<X, Y>,
  examples: readonly X[],
  say?: (text: string) => void,
): Batches {
  const { task, tokenizer, batch, length, seed } = opened;
  const encoded = examples.map((each) => task.encode(each, tokenizer, length));
  const usable = encoded.filter(({ targets }) => targets !== undefined);
  if (usable.length === 0) {
    rejectData({
      who: task.name,
      needed: "an example to learn from",
      got: "none that fits",
      remedy: "give a greater length",
    });
  }
  const lost = encoded.length - usable.length;
  if (lost > 0)
    say?.(`${task.name}: ${lost} of ${encoded.length} examples are left out: nothing in ${length} pieces to learn`);
  const count = Math.ceil(usable.length / batch);
  let drawn: { epoch: number; order: HeadExample[] } | undefined;
  return {
    count,
    tokens: batch * task.rows * length,
    fresh: true,
    at: (place) => {
      const epoch = Math.floor(place / count);
      if (drawn?.epoch !== epoch) {
        drawn = { epoch, order: new RandomStream(seed, `${task.name} epoch ${epoch}`).shuffle([...usable]) };
      }
      const { order } = drawn;
      const first = (place % count) * batch;
      return laidOut(
        opened,
        Array.from({ length: batch }, (_, i) => order[(first + i) % order.length]!),
      );
    },
  };
}

/** Rows padded to the length, and targets by name; those of examples without any are padding. */
export function laidOut<X, Y>(
  { task, described, tokenizer, length }: OpenedHead<X, Y>,
  examples: readonly HeadExample[],
) {
  const rows = examples.flatMap((example) => example.rows);
  const ids = new Int32Array(rows.length * length).fill(specialIds(tokenizer).pad);
  const [mask, types] = [new Int32Array(rows.length * length), new Int32Array(rows.length * length)];
  for (const [i, row] of rows.entries()) {
    const [start, end] = [i * length, i * length + row.ids.length];
    ids.set(row.ids, start);
    mask.fill(1, start, end);
    types.fill(1, start + row.second, end);
  }
  const [head] = Object.values(described.heads);
  const names = Object.keys(head!.targets({ batch: rows.length, length }));
  const targets = names.map((name) => [name, targetOf(name, task.padding, examples, length)] as const);
  return { ids, mask, types, ...Object.fromEntries(targets) };
}

function targetOf(name: string, padding: number | undefined, examples: readonly HeadExample[], length: number) {
  const size = padding === undefined ? 1 : length;
  const values = new Int32Array(examples.length * size).fill(padding ?? 0);
  for (const [i, { targets }] of examples.entries()) values.set(targets?.[name] ?? [], i * size);
  return values;
}
