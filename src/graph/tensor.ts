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

const substitutes: ReadonlyMap<Tensor, Tensor>[] = [];

/** Runs `build` with some tensors taken for others of the same shape: so a layer can be built with weights that are made from its own. */
export function substituting<T>(others: ReadonlyMap<Tensor, Tensor>, build: () => T): T {
  substitutes.push(others);
  try {
    return build();
  } finally {
    substitutes.pop();
  }
}

/** The tensor that is taken for another here; itself where none is. */
export const substituted = (tensor: Tensor): Tensor =>
  substitutes.reduceRight((each, others) => others.get(each) ?? each, tensor);

/** Makes a node after checking it: shapes and types are inferred here, so a bad graph cannot be built. */
export function node<K extends Op>(op: K, given: readonly Tensor[], attributes: Attributes[K]): Tensor<K> {
  const inputs = substitutes.length > 0 ? given.map(substituted) : given;
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
