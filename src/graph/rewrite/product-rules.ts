/** Rules on products and sums: what moves into a product, and what need not be written at full size. */
import * as g from "../build.ts";
import { sameShape, sizeOf } from "../dims.ts";
import { is } from "../tensor.ts";
import type { Op, Tensor } from "../vocabulary.ts";
import { type Context, eitherWay, type Rule, scaled } from "./rule.ts";

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
  for (const [x, r] of eitherWay(node)) {
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

/** The smallest normal number of float32: what is less cannot be told from 0. */
const SMALLEST = 2 ** -126;

/**
 * log softmax(x)[id] is the logarithm of one probability, where softmax(x) is at hand: the matrix of log-probabilities is never written,
 * and nothing goes over x again. A probability below the smallest normal number counts as that: the logarithm is −87 at least.
 */
const pickOfLogSoftmax: Rule = (node, context) => {
  const [logs, ids] = node.inputs;
  if (node.op !== "pick" || logs?.op !== "logSoftmax" || !context.usedOnce(logs)) return undefined;
  const x = logs.inputs[0]!;
  return context.hasSoftmax(x) ? g.log(g.maximum(g.pick(g.softmax(x), ids!), SMALLEST)) : undefined;
};

/** (x · W + b)[:, i … j] = x · W[:, i … j] + b[i … j], where nobody wants the whole: weights are smaller than what is made of them. */
const sliceWeights: Rule = (node, { usedOnce, everyUse }) => {
  const whole = node.inputs[0]!;
  if (!is(node, "slice") || node.attributes.axis !== 1) return undefined;
  if (!everyUse(whole, ({ op }) => op === "slice")) return undefined;
  const [product, bias] = whole.op === "add" ? (whole.inputs as [Tensor, Tensor]) : [whole, undefined];
  if (!is(product, "matmul") || product.inputs.some(({ shape }) => shape.length !== 2)) return undefined;
  const [x, w] = product.inputs as [Tensor, Tensor];
  if (w.op !== "parameter" || (bias && !(usedOnce(product) && bias.shape.length === 1))) return undefined;
  const { start, end } = node.attributes;
  const part = g.matmul(x, g.slice(w, product.attributes.transposeB ? 0 : 1, start, end), product.attributes);
  return bias ? g.add(part, g.slice(bias, 0, start, end)) : part;
};

/** Σ c · x = c · Σ x */
const scaleOfSum: Rule = (node) => {
  const [x, c] = (is(node, "sum") && scaled(node.inputs[0]!)) || [];
  return x && g.multiply(g.sum(x, (node as Tensor<"sum">).attributes), c!);
};

const reductions: Partial<Record<Op, typeof g.sum | typeof g.mean | typeof g.max>> = {
  sum: g.sum,
  mean: g.mean,
  max: g.max,
};

/** Axes that a reduction keeps as 1, only for a reshape to take them off, are not kept. */
const dropKeptAxes: Rule = (node, { usedOnce }) => {
  const [reduced] = node.inputs;
  const reduce = reduced && node.op === "reshape" && usedOnce(reduced) ? reductions[reduced.op] : undefined;
  if (!reduce) return undefined;
  const { axes, keepDims } = (reduced as Tensor<"sum">).attributes;
  const rest = reduced!.shape.filter((_, i) => !axes.includes(i));
  return keepDims && sameShape(rest, node.shape) ? reduce(reduced!.inputs[0]!, { axes }) : undefined;
};

/**
 * Σⱼ (a·bᵀ)ᵢⱼ wᵢⱼ = Σ꜀ aᵢ꜀ (w·b)ᵢ꜀: where w·b is at hand, as in the pull-back of attention, shorter rows are added up. The weights
 * w may have come as two factors, one of them with a·bᵀ.
 */
const rowDot: Rule = (node, { known }) => {
  const x = node.inputs[0];
  if (!is(node, "sum") || x?.op !== "multiply" || String(node.attributes.axes) !== String(x.shape.length - 1))
    return undefined;
  for (const [left, right] of eitherWay(x)) {
    const split = left.op === "multiply" ? eitherWay(left) : [[left, undefined] as const];
    for (const [product, factor] of split) {
      const weights = factor ? (known(g.multiply(right, factor)) ?? known(g.multiply(factor, right))) : right;
      const short = weights && shorterRows(product, weights, known);
      if (short) return g.sum(short, node.attributes);
    }
  }
  return undefined;
};

/** a ∘ (w·b) where the product is a·bᵀ, w·b is known, and its rows are shorter. */
function shorterRows(product: Tensor, weights: Tensor, known: Context["known"]): Tensor | undefined {
  if (!is(product, "matmul") || !sameShape(product.shape, weights.shape)) return undefined;
  const [a, b] = product.inputs as [Tensor, Tensor];
  const { transposeA, transposeB, scale } = product.attributes;
  if (transposeA || !transposeB || scale !== 1 || !(Number(a.shape.at(-1)) < Number(product.shape.at(-1))))
    return undefined;
  const mixed = known(g.matmul(weights, b));
  return mixed && sameShape(mixed.shape, a.shape) ? g.multiply(a, mixed) : undefined;
}

export const productRules: readonly Rule[] = [
  sumOfPlace,
  matmulOfPlace,
  moveRowScale,
  absorbIntoMatmul,
  pickOfLogSoftmax,
  sliceWeights,
  scaleOfSum,
  dropKeptAxes,
  rowDot,
];
