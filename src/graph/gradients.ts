/** Reverse-mode gradients as graph surgery: one pull-back an operation, and the driver that sums and un-broadcasts them. */
import { rejectShape as reject } from "../base/errors.ts";
import * as g from "./build.ts";
import { addDims, type Dim, printShape, type Shape, sameShape, subtractDims } from "./dims.ts";
import { topological } from "./order.ts";
import { currentScope, is, within } from "./tensor.ts";
import type { Op, Tensor } from "./vocabulary.ts";

/** From a node and the gradient of its value, the gradients of its inputs; null where there is none to give. */
type PullBack<K extends Op> = (
  gradient: Tensor,
  node: Tensor<K>,
  inputs: readonly Tensor[],
) => readonly (Tensor | null)[];

const none = () => [null, null, null];

/** Pull-back of a function of one variable, from the derivative at x (y is the value). */
function derivative<K extends Op>(at: (x: Tensor, y: Tensor<K>) => Tensor): PullBack<K> {
  return (gradient, y, inputs) => [g.multiply(gradient, at(inputs[0]!, y))];
}

/** Where the condition holds the gradient goes to a, elsewhere to b. */
function route(condition: Tensor, gradient: Tensor): Tensor[] {
  return [g.select(condition, gradient, 0), g.select(condition, 0, gradient)];
}

/** A reduced gradient back at the rank of x, ready to broadcast. */
function keep(gradient: Tensor, x: Tensor, axes: readonly number[]): Tensor {
  return g.reshape(
    gradient,
    x.shape.map((dim, i) => (axes.includes(i) ? 1 : dim)),
  );
}

function countOf(x: Tensor, axes: readonly number[]): number {
  return axes.reduce((count, axis) => {
    const dim = x.shape[axis]!;
    if (typeof dim === "number") return count * dim;
    return reject({
      who: `${currentScope()} / mean`,
      needed: "an axis of known size",
      got: printShape(x.shape),
      remedy: "divide a sum by the count instead",
    });
  }, 1);
}

function inverse(permutation: readonly number[]): number[] {
  return permutation.map((_, i) => permutation.indexOf(i));
}

/** d/dx of x·Φ(x), Φ the normal distribution function: Φ(x) + x·φ(x). */
function geluErfSlope(x: Tensor): Tensor {
  const a = g.multiply(x, Math.SQRT1_2);
  const distribution = g.add(g.multiply(g.erf(a), 0.5), 0.5);
  const density = g.exp(g.multiply(a, g.negate(a)));
  return g.add(distribution, g.multiply(g.multiply(x, density), 1 / Math.sqrt(2 * Math.PI)));
}

/** With u = k(x + c·x³), t = tanh u: d/dx ½x(1 + t) = ½(1 + t) + ½x(1 − t²)·k(1 + 3c·x²). */
function geluTanhSlope(x: Tensor): Tensor {
  const k = Math.sqrt(2 / Math.PI);
  const c = 0.044715;
  const xx = g.multiply(x, x);
  const t = g.tanh(g.multiply(x, g.add(g.multiply(xx, k * c), k)));
  const half = g.add(g.multiply(t, 0.5), 0.5);
  const inner = g.multiply(x, g.add(g.multiply(xx, 3 * k * c), k));
  // ½(1 − t²) = 2·half·(1 − half)
  return g.add(half, g.multiply(g.multiply(g.multiply(half, 2), g.subtract(1, half)), inner));
}

function matmulPullBack(gradient: Tensor, node: Tensor<"matmul">, [a, b]: readonly Tensor[]): Tensor[] {
  const { transposeA: ta, transposeB: tb, scale } = node.attributes;
  const da = ta
    ? g.matmul(b!, gradient, { transposeA: tb, transposeB: true, scale })
    : g.matmul(gradient, b!, { transposeB: !tb, scale });
  const db = tb
    ? g.matmul(gradient, a!, { transposeA: true, transposeB: ta, scale })
    : g.matmul(a!, gradient, { transposeA: !ta, scale });
  return [da, db];
}

