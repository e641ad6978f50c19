/** The yardstick of a program: its own matrix products, timed alone. */
import { RandomStream } from "../src/base/random.ts";
import type { Engine } from "../src/engine/engine.ts";
import {
  concat,
  evaluateShape,
  input,
  is,
  matmul,
  reshape,
  type Sizes,
  slice,
  type Tensor,
  topological,
} from "../src/graph/index.ts";
import { type Fact, median, timed } from "./measure.ts";
import { milliseconds } from "./report.ts";

interface ProductsOptions {
  readonly sizes?: Sizes;
  /** Parameters that the work holds as constants, as inference does. */
  readonly weights?: ReadonlyMap<Tensor, Float32Array> | undefined;
}

/** One program with every product of the work, each on inputs of its own; of each result one number leaves, so nothing is copied. */
export async function productsAlone(
  engine: Engine,
  outputs: readonly Tensor[],
  { sizes = new Map(), weights = new Map() }: ProductsOptions = {},
): Promise<() => Promise<number>> {
  const feeds: Record<string, Float32Array> = {};
  const random = new RandomStream(2, "products");
  const operand = (tensor: Tensor, name: string) => {
    if (weights.has(tensor)) return tensor;
    const shape = evaluateShape(tensor.shape, sizes);
    feeds[name] = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random.uniform() - 0.5);
    return input(name, shape);
  };
  const corners = topological(outputs)
    .filter((node) => is(node, "matmul"))
    .map((node, i) => {
      const [a, b] = node.inputs.map((tensor, k) => operand(tensor, `x${i}.${k}`)) as [Tensor, Tensor];
      const product = matmul(a, b, node.attributes);
      const corner = product.shape.reduce<Tensor>((x, _, axis) => slice(x, axis, 0, 1), product);
      return reshape(corner, [1]);
    });
  const program = await engine.compile({ outputs: { corners: concat(corners, 0) }, weights });
  return () => timed(() => program.run(feeds));
}

/** What of the peer's time the products alone take: nothing that is done to the rest of the work brings a row below it. */
export function floor(name: string, products: readonly number[], peer: string, theirs: readonly number[]): Fact {
  const [alone, peer_ms] = [median(products), median(theirs)];
  const [ours, whole] = [milliseconds(alone), milliseconds(peer_ms)];
  return { name: `${name}: its matrix products, timed alone`, ours, peer, theirs: whole, ratio: alone / peer_ms };
}
