/** Work on a row that may be absent, such as a token that may have stopped: one condition around all of it, instead of operations on no rows. */
import { is, type Tensor } from "../graph/index.ts";
import { type Lowering, range } from "./lowering.ts";
import type { AttributeValue } from "./proto.ts";

type Users = ReadonlyMap<Tensor, readonly Tensor[]>;

/** A row that takes the place of another where there is one, and all the work that is done for nothing else. */
export interface Branch {
  readonly end: Tensor;
  /** It names the row, or none. */
  readonly which: Tensor<"which">;
  /** The nodes of the work in order, the end among them. */
  readonly body: readonly Tensor[];
}

/** What names the row, or none, of these ids: a condition, bool [1]. */
function whichOf(ids: Tensor): Tensor<"which"> | undefined {
  if (is(ids, "gather")) return whichOf(ids.inputs[1]!);
  return is(ids, "which") && ids.inputs[0]!.shape[0] === 1 ? ids : undefined;
}

/** What If is to be asked, of any shape: one bool. */
function askedOf({ inputs: [condition] }: Tensor<"which">): Tensor {
  return is(condition!, "reshape") ? condition.inputs[0]! : condition!;
}

/** The nodes of known sizes that are made of weights and constants alone: the runtime works them out once, outside of all branches. */
function settled(order: readonly Tensor[]): Set<Tensor> {
  const found = new Set<Tensor>();
  for (const node of order) {
    const isKnown = !is(node, "input") && node.shape.every((dim) => typeof dim === "number");
    if (isKnown && node.inputs.every((input) => found.has(input))) found.add(node);
  }
  return found;
}

/** Branches of a graph, by their ends; of work within work, the outer one. */
export function branchesIn(order: readonly Tensor[], results: ReadonlySet<Tensor>, users: Users): Map<Tensor, Branch> {
  const branches = new Map<Tensor, Branch>();
  const taken = settled(order);
  for (const end of order.toReversed()) {
    const which = is(end, "replaceRows") && end.shape[0] === 1 && !taken.has(end) && whichOf(end.inputs[1]!);
    if (!which) continue;
    const wanted = [askedOf(which), end.inputs[0]!]; // with and without a row
    const outside = (node: Tensor) => taken.has(node) || results.has(node) || wanted.includes(node);
    const body = bodyOf(end, order, outside, users);
    if (!body.some(({ op }) => op === "matmul")) continue; // too little to be worth a condition
    for (const node of body) taken.add(node);
    branches.set(end, { end, which, body });
  }
  return branches;
}

/** An end with the nodes that only it and each other use, in order. */
function bodyOf(end: Tensor, order: readonly Tensor[], outside: (node: Tensor) => boolean, users: Users): Tensor[] {
  const body = new Set([end]);
  for (const node of order.slice(0, order.indexOf(end)).toReversed()) {
    if (node.inputs.length === 0 || outside(node)) continue;
    if (users.get(node)!.every((user) => body.has(user))) body.add(node);
  }
  return [...body].toReversed();
}

/** Writes a branch as If; `write` writes one node. */
export function writeBranch({ end, which, body }: Branch, to: Lowering, write: (node: Tensor) => void): string {
  const condition = which.inputs[0]!;
  const then_branch = graphOf(end, to, () => {
    to.learnDims(which, range(to, 1));
    for (const node of body) {
      const known = nameOfOnly(node, condition, to);
      if (known !== undefined) to.names.set(node, known);
      else if (node !== condition) write(node);
    }
    return to.names.get(end)!;
  });
  const else_branch = graphOf(end, to, () => to.names.get(end.inputs[0]!)!);
  return to.emit("If", [to.names.get(askedOf(which))!], { attributes: { then_branch, else_branch } });
}

/** Where the row is there it is the only one: nothing is looked up in a table of one row, and what is put there is the table. */
function nameOfOnly(node: Tensor, condition: Tensor, to: Lowering): string | undefined {
  if (is(node, "which")) return node.inputs[0] === condition ? range(to, 1) : undefined;
  const [table, ids, rows] = node.inputs;
  const puts = is(node, "replaceRows");
  if (!(puts || is(node, "gather")) || table!.shape[0] !== 1) return undefined;
  return whichOf(ids!)?.inputs[0] === condition ? to.names.get(puts ? rows! : table!) : undefined;
}

/** A graph that gives one value of the end's shape. */
function graphOf({ dtype: type, shape }: Tensor, to: Lowering, write: () => string): AttributeValue {
  let name = "";
  const nodes = to.apart(() => {
    name = write();
    // What leaves a branch must have been made in it.
    if (!to.nodes.some(({ outputs }) => outputs.includes(name))) name = to.emit("Identity", [name]);
  });
  return { graph: { nodes, tensors: [], inputs: [], outputs: [{ name, type, shape }] } };
}
