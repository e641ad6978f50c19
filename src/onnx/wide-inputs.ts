/** Whole numbers of 64 bits at the door of a graph that works with 32: what other libraries feed. */
import type { OnnxGraph, OnnxNode } from "./proto.ts";

const INT32 = 6;

/** The graph with its integer inputs under other names, as int64; what has no other name stays. */
export function wideInputs(graph: OnnxGraph, names: Readonly<Record<string, string>>): OnnxGraph {
  const renamed = graph.inputs.filter(({ name, type }) => type === "int" && names[name] !== undefined);
  const casts = renamed.map(({ name }): OnnxNode => {
    return { op: "Cast", inputs: [names[name]!], outputs: [name], attributes: { to: INT32 } };
  });
  const inputs = graph.inputs.map((each) => {
    return renamed.includes(each) ? { ...each, name: names[each.name]!, type: "int64" as const } : each;
  });
  return { ...graph, inputs, nodes: [...casts, ...graph.nodes] };
}
