import { describe, expect, it } from "vitest";
import { difference } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { type Dim, input, type Tensor } from "../graph/index.ts";
import { type Cache, type KeyValues, SelfAttention } from "./attention.ts";
import { causalMask } from "./masks.ts";
import { inference } from "./mode.ts";
import { initialise, normal } from "./parameter.ts";

const [BATCH, LENGTH, WIDTH] = [2, 5, 12];
const attention = new SelfAttention("attention", { width: WIDTH, heads: 3, dropout: 0, weight: normal(1) });
const weights = initialise(attention.parameters, 1);
/** A text of LENGTH rows of WIDTH each, in turn for each text of the batch. */
const rows = Float32Array.from({ length: BATCH * LENGTH * WIDTH }, (_, i) => Math.sin(i * i));

/** The rows from one position to another, of all texts. */
function cut(from: number, to: number): Float32Array {
  const size = LENGTH * WIDTH;
  const parts = Array.from({ length: BATCH }, (_, b) => [
    ...rows.subarray(b * size + from * WIDTH, b * size + to * WIDTH),
  ]);
  return Float32Array.from(parts.flat());
}

async function run(outputs: Record<string, Tensor>, feeds: Record<string, Float32Array>) {
  const program = await referenceEngine({ precision: "single" }).compile({ outputs, weights });
  return program.run(feeds);
}

/** A cache that keeps what is handed over. */
function recorder(past?: KeyValues): Cache & { added: KeyValues[] } {
  const added: KeyValues[] = [];
  return { past, added, store: (pair) => added.push(pair) };
}

const rowsOf = (length: number) => input("x", [BATCH * length, WIDTH]);
const apply = (x: Tensor, length: Dim, mask?: Tensor, cache?: Cache) =>
  attention.apply(x, { batch: BATCH, length }, inference, mask, cache);

describe("attention with a cache", () => {
  // One more token takes the way without transposes, two the general one.
  it.each([1, 2])("gives the last %i rows of the whole text", async (count) => {
    const before = LENGTH - count;
    const whole = await run({ y: apply(rowsOf(LENGTH), LENGTH, causalMask(LENGTH)) }, { x: rows });

    const first = recorder();
    apply(rowsOf(before), before, causalMask(before), first);
    const [pair] = first.added;
    const past = await run({ keys: pair!.keys, values: pair!.values }, { x: cut(0, before) });
    expect(past.keys!.shape).toEqual([BATCH, before, WIDTH]);

    const shape = [BATCH, before, WIDTH];
    const second = recorder({ keys: input("keys", shape), values: input("values", shape) });
    const mask = count === 1 ? undefined : causalMask(count, before);
    const feeds = { x: cut(before, LENGTH), keys: past.keys!.data, values: past.values!.data };
    const { y } = await run({ y: apply(rowsOf(count), count, mask, second) }, feeds as Record<string, Float32Array>);

    const expected = Array.from({ length: BATCH }, (_, b) => {
      return [...whole.y!.data.subarray((b * LENGTH + before) * WIDTH, (b + 1) * LENGTH * WIDTH)];
    });
    // Keys and values pass through single precision on their way.
    expect(difference(y!.data, expected.flat())).toBeLessThan(1e-5);
  });
});
