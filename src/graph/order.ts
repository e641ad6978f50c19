/** Walking a graph: inputs before users, without recursion, so that depth has no limit. */
import type { Tensor } from "./vocabulary.ts";

/** Every node that the outputs need, each after its inputs. */
export function topological(outputs: readonly Tensor[]): Tensor[] {
  const order: Tensor[] = [];
  const seen = new Set<Tensor>();
  const stack: { tensor: Tensor; next: number }[] = [];
  for (const output of outputs) {
    if (!seen.has(output)) stack.push({ tensor: output, next: 0 });
    seen.add(output);
    while (stack.length > 0) {
      const top = stack.at(-1)!;
      const input = top.tensor.inputs[top.next++];
      if (input === undefined) {
        order.push(top.tensor);
        stack.pop();
      } else if (!seen.has(input)) {
        seen.add(input);
        stack.push({ tensor: input, next: 0 });
      }
    }
  }
  return order;
}

/** How many nodes and outputs use each node. */
export function useCounts(outputs: readonly Tensor[]): Map<Tensor, number> {
  const counts = new Map<Tensor, number>();
  const count = (tensor: Tensor) => counts.set(tensor, (counts.get(tensor) ?? 0) + 1);
  outputs.forEach(count);
  for (const tensor of topological(outputs)) tensor.inputs.forEach(count);
  return counts;
}

/** The nodes that take each node, in order; twice where they take it twice. */
export function usersOf(order: readonly Tensor[]): Map<Tensor, Tensor[]> {
  const users = new Map<Tensor, Tensor[]>();
  for (const node of order) {
    for (const input of node.inputs) {
      const known = users.get(input);
      if (known) known.push(node);
      else users.set(input, [node]);
    }
  }
  return users;
}
