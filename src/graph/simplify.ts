/** Simplification: common sub-expressions become one node, and a table of identities makes graphs smaller or cheaper. */
import * as g from "./build.ts";
import { broadcastShapes, type Shape, sameShape, sizeOf } from "./dims.ts";
import { topological, useCounts } from "./order.ts";
import { is, withInputs, within } from "./tensor.ts";
import type { DType, Op, Tensor } from "./vocabulary.ts";

/** What a rule may ask about the graph as it was. */
interface Context {
  /** True when this node's value is wanted by one user only, so that it may be merged into that user. */
  usedOnce(tensor: Tensor): boolean;
  /** True when softmax of x is computed too. */
  hasSoftmax(x: Tensor): boolean;
}

/** A cheaper equal of the node, or undefined. */
type Rule = (node: Tensor, context: Context) => Tensor | undefined;

const elementwise = new Set<Op>([
  ...(["add", "subtract", "multiply", "divide", "maximum", "minimum", "equal", "less", "greater"] as const),
  ...(["and", "or", "select"] as const),
]);
const unary = new Set<Op>(["negate", "abs", "exp", "log", "sqrt", "erf", "tanh", "sigmoid", "relu", "silu", "not"]);

/** The number a node holds everywhere, looking through broadcasts and reshapes. */
function uniform(tensor: Tensor | undefined, dtype: DType = "float"): number | undefined {
  if (tensor?.dtype !== dtype) return undefined;
  if (is(tensor, "constant")) return tensor.attributes.data.length === 1 ? tensor.attributes.data[0] : undefined;
  return tensor.op === "broadcast" || tensor.op === "reshape" ? uniform(tensor.inputs[0], dtype) : undefined;
}

const folds: Partial<Record<Op, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  maximum: Math.max,
  minimum: Math.min,
  negate: (a) => -a,
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
};

/** Arithmetic on numbers that are the same everywhere. */
const foldNumbers: Rule = (node) => {
  const fold = folds[node.op];
  const values = node.inputs.map((each) => uniform(each));
  if (!fold || values.some((value) => value === undefined)) return undefined;
  return g.full(fold(values[0]!, values[1] ?? 0), node.shape);
};

/** x + 0, x − 0, x · 1, x / 1 */
const dropNeutral: Rule = (node) => {
  const neutral =
    node.op === "add" || node.op === "subtract" ? 0 : node.op === "multiply" || node.op === "divide" ? 1 : undefined;
  if (neutral === undefined) return undefined;
  const [a, b] = [node.inputs[0]!, node.inputs[1]!];
  if (uniform(b) === neutral && sameShape(a.shape, node.shape)) return a;
  const commutes = node.op === "add" || node.op === "multiply";
  return commutes && uniform(a) === neutral && sameShape(b.shape, node.shape) ? b : undefined;
};

/** Element-wise operations broadcast by themselves: an explicit broadcast that changes nothing goes. */
const dropBroadcast: Rule = (node) => {
  if (!elementwise.has(node.op) || !node.inputs.some((input) => input.op === "broadcast")) return undefined;
  for (let i = 0; i < node.inputs.length; i++) {
    const input = node.inputs[i]!;
    if (input.op !== "broadcast") continue;
    const inputs = node.inputs.with(i, input.inputs[0]!);
    const shape = inputs.reduce<Shape | undefined>((all, each) => all && broadcastShapes(all, each.shape), []);
    if (shape && sameShape(shape, node.shape)) return withInputs(node, inputs);
  }
  return undefined;
};

/** f(broadcast x) = broadcast f(x); reshape of one number is that number. */
const sinkBroadcast: Rule = (node) => {
  const input = node.inputs[0];
  if (input?.op !== "broadcast") return undefined;
  const source = input.inputs[0]!;
  if (node.op === "reshape" && sizeOf(source.shape) === 1) return g.broadcast(g.reshape(source, []), node.shape);
  if (!unary.has(node.op)) return undefined;
  return g.broadcast({ ...withInputs(node, [source]), shape: source.shape }, node.shape);
};

