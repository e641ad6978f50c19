import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { runOnce } from "../engine/engine.contract.ts";
import { ortEngine } from "../engine/ort.ts";
import { constant, gradients, input, multiply, type Shape, sum, type Tensor, topological } from "../graph/index.ts";
import { attend, attendByHeads, mixedBy } from "./attention.ts";
import { causalMask, HIDDEN, segmentMask } from "./masks.ts";
import { Training } from "./mode.ts";
import { seenBlocks } from "./seen-keys.ts";

const LENGTH = 300;
const random = new RandomStream(3, "seen keys");
const drawn = (shape: readonly number[]) =>
  Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random.uniform() - 0.5);

/** What two ways of attending give, and the slopes of a sum of it, beside each other. */
async function both(ways: readonly ((q: Tensor, k: Tensor, v: Tensor) => Tensor)[], shapes: readonly [Shape, Shape]) {
  const [q, k, v] = [input("q", shapes[0]), input("k", shapes[1]), input("v", shapes[1])];
  const outputs: Record<string, Tensor> = {};
  for (const [i, way] of ways.entries()) {
    const mixed = way(q, k, v);
    const slopes = gradients(sum(multiply(mixed, mixed)), [q, k, v]);
    for (const [name, tensor] of Object.entries({ mixed, dq: slopes[0]!, dk: slopes[1]!, dv: slopes[2]! })) {
      outputs[`${i} ${name}`] = tensor;
    }
  }
  const feeds = Object.fromEntries(
    [q, k, v].map(({ attributes, shape }) => [attributes.name, drawn(shape as number[])]),
  );
  const found = await runOnce(await ortEngine({ threads: 1 }), outputs, feeds);
  return ["mixed", "dq", "dk", "dv"].map((name) => [found[`0 ${name}`]!.data, found[`1 ${name}`]!.data] as const);
}

const windowed = constant(
  Float32Array.from({ length: LENGTH * LENGTH }, (_, at) => {
    const distance = Math.floor(at / LENGTH) - (at % LENGTH);
    return distance < 0 || distance > 60 ? HIDDEN : 0;
  }),
  [LENGTH, LENGTH],
);

describe("attention by blocks of queries", () => {
  it("looks at the keys that a block sees", () => {
    expect(seenBlocks(causalMask(LENGTH))).toEqual([
      { queries: [0, 128], keys: [0, 128] },
      { queries: [128, 256], keys: [0, 256] },
      { queries: [256, 300], keys: [0, 300] },
    ]);
    expect(seenBlocks(windowed)?.map(({ keys }) => keys)).toEqual([
      [0, 128],
      [68, 256],
      [196, 300],
    ]);
    const segment = segmentMask({ length: 256, memory: 100, sameLength: true, width: 4 });
    expect(seenBlocks(segment)?.map(({ keys }) => keys)).toEqual([
      [1, 228],
      [129, 356],
    ]);
  });

  it("leaves whole what is short, what hides nothing, and masks that only a run knows", () => {
    const open = constant(new Float32Array(LENGTH * LENGTH), [LENGTH, LENGTH]);
    const blind = constant(new Float32Array(LENGTH * LENGTH).fill(HIDDEN), [LENGTH, LENGTH]);
    for (const mask of [undefined, causalMask(255), open, blind, causalMask("T"), causalMask(LENGTH, "P")]) {
      expect(seenBlocks(mask)).toBeUndefined();
    }
  });

  it.each([
    ["causal", causalMask(LENGTH)],
    ["a window", windowed],
  ] as const)("gives what the whole gives, and its slopes: %s", async (_, mask) => {
    const positions = constant(drawn([2, 1, LENGTH]), [2, 1, LENGTH]);
    const ways = [attendWhole, mixedBy].map(
      (way) => (q: Tensor, k: Tensor, v: Tensor) => way(q, { keys: k, values: v }, { mask, positions }),
    );
    for (const [whole, parts] of await both(ways, [
      [2, 2, LENGTH, 4],
      [2, 2, LENGTH, 4],
    ])) {
      whole.forEach((value, i) => void expect(Math.abs(Number(parts[i]) - Number(value))).toBeLessThan(1e-5));
    }
  });

  it("serves heads that share keys and values, and is left where somebody wants the weights", async () => {
    const mask = causalMask(LENGTH);
    const rows = { batch: 2, length: LENGTH };
    let seen: Tensor | undefined;
    const ways = [
      (weights: Tensor) => {
        seen = weights;
      },
      undefined,
    ].map(
      (watch) => (q: Tensor, k: Tensor, v: Tensor) =>
        attendByHeads(q, { keys: k, values: v }, { heads: 4, keyHeads: 2, rows, mask, watch }),
    );
    for (const [whole, parts] of await both(ways, [
      [2 * LENGTH, 16],
      [2 * LENGTH, 8],
    ])) {
      whole.forEach((value, i) => void expect(Math.abs(Number(parts[i]) - Number(value))).toBeLessThan(1e-5));
    }
    expect(seen!.shape).toEqual([2, 4, LENGTH, LENGTH]);
  });

  it("makes no matrix of all scores, and drops weights out block by block", () => {
    const mode = new Training();
    const [q, k, v] = ["q", "k", "v"].map((name) => input(name, [1, 2, LENGTH, 4])) as [Tensor, Tensor, Tensor];
    const mixed = mixedBy(q, { keys: k, values: v }, { mask: causalMask(LENGTH), mode, dropout: 0.1 });
    const matrices = topological([mixed]).filter(
      ({ shape }) => shape.length === 4 && shape[2] === LENGTH && shape[3] === LENGTH,
    );
    expect(matrices).toEqual([]);
    expect(mode.noise.map(({ tensor }) => tensor.shape.slice(-2))).toEqual([
      [128, 128],
      [128, 256],
      [44, 300],
    ]);
  });
});

const attendWhole = (...[q, pair, options]: Parameters<typeof attend>) => attend(q, pair, options).mixed;
