/** Attention of new tokens to keys and values that lie by heads, with room for more, and to their own. */
import { subtractDims } from "../graph/dims.ts";
import {
  add,
  addDims,
  broadcast,
  concat,
  type Dim,
  full,
  matmul,
  multiply,
  multiplyDims,
  reshape,
  slice,
  softmax,
  sum,
  type Tensor,
  transpose,
} from "../graph/index.ts";
import type { HeldKeys, HeldOptions, KeyValues } from "../nn/attention.ts";

type Held = Omit<HeldKeys, "attend">;

/** Keys and values [B, K, S, D] that new tokens can look at. */
export const heldKeys = (held: Held): HeldKeys => ({
  ...held,
  attend: (q, own, { scale, positions, mask }) => {
    const length = own.keys.shape[1]!;
    if (length === 1) return attendOnce(q, held, own, { scale, positions, mask });
    const past = mask?.shape.length === 2 ? subtractDims(mask.shape[1]!, length) : undefined;
    if (!mask || past === undefined) return undefined;
    return attendAfter(q, held, own, { scale, mask: slice(mask, 1, past, mask.shape[1]!) });
  },
});

/**
 * Each head of keys and values serves G of the query's K·G heads. The query's own are not put after the others, which would copy all of them:
 * its score is, and what it says itself is so little that a product would cost more than it does.
 */
function attendOnce(q: Tensor, held: Held, own: KeyValues, { scale, positions, mask }: HeldOptions): Tensor {
  const [batch, keyHeads, before, size] = held.keys.shape as [Dim, number, Dim, number];
  const groups = Number(q.shape[1]) / (keyHeads * size);
  // A single text may have no row at all.
  const rows = q.shape[0] === batch ? groups : multiplyDims(q.shape[0]!, groups);
  const asked = reshape(multiply(q, scale), [batch, keyHeads, rows, size]); // [B, K, G, D]
  const [key, value] = [own.keys, own.values].map((x) => reshape(x, [batch, keyHeads, 1, size])) as [Tensor, Tensor];
  const itself = sum(multiply(asked, key), { axes: [3], keepDims: true });
  const content = concat([matmul(asked, held.keys, { transposeB: true }), itself], 3);
  const added = [positions, mask, held.mask].filter((each) => each !== undefined);
  const weights = softmax(added.reduce((scores: Tensor, each) => add(scores, each), content));
  const mixed = add(
    matmul(slice(weights, 3, 0, before), held.values),
    multiply(slice(weights, 3, before, addDims(before, 1)), value),
  );
  return reshape(mixed, q.shape);
}

/** All that is held is seen by all of the queries; like `attendOnce` this copies nothing of it. */
function attendAfter(q: Tensor, held: Held, own: KeyValues, { scale, mask }: HeldOptions): Tensor {
  const [batch, keyHeads, before, size] = held.keys.shape as [Dim, number, Dim, number];
  const length = own.keys.shape[1]!;
  const heads = Number(q.shape[1]) / size;
  const byHead = (x: Tensor, count: number) => transpose(reshape(x, [batch, length, count, size]), [0, 2, 1, 3]);
  const together = [batch, keyHeads, multiplyDims(heads / keyHeads, length), size]; // queries of a head of keys
  const asked = reshape(multiply(byHead(q, heads), scale), together);
  const [keys, values] = [byHead(own.keys, keyHeads), byHead(own.values, keyHeads)];
  const content = [held.keys, keys].map((each) => matmul(asked, each, { transposeB: true }));
  const all = addDims(before, length);
  const scores = reshape(concat(content, 3), [batch, heads, length, all]);
  const past = held.mask ? broadcast(slice(held.mask, 0, 0, before), [length, before]) : full(0, [length, before]);
  const seen = concat([past, mask!], 1);
  const weights = reshape(softmax(add(scores, seen)), [...together.slice(0, 3), all]);
  const mixed = add(matmul(slice(weights, 3, 0, before), held.values), matmul(slice(weights, 3, before, all), values));
  return reshape(transpose(reshape(mixed, [batch, heads, length, size]), [0, 2, 1, 3]), q.shape);
}
