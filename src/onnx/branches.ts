/** Work on a row that may be absent, such as a token that may have stopped: one condition around all of it, instead of operations on no rows. */
import { is, type Tensor } from "../graph/index.ts";
import { type Lowering, range } from "./lowering.ts";
import type { AttributeValue } from "./proto.ts";

type Users = ReadonlyMap<Tensor, readonly Tensor[]>;

/** Rows that take the place of others where there is one, by one condition, and all the work that is done for nothing else. */
export interface Branch {
  /** `replaceRows` nodes in order. */
  readonly ends: readonly Tensor[];
  /** It names the row, or none. */
  readonly which: Tensor<"which">;
  /** The nodes of the work in order, the ends among them. */
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

/** Branches of a graph, the last first; of work within work, the outer one. */
export function branchesIn(order: readonly Tensor[], results: ReadonlySet<Tensor>, users: Users): Branch[] {
  const taken = settled(order);
  const places = new Map(order.map((node, place) => [node, place]));
  const branches: Branch[] = [];
  for (const { which, ends } of endsIn(order, taken)) {
    const open = ends.filter((end) => !taken.has(end));
    if (open.length === 0) continue;
    const wanted = [askedOf(which), ...open.map((end) => end.inputs[0]!)]; // with and without a row
    const outside = (node: Tensor) => taken.has(node) || results.has(node) || wanted.includes(node);
    const body = workFor(open, { outside, users, places });
    if (!body.some(({ op }) => op === "matmul")) continue; // too little to be worth a condition
    for (const node of body) taken.add(node);
    branches.push({ ends: open, which, body });
  }
  return branches;
}

interface Ends {
  readonly which: Tensor<"which">;
  readonly ends: readonly Tensor[];
}

/** Rows that may be absent and are put somewhere, the last first: those together that one condition decides, unless they wait for each other. */
function endsIn(order: readonly Tensor[], taken: ReadonlySet<Tensor>): Ends[] {
  const levels = levelsOf(order);
  let groups: Ends[] = [];
  for (const end of order.toSorted((a, b) => levels.get(b)! - levels.get(a)!)) {
    const which = is(end, "replaceRows") && end.shape[0] === 1 && !taken.has(end) && whichOf(end.inputs[1]!);
    if (!which) continue;
    const joined = groups.toReversed().flatMap((group) => {
      if (group.which.inputs[0] !== which.inputs[0]) return [];
      const larger = { which: group.which, ends: [end, ...group.ends] };
      return [groups.map((each) => (each === group ? larger : each))];
    });
    groups = joined.find((each) => isOrdered(order, each)) ?? [...groups, { which, ends: [end] }];
  }
  return groups;
}

/** How many nodes stand one after the other before each. */
function levelsOf(order: readonly Tensor[]): Map<Tensor, number> {
  const levels = new Map<Tensor, number>();
  for (const node of order) levels.set(node, Math.max(-1, ...node.inputs.map((input) => levels.get(input)!)) + 1);
  return levels;
}

/** Whether there is an order in which all ends of a group are worked out at once. */
function isOrdered(order: readonly Tensor[], groups: readonly Ends[]): boolean {
  const groupOf = new Map(groups.flatMap((group) => group.ends.map((end) => [end, group] as const)));
  const waiting = new Map<Tensor | Ends, Set<Tensor | Ends>>();
  for (const node of order) {
    const place = groupOf.get(node) ?? node;
    const before = waiting.get(place) ?? new Set();
    for (const input of node.inputs) before.add(groupOf.get(input) ?? input);
    waiting.set(place, before);
  }
  const state = new Map<Tensor | Ends, "open" | "done">();
  const stack = [...waiting.keys()];
  for (let next = stack.at(-1); next; next = stack.at(-1)) {
    const isOpen = state.get(next) === "open";
    if (state.has(next)) {
      if (isOpen) state.set(next, "done");
      stack.pop();
      continue;
    }
    state.set(next, "open");
    for (const each of waiting.get(next)!) {
      if (state.get(each) === "open") return false;
      if (!state.has(each)) stack.push(each);
    }
  }
  return true;
}

/** Adds all that a node is made of, itself included. */
function addBefore(node: Tensor, to: Set<Tensor>): Set<Tensor> {
  const open = [node];
  for (let next = open.pop(); next; next = open.pop()) {
    if (to.has(next)) continue;
    to.add(next);
    open.push(...next.inputs);
  }
  return to;
}

interface Surroundings {
  readonly outside: (node: Tensor) => boolean;
  readonly users: Users;
  readonly places: ReadonlyMap<Tensor, number>;
}

/** Ends with the nodes that only they and each other use, in order. */
function workFor(ends: readonly Tensor[], { outside, users, places }: Surroundings): Tensor[] {
  const body = new Set(ends);
  const byPlace = (a: Tensor, b: Tensor) => places.get(a)! - places.get(b)!;
  const before = ends.reduce((all, end) => addBefore(end, all), new Set<Tensor>());
  for (const node of [...before].sort(byPlace).toReversed()) {
    if (body.has(node) || node.inputs.length === 0 || outside(node)) continue;
    if (users.get(node)!.every((user) => body.has(user))) body.add(node);
  }
  return [...body].sort(byPlace);
}

/** All that is to be written, in an order in which a branch stands after what its work takes from outside. */
export function orderAround(
  order: readonly Tensor[],
  branches: readonly Branch[],
  results: ReadonlySet<Tensor>,
  users: Users,
): (Tensor | Branch)[] {
  const branchOf = new Map(branches.flatMap((branch) => branch.body.map((node) => [node, branch] as const)));
  const known = knownInside(
    order.filter((node) => !branchOf.has(node) && !results.has(node)),
    branchOf,
    users,
  );
  const found = new Set<Tensor | Branch>();
  const place = (node: Tensor): void => {
    const branch = branchOf.get(node);
    if (found.has(branch ?? node) || known.has(node)) return;
    if (branch) place(askedOf(branch.which));
    for (const each of branch?.body ?? [node]) {
      for (const input of each.inputs) if (!branch || branchOf.get(input) !== branch) place(input);
    }
    found.add(branch ?? node);
  };
  for (const node of order) place(node);
  return [...found];
}

/** Names of rows, and what they are made of, that only branches ask for, which know them: none of it is to be written. */
function knownInside(outside: readonly Tensor[], branchOf: ReadonlyMap<Tensor, Branch>, users: Users): Set<Tensor> {
  const known = new Set<Tensor>();
  const isKnownTo = (user: Tensor, condition: Tensor) => {
    const branch = branchOf.get(user);
    return branch ? branch.which.inputs[0] === condition && isOnly(user, condition) : known.has(user);
  };
  for (const node of outside.toReversed()) {
    const using = users.get(node)!;
    const condition = whichOf(node)?.inputs[0];
    const isAsked = is(node, "reshape") && using.every((user) => is(user, "which"));
    if (
      condition ? using.every((user) => isKnownTo(user, condition)) : isAsked && using.every((user) => known.has(user))
    )
      known.add(node);
  }
  return known;
}

/** Writes a branch as If; `write` writes one node. The names of its ends are known afterwards. */
export function writeBranch({ ends, which, body }: Branch, to: Lowering, write: (node: Tensor) => void): void {
  const condition = which.inputs[0]!;
  const then_branch = graphOf(ends, to, () => {
    to.learnDims(which, range(to, 1));
    for (const node of body) {
      const known = nameOfOnly(node, condition, to);
      if (known !== undefined) to.names.set(node, known);
      else if (node !== condition) write(node);
    }
    return ends.map((end) => to.names.get(end)!);
  });
  const without = (end: Tensor): Tensor => (ends.includes(end) ? without(end.inputs[0]!) : end);
  const else_branch = graphOf(ends, to, () => ends.map((end) => to.names.get(without(end))!));
  const asked = to.names.get(askedOf(which))!;
  const names = to.emitAll("If", [asked], { attributes: { then_branch, else_branch }, outputs: ends.length });
  for (const [i, end] of ends.entries()) to.names.set(end, names[i]!);
}

/** Whether a node looks up the only row of a table, or puts it there, under a condition that holds. */
function isOnly({ op, inputs: [table, ids] }: Tensor, condition: Tensor): boolean {
  const isOneRow = (op === "replaceRows" || op === "gather") && table!.shape[0] === 1;
  return isOneRow && whichOf(ids!)?.inputs[0] === condition;
}

/** Where the row is there it is the only one: nothing is looked up in a table of one row, and what is put there is the table. */
function nameOfOnly(node: Tensor, condition: Tensor, to: Lowering): string | undefined {
  if (is(node, "which") && node.inputs[0] === condition) return range(to, 1);
  return isOnly(node, condition) ? to.names.get(node.inputs[is(node, "replaceRows") ? 2 : 0]!) : undefined;
}

/** A graph that gives values of the shapes of ends. */
function graphOf(ends: readonly Tensor[], to: Lowering, write: () => string[]): AttributeValue {
  let names: string[] = [];
  const nodes = to.apart(() => {
    names = write();
    // What leaves a branch must have been made in it, and leaves once.
    names = names.map((name, i) => {
      const isMade = to.nodes.some(({ outputs }) => outputs.includes(name));
      return isMade && names.indexOf(name) === i ? name : to.emit("Identity", [name]);
    });
  });
  const outputs = ends.map(({ dtype: type, shape }, i) => ({ name: names[i]!, type, shape }));
  return { graph: { nodes, tensors: [], inputs: [], outputs } };
}