/** (x · c) · d = x · (c·d) */
const mergeScales: Rule = (node) => {
  const [inner, c] = scaled(node) ?? [];
  const [x, d] = (inner && scaled(inner)) ?? [];
  return x && sameShape(x.shape, node.shape) ? g.multiply(x, c! * d!) : undefined;
};

/** x and c where the node is x · c. */
function scaled(node: Tensor): [Tensor, number] | undefined {
  if (node.op === "negate") return [node.inputs[0]!, -1];
  if (node.op !== "multiply") return undefined;
  const [a, b] = [node.inputs[0]!, node.inputs[1]!];
  const [onRight, onLeft] = [uniform(b), uniform(a)];
  if (onRight !== undefined && sameShape(a.shape, node.shape)) return [a, onRight];
  return onLeft !== undefined && sameShape(b.shape, node.shape) ? [b, onLeft] : undefined;
}

/** a + (−b) = a − b, a − (−b) = a + b. */
const dropNegation: Rule = (node) => {
  const [a, b] = node.inputs;
  if (node.op === "add" && b?.op === "negate") return g.subtract(a!, b.inputs[0]!);
  if (node.op === "add" && a?.op === "negate") return g.subtract(b!, a.inputs[0]!);
  if (node.op === "subtract" && b?.op === "negate") return g.add(a!, b.inputs[0]!);
  return undefined;
};

const mergeLayout: Rule = (node) => {
  const [x] = node.inputs;
  if (is(node, "reshape")) {
    if (sameShape(x!.shape, node.shape)) return x;
    return x!.op === "reshape" ? g.reshape(x!.inputs[0]!, node.shape) : undefined;
  }
  if (!is(node, "transpose")) return undefined;
  const { permutation } = node.attributes;
  if (permutation.every((axis, i) => axis === i)) return x;
  if (!is(x!, "transpose")) return undefined;
  const before = x.attributes.permutation;
  return g.transpose(
    x.inputs[0]!,
    permutation.map((axis) => before[axis]!),
  );
};

const dropCast: Rule = (node) =>
  node.op === "cast" && node.dtype === node.inputs[0]!.dtype ? node.inputs[0] : undefined;

const swapsLast = (permutation: readonly number[]) => {
  const n = permutation.length;
  return permutation.every((axis, i) => axis === (i < n - 2 ? i : 2 * n - 3 - i));
};

/** Transposes and scales move into the product. */
const absorbIntoMatmul: Rule = (node, context) => {
  if (is(node, "matmul")) return absorbInput(node, 0) ?? absorbInput(node, 1);
  const [product, c] = scaled(node) ?? [];
  if (!product || !is(product, "matmul") || !context.usedOnce(product)) return undefined;
  const [a, b] = [product.inputs[0]!, product.inputs[1]!];
  return g.matmul(a, b, { ...product.attributes, scale: product.attributes.scale * c! });
};

function absorbInput(node: Tensor<"matmul">, side: 0 | 1): Tensor | undefined {
  const input = node.inputs[side]!;
  const put = (x: Tensor, change: g.MatmulOptions) => {
    const [a, b] = node.inputs.with(side, x) as [Tensor, Tensor];
    return g.matmul(a, b, { ...node.attributes, ...change });
  };
  const [x, c] = scaled(input) ?? [];
  if (x) return put(x, { scale: node.attributes.scale * c! });
  if (!is(input, "transpose") || !swapsLast(input.attributes.permutation)) return undefined;
  const flag = side === 0 ? "transposeA" : "transposeB";
  return put(input.inputs[0]!, { [flag]: !node.attributes[flag] });
}

/** A factor that is one number a row: x · r with r of shape […, 1]. Gives x and r. */
function rowScaled(node: Tensor): [Tensor, Tensor] | undefined {
  if (node.op !== "multiply") return undefined;
  for (const [x, r] of [node.inputs, node.inputs.toReversed()] as [Tensor, Tensor][]) {
    const isColumn = r.shape.length === node.shape.length && r.shape.at(-1) === 1 && node.shape.at(-1) !== 1;
    if (isColumn && sameShape(x.shape, node.shape)) return [x, r];
  }
  return undefined;
}