/** With x̂ the normalised input and a = gradient·gain: dx = (a − mean a − x̂·mean(a·x̂)) / deviation. */
function layerNormPullBack(gradient: Tensor, node: Tensor<"layerNorm">, [x, gain]: readonly Tensor[]): Tensor[] {
  const { epsilon } = node.attributes;
  const width = gain!.shape as readonly number[];
  const normal = g.layerNorm(x!, g.full(1, width), g.full(0, width), epsilon);
  const a = g.multiply(gradient, gain!);
  return [normalisePullBack(a, normal, g.inverseDeviation(x!, epsilon)), g.multiply(gradient, normal), gradient];
}

function normalisePullBack(a: Tensor, normal: Tensor, inverseDeviation: Tensor): Tensor {
  const last = { axes: [-1], keepDims: true };
  const centred = g.subtract(a, g.mean(a, last));
  const along = g.multiply(normal, g.mean(g.multiply(a, normal), last));
  return g.multiply(g.subtract(centred, along), inverseDeviation);
}

/** s = (variance + ε)^−½, so ds/dx = −s³·(x − mean)/C = −s²·x̂/C. */
function inverseDeviationPullBack(gradient: Tensor, s: Tensor<"inverseDeviation">, [x]: readonly Tensor[]): Tensor[] {
  const centred = g.subtract(x!, g.mean(x!, { axes: [-1], keepDims: true }));
  const cube = g.multiply(g.multiply(s, s), s);
  const count = countOf(x!, [x!.shape.length - 1]);
  return [g.multiply(g.multiply(centred, g.multiply(gradient, cube)), -1 / count)];
}

function concatPullBack(gradient: Tensor, node: Tensor<"concat">, inputs: readonly Tensor[]): Tensor[] {
  const { axis } = node.attributes;
  let start: Dim = 0;
  return inputs.map((input) => {
    const end: Dim = addDims(start, input.shape[axis]!);
    const piece = g.slice(gradient, axis, start, end);
    start = end;
    return piece;
  });
}

function remaining(whole: Dim, end: Dim): Dim {
  const rest = subtractDims(whole, end);
  if (rest !== undefined) return rest;
  return reject({
    who: `${currentScope()} / slice`,
    needed: "a slice that leaves a known rest of the axis",
    got: `… ${end} of ${whole}`,
  });
}

function slicePullBack(gradient: Tensor, node: Tensor<"slice">, [x]: readonly Tensor[]): Tensor[] {
  const { axis, start, end } = node.attributes;
  return [g.pad(gradient, axis, start, remaining(x!.shape[axis]!, end))];
}

