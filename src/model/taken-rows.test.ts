import { expect, it } from "vitest";
import { referenceEngine } from "../engine/reference.ts";
import {
  add,
  gather,
  input,
  is,
  matmul,
  parameter,
  relu,
  simplifyNamed,
  type Tensor,
  topological,
} from "../graph/index.ts";
import { onlyTaken } from "./taken-rows.ts";

const [x, taken] = [input("x", ["N", 2]), input("taken", ["K"], "int")];
const weight = parameter("w", [2, 2]);
const values = new Map<Tensor, Float32Array>([[weight, Float32Array.of(1, 2, -3, 4)]]);
const feeds = {
  x: { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] },
  taken: { data: Int32Array.of(2, 0), shape: [2] },
};
const hidden = add(x, matmul(x, weight));

async function run(outputs: Record<string, Tensor>) {
  const program = await referenceEngine().compile({ outputs, weights: values });
  const found = await program.run(feeds);
  return Object.values(found).map(({ data }) => [...data]);
}

const products = (outputs: Record<string, Tensor>) =>
  topological(Object.values(outputs)).flatMap((node) => (is(node, "matmul") ? [String(node.shape)] : []));

it("rows that are taken are worked out alone, and are the same", async () => {
  const outputs = simplifyNamed({ y: gather(relu(hidden), taken) });
  const few = onlyTaken(outputs, taken);
  expect([products(outputs), products(few)]).toEqual([["N,2"], ["K,2"]]);
  expect(await run(few)).toEqual(await run(outputs));
});

it("what is wanted as a whole besides is worked out once", async () => {
  const outputs = simplifyNamed({ y: gather(relu(hidden), taken), whole: matmul(hidden, weight) });
  const few = onlyTaken(outputs, taken);
  expect(products(few)).toEqual(["N,2", "N,2"]);
  expect(await run(few)).toEqual(await run(outputs));
});