/** diag(r)·P · X = diag(r)·(P·X) and (diag(r)·P)ᵀ · X = Pᵀ · (diag(r)·X): scale the smaller side. */
const moveRowScale: Rule = (node) => {
  if (!is(node, "matmul")) return undefined;
  const [left, right] = [node.inputs[0]!, node.inputs[1]!];
  const [p, r] = rowScaled(left) ?? [];
  if (!p || !r || Number(sizeOf(p.shape)) <= Number(sizeOf(right.shape))) return undefined;
  const { transposeA, transposeB } = node.attributes;
  if (!transposeA) return g.multiply(g.matmul(p, right, node.attributes), r);
  return transposeB ? undefined : g.matmul(p, g.multiply(right, r), node.attributes);
};

/** A matrix of one value a row times a matrix is a look-up; its transpose, a scatter. Sums are split to get there. */
const matmulOfPlace: Rule = (node) => {
  if (!is(node, "matmul") || node.inputs.some((input) => input.shape.length !== 2)) return undefined;
  const [left, right] = [node.inputs[0]!, node.inputs[1]!];
  if (is(left, "place")) return lookUp(node, left, right);
  const splits = (left.op === "subtract" || left.op === "add") && left.inputs.some((input) => input.op === "place");
  if (!splits || left.inputs.some((input) => !sameShape(input.shape, left.shape))) return undefined;
  const [a, b] = left.inputs.map((input) => g.matmul(input, right, node.attributes)) as [Tensor, Tensor];
  return left.op === "add" ? g.add(a, b) : g.subtract(a, b);
};

function lookUp(node: Tensor<"matmul">, left: Tensor<"place">, right: Tensor): Tensor | undefined {
  const [values, ids] = [left.inputs[0]!, left.inputs[1]!];
  const { transposeA, transposeB, scale } = node.attributes;
  if (transposeB) return undefined;
  const column = g.multiply(g.expandDims(values, -1), scale);
  if (!transposeA) return g.multiply(g.gather(right, ids), column);
  return g.scatterAdd(ids, g.multiply(right, column), left.attributes.size);
}

/** Sums over `place`: along the row it is the value; down the rows, a scatter. */
const sumOfPlace: Rule = (node) => {
  if (!is(node, "sum")) return undefined;
  const x = node.inputs[0]!;
  const { axes, keepDims } = node.attributes;
  if (is(x, "place") && axes.length === 1) {
    const [values, ids] = [x.inputs[0]!, x.inputs[1]!];
    if (axes[0] === x.shape.length - 1) return g.reshape(values, node.shape);
    if (x.shape.length === 2) return g.reshape(g.scatterAdd(ids, values, x.attributes.size), node.shape);
  }
  const splits = (x.op === "subtract" || x.op === "add") && x.inputs.some((input) => input.op === "place");
  if (!splits || x.inputs.some((input) => !sameShape(input.shape, x.shape))) return undefined;
  const [a, b] = x.inputs.map((input) => g.sum(input, { axes, keepDims })) as [Tensor, Tensor];
  return x.op === "add" ? g.add(a, b) : g.subtract(a, b);
};

/**
 * log softmax(x)[id] = x[id] − log Σ exp x, and where softmax(x) is at hand, log Σ exp x = max x − log max softmax(x): the
 * matrix of log-probabilities is never written.
 */
const pickOfLogSoftmax: Rule = (node, context) => {
  const [logs, ids] = node.inputs;
  if (node.op !== "pick" || logs?.op !== "logSoftmax" || !context.usedOnce(logs)) return undefined;
  const x = logs.inputs[0]!;
  if (!context.hasSoftmax(x)) return undefined;
  const largest = { axes: [-1] };
  const logTotal = g.subtract(g.max(x, largest), g.log(g.max(g.softmax(x), largest)));
  return g.subtract(g.pick(x, ids!), logTotal);
};

/** Rows that were just put somewhere need not be looked up there: their ids are distinct. */
const gatherOfReplaced: Rule = (node) => {
  const [table, ids] = node.inputs;
  return node.op === "gather" && table?.op === "replaceRows" && table.inputs[1] === ids ? table.inputs[2] : undefined;
};

