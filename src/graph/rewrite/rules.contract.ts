/** What tests of the simplifier's rules share: what is in a graph, and how much its values changed. */
import { RandomStream } from "../../base/random.ts";
import { difference, runOnce } from "../../engine/engine.contract.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { topological } from "../order.ts";
import { is } from "../tensor.ts";
import type { Tensor } from "../vocabulary.ts";

export const nodesOf = (...outputs: Tensor[]) => topological(outputs);
export const shapesOf = (op: Tensor["op"], ...outputs: Tensor[]) =>
  nodesOf(...outputs)
    .filter((node) => node.op === op)
    .map(({ shape }) => shape.join());

/** Largest difference between the values before and after, on random inputs. */
export async function change(before: readonly Tensor[], after: readonly Tensor[]): Promise<number> {
  const random = new RandomStream(8, "rules");
  const leaves = nodesOf(...before).filter((node) => is(node, "input") || is(node, "parameter"));
  const feeds = Object.fromEntries(
    leaves.map(({ attributes, shape }) => {
      const length = (shape as number[]).reduce((a, b) => a * b, 1);
      return [(attributes as { name: string }).name, Float64Array.from({ length }, () => random.normal())];
    }),
  );
  const oracle = referenceEngine({ precision: "double" });
  const named = (list: readonly Tensor[]) => Object.fromEntries(list.map((tensor, i) => [`y${i}`, tensor]));
  const [expected, found] = [await runOnce(oracle, named(before), feeds), await runOnce(oracle, named(after), feeds)];
  return Math.max(...Object.keys(expected).map((name) => difference(found[name]!.data, expected[name]!.data)));
}

/** Double precision, another order of summation. */
export const TOLERANCE = 1e-12;
