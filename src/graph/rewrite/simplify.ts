/** Simplification: common sub-expressions become one node, and tables of identities make graphs smaller or cheaper. */

import { topological, useCounts, usersOf } from "../order.ts";
import { withInputs, within } from "../tensor.ts";
import type { Tensor } from "../vocabulary.ts";
import { elementRules } from "./element-rules.ts";
import { productRules } from "./product-rules.ts";
import { rowRules } from "./row-rules.ts";
import type { Context, Rule } from "./rule.ts";
import { weightRules } from "./weight-rules.ts";

const rules = [...elementRules, ...rowRules, ...productRules];

/** Equal keys mean equal values. Large constants are equal when they hold the same array. */
function keyOf(node: Tensor, arrays: Map<unknown, number>): string {
  if (node.op === "input" || node.op === "parameter") return `#${node.id}`;
  const plain = JSON.stringify(node.attributes, (_, value) => {
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    if (typeof value !== "object" || value === null || !("length" in value) || value.length <= 16) return value;
    if (!arrays.has(value)) arrays.set(value, arrays.size);
    return `@${arrays.get(value)}`;
  });
  return `${node.op} ${node.inputs.map((input) => input.id).join(",")} ${node.dtype} ${node.shape} ${plain}`;
}

/** Inputs first. What is computed again comes before all that is pulled back through it, so that rules know of it: nodes as they were made. */
function passOrder(outputs: readonly Tensor[]): Tensor[] {
  const order = topological(outputs);
  return order.some(({ op }) => op === "after") ? order.sort((a, b) => a.id - b.id) : order;
}

/** One pass over the graph, inputs first. */
function pass(outputs: readonly Tensor[], rules: readonly Rule[]): Tensor[] {
  const counts = useCounts(outputs);
  const order = passOrder(outputs);
  const users = usersOf(order);
  const softmaxed = new Set(order.filter((node) => node.op === "softmax").map((node) => node.inputs[0]!));
  const wanted = new Set(outputs);
  const originals = new Map<Tensor, Tensor>();
  const known = new Map<string, Tensor>();
  const arrays = new Map<unknown, number>();
  const context: Context = {
    usedOnce: (tensor) => (counts.get(originals.get(tensor) ?? tensor) ?? 1) <= 1,
    hasSoftmax: (x) => softmaxed.has(originals.get(x) ?? x),
    everyUse: (tensor, kind) => {
      const original = originals.get(tensor) ?? tensor;
      return !wanted.has(original) && (users.get(original) ?? []).every(kind);
    },
    known: (tensor) => known.get(keyOf(tensor, arrays)),
  };
  const intern = (node: Tensor): Tensor => {
    const key = keyOf(node, arrays);
    const same = known.get(key);
    if (!same) known.set(key, node);
    return same ?? node;
  };
  const done = new Map<Tensor, Tensor>();
  const interned = new Set<Tensor>();
  /** The node on settled inputs; nodes that a rule made are settled from their leaves up, no further than those that are. */
  const settle = (node: Tensor): Tensor => {
    if (interned.has(node)) return node;
    const inputs = node.inputs.map((input) => done.get(input) ?? settle(input));
    const settled = intern(inputs.every((input, i) => input === node.inputs[i]) ? node : withInputs(node, inputs));
    interned.add(settled);
    done.set(node, settled);
    return settled;
  };
  for (const node of order) {
    const settled = settle(rewrite(settle(node), rules, context));
    done.set(node, settled);
    if (!originals.has(settled)) originals.set(settled, node);
  }
  return outputs.map((output) => done.get(output)!);
}

/** Applies rules at one node until none fits. */
function rewrite(node: Tensor, rules: readonly Rule[], context: Context): Tensor {
  return within(node.scope || node.op, () => {
    let current = node;
    for (let changed = true; changed; ) {
      changed = rules.some((rule) => {
        const next = rule(current, context);
        if (next) current = next;
        return next !== undefined;
      });
    }
    return current;
  });
}

/** Passes are repeated until nothing changes. */
function repeat(outputs: readonly Tensor[], rules: readonly Rule[]): Tensor[] {
  let current = [...outputs];
  for (let round = 0; round < 20; round++) {
    const next = pass(current, rules);
    if (next.every((tensor, i) => tensor === current[i])) break;
    current = next;
  }
  return current;
}

/** An equal graph with fewer or cheaper nodes. */
export const simplify = (outputs: readonly Tensor[]): Tensor[] => repeat(outputs, rules);

/** The same of tensors by name. */
export function simplifyNamed(named: Readonly<Record<string, Tensor>>): Record<string, Tensor> {
  const simple = simplify(Object.values(named));
  return Object.fromEntries(Object.keys(named).map((name, i) => [name, simple[i]!]));
}

/** An equal graph whose gradients are cheaper: what is done to every row is done to weights once. For graphs that are to be differentiated. */
export const foldIntoWeights = (outputs: readonly Tensor[]): Tensor[] => repeat(outputs, weightRules);
