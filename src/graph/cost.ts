/** What a graph costs: floating-point operations and bytes moved, an operation at a time. */
import { evaluateShape, type Sizes } from "./dims.ts";
import { topological } from "./order.ts";
import type { Op, Tensor } from "./vocabulary.ts";

/** Arithmetic operations of a graph, and the bytes of all that it computes. */
export interface Cost {
  flops: number;
  bytes: number;
}

type Flops<K extends Op> = (node: Tensor<K>, sizes: Sizes) => number;

const elements = (tensor: Tensor, sizes: Sizes) => evaluateShape(tensor.shape, sizes).reduce((a, b) => a * b, 1);

const free = () => 0;
/** n operations for each element of the result. */
const perResult = (n: number) => (node: Tensor, sizes: Sizes) => n * elements(node, sizes);
/** n operations for each element of the first input. */
const perInput = (n: number) => (node: Tensor, sizes: Sizes) => n * elements(node.inputs[0]!, sizes);

/** Operations of each node. Transcendental functions count as one, as is usual; layout and indexing as none. */
const flops: { readonly [K in Op]: Flops<K> } = {
  input: free,
  parameter: free,
  constant: free,
  iota: free,
  add: perResult(1),
  subtract: perResult(1),
  multiply: perResult(1),
  divide: perResult(1),
  maximum: perResult(1),
  minimum: perResult(1),
  negate: perResult(1),
  abs: perResult(1),
  exp: perResult(1),
  log: perResult(1),
  sqrt: perResult(1),
  erf: perResult(1),
  tanh: perResult(1),
  sigmoid: perResult(1),
  relu: perResult(1),
  silu: perResult(2),
  gelu: perResult(4),
  equal: perResult(1),
  less: perResult(1),
  greater: perResult(1),
  not: perResult(1),
  and: perResult(1),
  or: perResult(1),
  select: perResult(1),
  cast: free,
  stopGradient: free,
  after: free,
  matmul: (node, sizes) => {
    const shape = evaluateShape(node.inputs[0]!.shape, sizes);
    return 2 * elements(node, sizes) * shape.at(node.attributes.transposeA ? -2 : -1)!;
  },
  sum: perInput(1),
  mean: perInput(1),
  max: perInput(1),
  argMax: perInput(1),
  softmax: perResult(5),
  logSoftmax: perResult(5),
  layerNorm: perResult(8),
  inverseDeviation: perInput(4),
  cumulativeSum: perResult(1),
  reshape: free,
  broadcast: free,
  transpose: free,
  concat: free,
  slice: free,
  pad: free,
  gather: free,
  which: free,
  replaceRows: free,
  scatterAdd: (node, sizes) => elements(node.inputs[1]!, sizes),
  pick: free,
  place: free,
  oneHot: free,
};

/** Leaves and views move nothing by themselves. */
const views = new Set<Op>(["input", "parameter", "constant", "reshape", "stopGradient"]);
const bytesOf = { float: 4, int: 4, bool: 1 };

function bytes(tensor: Tensor, sizes: Sizes): number {
  if (views.has(tensor.op)) return 0;
  return [tensor, ...tensor.inputs].reduce((total, each) => total + bytesOf[each.dtype] * elements(each, sizes), 0);
}

/** The cost of one node. */
export function costOf(tensor: Tensor, sizes: Sizes = new Map()): Cost {
  return { flops: (flops[tensor.op] as Flops<Op>)(tensor, sizes), bytes: bytes(tensor, sizes) };
}

/** The cost of everything the outputs need; named dimensions take their size from `sizes`. */
export function cost(outputs: readonly Tensor[], sizes: Sizes = new Map()): Cost {
  const total: Cost = { flops: 0, bytes: 0 };
  for (const tensor of topological(outputs)) {
    const each = costOf(tensor, sizes);
    total.flops += each.flops;
    total.bytes += each.bytes;
  }
  return total;
}