/** The calculus, one row an operation. */
export const pullBacks: { readonly [K in Op]: PullBack<K> } = {
  input: none,
  parameter: none,
  constant: none,
  iota: none,

  add: (d) => [d, d],
  subtract: (d) => [d, g.negate(d)],
  multiply: (d, _, [a, b]) => [g.multiply(d, b!), g.multiply(d, a!)],
  divide: (d, y, [, b]) => [g.divide(d, b!), g.negate(g.divide(g.multiply(d, y), b!))],
  maximum: (d, _, [a, b]) => route(g.not(g.less(a!, b!)), d),
  minimum: (d, _, [a, b]) => route(g.not(g.greater(a!, b!)), d),
  negate: (d) => [g.negate(d)],
  abs: (d, _, [x]) => [g.select(g.less(x!, 0), g.negate(d), d)],
  exp: derivative((_, y) => y),
  log: (d, _, [x]) => [g.divide(d, x!)],
  sqrt: (d, y) => [g.divide(d, g.multiply(y, 2))],
  erf: derivative((x) => g.multiply(g.exp(g.negate(g.multiply(x, x))), 2 / Math.sqrt(Math.PI))),
  tanh: derivative((_, y) => g.subtract(1, g.multiply(y, y))),
  sigmoid: derivative((_, y) => g.multiply(y, g.subtract(1, y))),
  // A product: choosing by `select` takes the runtime longer.
  relu: (d, y) => [g.multiply(d, g.cast(g.greater(y, 0), "float"))],
  // s + y·(1 − s), s = sigmoid x
  silu: derivative((x, y) => {
    const s = g.sigmoid(x);
    return g.add(s, g.multiply(y, g.subtract(1, s)));
  }),
  gelu: (d, node, [x]) => [g.multiply(d, node.attributes.form === "erf" ? geluErfSlope(x!) : geluTanhSlope(x!))],
  equal: none,
  less: none,
  greater: none,
  not: none,
  and: none,
  or: none,
  select: (d, _, [condition]) => [null, ...route(condition!, d)],
  cast: none,
  stopGradient: none,
  after: (d) => [d],

  matmul: matmulPullBack,
  sum: (d, node, [x]) => [g.broadcast(keep(d, x!, node.attributes.axes), x!.shape)],
  mean: (d, node, [x]) => {
    const each = g.multiply(keep(d, x!, node.attributes.axes), 1 / countOf(x!, node.attributes.axes));
    return [g.broadcast(each, x!.shape)];
  },
  // Equal maxima share the gradient, as in PyTorch's amax.
  max: (d, y, [x]) => {
    const { axes } = y.attributes;
    const hits = g.cast(g.equal(x!, keep(y, x!, axes)), "float");
    return [g.multiply(hits, g.divide(keep(d, x!, axes), g.sum(hits, { axes, keepDims: true })))];
  },
  argMax: none,
  softmax: (d, y) => {
    const inner = g.sum(g.multiply(d, y), { axes: [-1], keepDims: true });
    return [g.multiply(g.subtract(d, inner), y)];
  },
  logSoftmax: (d, _, [x]) => [g.subtract(d, g.multiply(g.softmax(x!), g.sum(d, { axes: [-1], keepDims: true })))],
  layerNorm: layerNormPullBack,
  inverseDeviation: inverseDeviationPullBack,
  cumulativeSum: (d, node) => {
    const { axis, exclusive, reverse } = node.attributes;
    return [g.cumulativeSum(d, axis, { exclusive, reverse: !reverse })];
  },

  reshape: (d, _, [x]) => [g.reshape(d, x!.shape)],
  broadcast: (d) => [d],
  transpose: (d, node) => [g.transpose(d, inverse(node.attributes.permutation))],
  concat: concatPullBack,
  slice: slicePullBack,
  pad: (d, node, [x]) => {
    const { axis, before } = node.attributes;
    return [g.slice(d, axis, before, addDims(before, x!.shape[axis]!))];
  },

  gather: (d, _, [table, ids]) => [g.scatterAdd(ids!, d, table!.shape[0]!), null],
  which: none,
  replaceRows: (d, _, [, ids, rows]) => [g.replaceRows(d, ids!, g.full(0, rows!.shape)), null, g.gather(d, ids!)],
  scatterAdd: (d, _, [ids]) => [null, g.gather(d, ids!)],
  pick: (d, _, [x, ids]) => [g.place(d, ids!, x!.shape.at(-1)!), null],
  place: (d, _, [, ids]) => [g.pick(d, ids!), null],
  oneHot: none,
};

/** Sums out the axes along which a value was broadcast. */
function unbroadcast(gradient: Tensor, shape: Shape): Tensor {
  if (sameShape(gradient.shape, shape)) return gradient;
  const extra = gradient.shape.length - shape.length;
  const axes = gradient.shape
    .map((_, i) => i)
    .filter((i) => i < extra || (shape[i - extra] === 1 && gradient.shape[i] !== 1));
  return g.reshape(axes.length ? g.sum(gradient, { axes, keepDims: true }) : gradient, shape);
}

/** Adds what came from all users. Pieces that tile the tensor (the gradients of its slices) become one concat. */
export function total(contributions: readonly Tensor[], shape: Shape): Tensor {
  return tiles(contributions, shape) ?? contributions.reduce((a, b) => g.add(a, b));
}

