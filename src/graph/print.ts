/** The printed form of a graph: one line a node, inputs before users, numbered from 0. */
import { printShape } from "./dims.ts";
import { topological } from "./order.ts";
import type { Tensor } from "./vocabulary.ts";

/** `%2 = matmul %1 %0 {scale: 0.5} [2,4]`, and a last line that names the outputs. */
export function print(outputs: Tensor | readonly Tensor[] | Readonly<Record<string, Tensor>>): string {
  const named = namesOf(outputs);
  const order = topological(Object.values(named));
  const numbers = new Map(order.map((tensor, i) => [tensor, `%${i}`]));
  const lines = order.map((tensor) => {
    const inputs = tensor.inputs.map((input) => ` ${numbers.get(input)}`).join("");
    const dtype = tensor.dtype === "float" ? "" : `${tensor.dtype} `;
    return `${numbers.get(tensor)} = ${tensor.op}${inputs}${attributes(tensor)} ${dtype}${printShape(tensor.shape)}`;
  });
  const results = Object.entries(named).map(([name, tensor]) => `${name}: ${numbers.get(tensor)}`);
  return [...lines, `return ${results.join(", ")}`].join("\n");
}

function namesOf(outputs: Parameters<typeof print>[0]): Readonly<Record<string, Tensor>> {
  if (Array.isArray(outputs)) return Object.fromEntries(outputs.map((tensor: Tensor, i) => [String(i), tensor]));
  return isTensor(outputs) ? { 0: outputs } : (outputs as Record<string, Tensor>);
}

function isTensor(value: object): value is Tensor {
  return "op" in value && typeof value.op === "string";
}

const hidden = new Set(["shape", "dtype"]);

function attributes(tensor: Tensor): string {
  if (tensor.op === "input" || tensor.op === "parameter") return ` ${(tensor.attributes as { name: string }).name}`;
  const parts = Object.entries(tensor.attributes)
    .filter(([key, value]) => !hidden.has(key) && value !== false && !(key === "scale" && value === 1))
    .map(([key, value]) => `${key}: ${printed(value)}`);
  return parts.length > 0 ? ` {${parts.join(", ")}}` : "";
}

function printed(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const list = Array.from(value as ArrayLike<unknown>);
  return list.length > 8 ? `${list.slice(0, 8).join(" ")} … (${list.length})` : `[${list.join(",")}]`;
}
