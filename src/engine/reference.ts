/** The reference engine: evaluates a graph in plain double-precision loops. Slow, and the oracle for the fast one. */
import { LayerwiseError, rejectShape } from "../base/errors.ts";
import { checkOptions, oneOf } from "../base/options.ts";
import type { Op, Tensor } from "../graph/index.ts";
import { is, topological } from "../graph/index.ts";
import type { Engine, Feed, Feeds, Numbers, Program, ProgramSource } from "./engine.ts";
import { allocate, type Evaluate, evaluation, type Value } from "./evaluate.ts";
import { bindFeeds, checkTargets, inputPorts, outputPorts } from "./ports.ts";

/** How the reference engine computes. */
export interface ReferenceOptions {
  /** Precision of the results; computation is double in either case. */
  precision?: "single" | "double";
}

/** The engine in plain TypeScript: slow, exact and without dependencies; others are tested against it. */
export function referenceEngine(options: ReferenceOptions = {}): Engine {
  checkOptions("engine", options, { precision: oneOf(["single", "double"]) });
  const { precision = "single" } = options;
  return {
    name: "reference",
    threads: 1,
    device: "cpu",
    compile: async (source) => compile(source, precision === "double"),
  };
}

function compile(source: ProgramSource, wide: boolean): Program {
  const inputs = inputPorts(source);
  const outputs = outputPorts(source);
  const order = topological(Object.values(source.outputs));
  let released = false;
  return {
    inputs,
    outputs,
    async run(feeds: Feeds, into = {}) {
      if (released) throw new LayerwiseError("program: released, compile it again to run it");
      const { bound, sizes } = bindFeeds(inputs, feeds, true);
      checkTargets(outputs, into);
      const values = evaluateAll(order, source, bound, sizes);
      const results = Object.entries(source.outputs).map(([name, tensor]) => {
        return [name, deliver(name, tensor, values.get(tensor)!, wide, into[name])] as const;
      });
      return Object.fromEntries(results);
    },
    async release() {
      released = true;
    },
  };
}

function evaluateAll(
  order: readonly Tensor[],
  source: ProgramSource,
  bound: ReadonlyMap<string, Feed>,
  sizes: Map<string, number>,
): Map<Tensor, Value> {
  const values = new Map<Tensor, Value>();
  for (const tensor of order) {
    const weights = source.weights?.get(tensor);
    if (weights) values.set(tensor, widened(tensor, weights, tensor.shape as readonly number[]));
    else if (is(tensor, "input") || is(tensor, "parameter")) {
      const feed = bound.get(tensor.attributes.name)!;
      values.set(tensor, widened(tensor, feed.data, feed.shape));
    } else {
      const evaluate = evaluation[tensor.op] as Evaluate<Op>;
      const inputs = tensor.inputs.map((input) => values.get(input)!);
      const value = evaluate(tensor, inputs, sizes);
      if (is(tensor, "which")) sizes.set(tensor.attributes.size, value.shape[0]!);
      values.set(tensor, value);
    }
  }
  return values;
}

function widened(tensor: Tensor, data: Numbers, shape: readonly number[]): Value {
  const copy = allocate(tensor.dtype, data.length);
  copy.set(data);
  return { shape, data: copy };
}

function deliver(name: string, tensor: Tensor, value: Value, wide: boolean, into: Numbers | Feed | undefined): Feed {
  const data = narrowed(tensor, value.data, wide);
  if (!into) return { shape: value.shape, data };
  const target = ArrayBuffer.isView(into) ? into : into.data;
  if (target.length !== data.length) {
    rejectShape({ who: `output ${name}`, needed: `an array of ${data.length}`, got: `${target.length}` });
  }
  target.set(data);
  return { shape: value.shape, data: target };
}

function narrowed(tensor: Tensor, data: Value["data"], wide: boolean): Numbers {
  return tensor.dtype === "float" && !wide ? Float32Array.from(data) : data;
}