function tiles(contributions: readonly Tensor[], shape: Shape): Tensor | undefined {
  const pads = contributions.filter((each) => is(each, "pad"));
  const axis = pads[0]?.attributes.axis;
  if (pads.length < 2 || pads.length < contributions.length || axis === undefined) return undefined;
  const sorted = pads.toSorted((a, b) => Number(a.attributes.before) - Number(b.attributes.before));
  let end: Dim = 0;
  for (const piece of sorted) {
    if (piece.attributes.axis !== axis || piece.attributes.before !== end) return undefined;
    end = addDims(end, piece.inputs[0]!.shape[axis]!);
  }
  return end === shape[axis]
    ? g.concat(
        sorted.map((piece) => piece.inputs[0]!),
        axis,
      )
    : undefined;
}

/** Nodes on a path from a wanted tensor to the loss. */
function reaching(order: readonly Tensor[], wanted: ReadonlySet<Tensor>): Set<Tensor> {
  const live = new Set<Tensor>(wanted);
  for (const tensor of order) {
    if (tensor.inputs.some((input) => live.has(input))) live.add(tensor);
  }
  return live;
}

/**
 * d loss / d each of `wanted`, as new nodes. `seed` is the gradient of the loss itself (1 for a scalar). What the loss does not
 * depend on gets zeros.
 */
export function gradients(loss: Tensor, wanted: readonly Tensor[], seed: Tensor = g.full(1, loss.shape)): Tensor[] {
  return pullThrough([topological([loss])], loss, wanted, seed);
}

/** Gradients that came to a tensor from its users. */
export type Arrived = Map<Tensor, Tensor[]>;

/** What happens before and after the gradient goes through a segment. */
export interface Between {
  /** What stands in the place of a segment's nodes while the gradient goes through it. */
  enter(segment: readonly Tensor[], arrived: Arrived): ReadonlyMap<Tensor, Tensor>;
  leave(segment: readonly Tensor[], found: ReadonlyMap<Tensor, Tensor>, arrived: Arrived): void;
}

/** Gradients by segments of the loss, last first; the last is entered by the loss alone. */
export function pullThrough(
  segments: readonly (readonly Tensor[])[],
  loss: Tensor,
  wanted: readonly Tensor[],
  seed: Tensor,
  between?: Between,
): Tensor[] {
  if (loss.dtype !== "float") reject({ who: "gradients", needed: "a float loss", got: loss.dtype });
  const live = reaching(segments.flat(), new Set(wanted));
  const found = new Map<Tensor, Tensor>();
  const arrived: Arrived = new Map([[loss, [seed]]]);
  for (const [i, segment] of [...segments.entries()].toReversed()) {
    const instead = i < segments.length - 1 ? between?.enter(segment, arrived) : undefined;
    for (const tensor of segment.toReversed()) {
      const contributions = arrived.get(tensor);
      if (!contributions || !live.has(tensor)) continue;
      arrived.delete(tensor);
      const gradient = total(contributions, tensor.shape);
      found.set(tensor, gradient);
      pull(tensor, instead?.get(tensor) ?? tensor, gradient, live, arrived);
    }
    if (i > 0) between?.leave(segment, found, arrived);
  }
  return wanted.map((tensor) => found.get(tensor) ?? g.full(0, tensor.shape));
}

/** `node` is the tensor itself, or what is computed again in its place: only values are taken of it. */
function pull(tensor: Tensor, node: Tensor, gradient: Tensor, live: ReadonlySet<Tensor>, arrived: Arrived): void {
  const apply = pullBacks[tensor.op] as PullBack<Op>;
  const pulled = within(`gradient of ${tensor.scope || tensor.op}`, () => apply(gradient, node, node.inputs));
  tensor.inputs.forEach((input, i) => {
    const share = pulled[i];
    if (!share || input.dtype !== "float" || !live.has(input)) return;
    const contributions = arrived.get(input) ?? [];
    contributions.push(unbroadcast(share, input.shape));
    arrived.set(input, contributions);
  });
}