/** Looked up or put, the same number everywhere stays that. */
const rowsOfNumbers: Rule = (node) => {
  const value = uniform(node.inputs[0]);
  if (value === undefined) return undefined;
  if (node.op === "gather") return g.full(value, node.shape);
  return node.op === "replaceRows" && uniform(node.inputs[2]) === value ? node.inputs[0] : undefined;
};

/** A choice that is the same everywhere is no choice. */
const chooseOnce: Rule = (node) => {
  const [condition, yes, no] = node.inputs;
  const value = node.op === "select" ? uniform(condition, "bool") : undefined;
  if (value === undefined) return undefined;
  const chosen = value ? yes! : no!;
  return sameShape(chosen.shape, node.shape) ? chosen : g.broadcast(chosen, node.shape);
};

/** 1 / (e^−x + 1) = sigmoid x, where no pull-back wants what comes between. */
const recogniseSigmoid: Rule = (node, { usedOnce }) => {
  const [one, total] = node.inputs;
  if (node.op !== "divide" || uniform(one) !== 1 || total!.op !== "add" || uniform(total!.inputs[1]) !== 1)
    return undefined;
  const power = total!.inputs[0]!;
  const negated = power.op === "exp" ? power.inputs[0]! : undefined;
  if (negated?.op !== "negate" || ![total!, power, negated].every(usedOnce)) return undefined;
  return sameShape(negated.shape, node.shape) ? g.sigmoid(negated.inputs[0]!) : undefined;
};

/** w · y + (1 − w) · x = x + w · (y − x), where no pull-back wants the products. */
const blendOnce: Rule = (node, { usedOnce }) => {
  const [share, rest] = node.inputs;
  if (node.op !== "add" || share!.op !== "multiply" || rest!.op !== "multiply") return undefined;
  const [w, y] = share!.inputs as [Tensor, Tensor];
  const [remaining, x] = rest!.inputs as [Tensor, Tensor];
  const isRest = remaining.op === "subtract" && uniform(remaining.inputs[0]) === 1 && remaining.inputs[1] === w;
  if (!isRest || !sameShape(x.shape, y.shape) || !sameShape(x.shape, node.shape)) return undefined;
  return [share!, rest!, remaining].every(usedOnce) ? g.add(x, g.multiply(w, g.subtract(y, x))) : undefined;
};

const rules: readonly Rule[] = [
  foldNumbers,
  dropNeutral,
  dropBroadcast,
  sinkBroadcast,
  mergeScales,
  dropNegation,
  mergeLayout,
  dropCast,
  sumOfPlace,
  matmulOfPlace,
  moveRowScale,
  absorbIntoMatmul,
  pickOfLogSoftmax,
  gatherOfReplaced,
  rowsOfNumbers,
  chooseOnce,
  recogniseSigmoid,
  blendOnce,
];

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

/** One pass over the graph, inputs first. */
function pass(outputs: readonly Tensor[]): Tensor[] {
  const counts = useCounts(outputs);
  const order = topological(outputs);
  const softmaxed = new Set(order.filter((node) => node.op === "softmax").map((node) => node.inputs[0]!));
  const originals = new Map<Tensor, Tensor>();
  const context: Context = {
    usedOnce: (tensor) => (counts.get(originals.get(tensor) ?? tensor) ?? 1) <= 1,
    hasSoftmax: (x) => softmaxed.has(originals.get(x) ?? x),
  };
  const known = new Map<string, Tensor>();
  const arrays = new Map<unknown, number>();
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
    const settled = settle(rewrite(settle(node), context));
    done.set(node, settled);
    if (!originals.has(settled)) originals.set(settled, node);
  }
  return outputs.map((output) => done.get(output)!);
}

/** Applies rules at one node until none fits. */
function rewrite(node: Tensor, context: Context): Tensor {
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

/** An equal graph with fewer or cheaper nodes; passes are repeated until nothing changes. */
export function simplify(outputs: readonly Tensor[]): Tensor[] {
  let current = [...outputs];
  for (let round = 0; round < 20; round++) {
    const next = pass(current);
    if (next.every((tensor, i) => tensor === current[i])) break;
    current = next;
  }
  return current;
}
