/** Scores after the last tokens of prompts: what the last block does row by row is done for those tokens only. */
import { gather, is, type Op, type Tensor, topological } from "../graph/index.ts";
import { withInputs } from "../graph/tensor.ts";

const byElement: ReadonlySet<Op> = new Set<Op>([
  "add",
  "subtract",
  "multiply",
  "divide",
  "maximum",
  "minimum",
  "negate",
  "exp",
  "sqrt",
  "tanh",
  "sigmoid",
  "relu",
  "silu",
  "gelu",
  "layerNorm",
]);

/** The inputs [N, ·] of a node [N, ·] each of whose rows comes from the same rows of them; undefined where rows mix. */
function rowInputs(node: Tensor): readonly Tensor[] | undefined {
  const rows = (input: Tensor) => input.shape.length === 2 && input.shape[0] === node.shape[0];
  if (node.shape.length !== 2 || typeof node.shape[0] !== "string") return undefined;
  if (byElement.has(node.op)) return node.inputs.filter(rows);
  if (is(node, "slice") && node.attributes.axis === 1) return node.inputs;
  if (is(node, "mean") && String(node.attributes.axes) === "1") return node.inputs;
  const [x, weight] = node.inputs;
  return is(node, "matmul") && !node.attributes.transposeA && rows(x!) && !rows(weight!) ? [x!] : undefined;
}

/** Nodes that can be worked out for some rows, and of which nobody wants others than those that are taken. */
function wantedFor(outputs: readonly Tensor[], taken: Tensor): Set<Tensor> {
  const wholes = new Set(outputs);
  const few = new Set<Tensor>();
  for (const node of topological(outputs).reverse()) {
    // Those that use a node come before it: if one wants all rows of it, that is known by now.
    const from = wholes.has(node) ? undefined : rowInputs(node);
    if (from) few.add(node);
    const takes = node.op === "gather" && node.inputs[1] === taken ? node.inputs.slice(0, 1) : from;
    for (const input of node.inputs) if (!takes?.includes(input)) wholes.add(input);
  }
  return few;
}

/** The same outputs, where what leads to rows that are taken in the end is worked out for these alone, as far back as rows do not mix. */
export function onlyTaken(outputs: Readonly<Record<string, Tensor>>, taken: Tensor): Record<string, Tensor> {
  const wanted = wantedFor(Object.values(outputs), taken);
  const few = new Map<Tensor, Tensor>();
  const take = (node: Tensor): Tensor => {
    const known = few.get(node);
    if (known) return known;
    const inputs = node.inputs.map((input) => (rowInputs(node)?.includes(input) ? take(input) : input));
    const shape = [taken.shape[0]!, ...node.shape.slice(1)];
    const made = wanted.has(node) ? { ...withInputs(node, inputs), shape } : gather(node, taken);
    few.set(node, made);
    return made;
  };
  const done = new Map<Tensor, Tensor>();
  for (const node of topological(Object.values(outputs))) {
    const inputs = node.inputs.map((input) => done.get(input)!);
    const isTaken = node.op === "gather" && node.inputs[1] === taken;
    const isSame = inputs.every((input, i) => input === node.inputs[i]);
    done.set(node, isTaken ? take(node.inputs[0]!) : isSame ? node : withInputs(node, inputs));
  }
  return Object.fromEntries(Object.entries(outputs).map(([name, node]) => [name, done.get(node)!]));
}
