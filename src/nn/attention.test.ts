import { describe, expect, it } from "vitest";
import { difference } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { constant, type Dim, input, reshape, slice, sum, type Tensor } from "../graph/index.ts";
import { attend, attendByHeads, type Cache, type KeyValues, SelfAttention } from "./attention.ts";
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
  attention.apply(x, { rows: { batch: BATCH, length }, mode: inference, mask, cache });

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

describe("attention by heads", () => {
  const x = input("x", [BATCH * LENGTH, WIDTH]);
  const folded = reshape(x, [BATCH, LENGTH, WIDTH]);
  const options = { heads: 3, rows: { batch: BATCH, length: LENGTH } };

  it("takes rows or folded tensors, and gives what the queries are", async () => {
    const y = attendByHeads(x, { keys: x, values: folded }, options);
    const z = attendByHeads(folded, { keys: folded, values: x }, options);
    expect([y.shape, z.shape]).toEqual([x.shape, folded.shape]);
    const found = await run({ y, z }, { x: rows });
    expect(found.z!.data).toEqual(found.y!.data);
  });

  it("mixes each head's columns by its own weights", async () => {
    const alone = slice(folded, 2, 4, 8); // the second of three heads
    const { mixed, weights } = attend(alone, { keys: alone, values: alone });
    const whole = slice(attendByHeads(folded, { keys: folded, values: folded }, options), 2, 4, 8);
    const found = await run({ mixed, whole, sums: sum(weights, { axes: [-1] }) }, { x: rows });
    // Products over four columns, in whatever order.
    expect(difference(found.whole!.data, found.mixed!.data)).toBeLessThan(1e-6);
    for (const total of found.sums!.data) expect(total).toBeCloseTo(1, 6);
  });

  it("adds positions and mask to the scores", async () => {
    const one = input("one", [1, 1]);
    const pair = { keys: input("keys", [2, 1]), values: constant([1, 0], [2, 1]) };
    const { weights } = attend(one, pair, {
      scale: 2,
      positions: constant([1, 0], [1, 2]),
      mask: constant([0, 3], [1, 2]),
    });
    const found = await run({ weights }, { one: Float32Array.of(1), keys: Float32Array.of(0.5, 1) });
    // 2 · 0.5 + 1 against 2 · 1 + 3.
    expect(found.weights!.data[0]).toBeCloseTo(1 / (1 + Math.exp(3)), 6);
  });

  it("refuses heads that do not divide the width", () => {
    const attending = () => attendByHeads(x, { keys: x, values: x }, { ...options, heads: 5 });
    expect(attending).toThrow("attention: expected a width divisible by heads, got width 12, heads 5");
  });
});
