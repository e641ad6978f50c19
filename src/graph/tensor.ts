/** Making nodes: shapes are inferred and checked here, and the scope is noted that errors name. */
import { inference } from "./inference.ts";
import type { Attributes, Op, Tensor } from "./vocabulary.ts";

let nextId = 0;
const scopes: string[] = [];

/** Runs `build` with `name` added to the scope that errors and nodes carry. */
export function within<T>(name: string, build: () => T): T {
  scopes.push(name);
  try {
    return build();
  } finally {
    scopes.pop();
  }
}

/** The current scope, as errors print it. */
export function currentScope(): string {
  return scopes.join(" / ");
}

/** Makes a node after checking it: shapes and types are inferred here, so a bad graph cannot be built. */
export function node<K extends Op>(op: K, inputs: readonly Tensor[], attributes: Attributes[K]): Tensor<K> {
  const scope = currentScope();
  const who = scope === "" ? op : `${scope} / ${op}`;
  const { shape, dtype } = inference[op](who, inputs, attributes);
  return { id: nextId++, op, inputs, attributes, shape, dtype, scope };
}

/** True when the node is of the given operation; narrows its attributes. */
export function is<K extends Op>(tensor: Tensor, op: K): tensor is Tensor<K> {
  return tensor.op === op;
}

/** The same operation on other inputs of the same shapes: for rewriting, so nothing is inferred again. */
export function withInputs(tensor: Tensor, inputs: readonly Tensor[]): Tensor {
  return { ...tensor, id: nextId++, inputs };
}
