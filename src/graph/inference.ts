/** What shape and type each operation gives, and what it refuses: the table behind every error a bad graph throws. */
import { rejectShape as reject } from "../base/errors.ts";
import { addDims, broadcastShapes, type Dim, printShape, type Shape, sameShape, sizeOf, subtractDims } from "./dims.ts";
import type { Attributes, DType, Op, Reduction, Tensor } from "./vocabulary.ts";

export interface Inferred {
  readonly shape: Shape;
  readonly dtype: DType;
}

type Infer<K extends Op> = (who: string, inputs: readonly Tensor[], attributes: Attributes[K]) => Inferred;

function operands(who: string, inputs: readonly Tensor[], ...dtypes: (DType | "any")[]): void {
  if (inputs.length !== dtypes.length) reject({ who, needed: `${dtypes.length} inputs`, got: `${inputs.length}` });
  dtypes.forEach((dtype, i) => {
    const input = inputs[i]!;
    if (dtype !== "any" && input.dtype !== dtype) {
      reject({
        who,
        needed: `${dtype} as input ${i}`,
        got: `${input.dtype} ${printShape(input.shape)}`,
        remedy: "cast it first",
      });
    }
  });
}

function broadcastAll(who: string, inputs: readonly Tensor[]): Dim[] {
  return inputs.reduce<Dim[]>((shape, input) => {
    const wider = broadcastShapes(shape, input.shape);
    if (wider) return wider;
    const shapes = inputs.map((each) => printShape(each.shape)).join(" and ");
    return reject({
      who,
      needed: "shapes that broadcast",
      got: shapes,
      remedy: "make the differing dimensions equal or 1",
    });
  }, []);
}

function unary(dtype: DType): (who: string, inputs: readonly Tensor[]) => Inferred {
  return (who, inputs) => {
    operands(who, inputs, dtype);
    return { shape: inputs[0]!.shape, dtype };
  };
}

function arithmetic(who: string, inputs: readonly Tensor[]): Inferred {
  operands(who, inputs, "any", "any");
  const [a, b] = [inputs[0]!, inputs[1]!];
  if (a.dtype !== b.dtype || a.dtype === "bool") {
    reject({ who, needed: "two inputs of one number type", got: `${a.dtype} and ${b.dtype}`, remedy: "cast one" });
  }
  return { shape: broadcastAll(who, inputs), dtype: a.dtype };
}

function comparison(who: string, inputs: readonly Tensor[]): Inferred {
  return { shape: arithmetic(who, inputs).shape, dtype: "bool" };
}

function logic(who: string, inputs: readonly Tensor[]): Inferred {
  operands(who, inputs, "bool", "bool");
  return { shape: broadcastAll(who, inputs), dtype: "bool" };
}

function axisOf(who: string, shape: Shape, axis: number): Dim {
  const dim = shape[axis];
  if (!Number.isInteger(axis) || dim === undefined) {
    reject({ who, needed: `an axis from 0 to ${shape.length - 1}`, got: `${axis} of ${printShape(shape)}` });
  }
  return dim;
}

function lastAxis(who: string, inputs: readonly Tensor[]): Inferred {
  operands(who, inputs, "float");
  return { shape: rows(who, inputs[0]!.shape), dtype: "float" };
}

function rows(who: string, shape: Shape): Shape {
  if (shape.length === 0) reject({ who, needed: "at least one axis", got: "a scalar" });
  return shape;
}

function reduction(who: string, inputs: readonly Tensor[], { axes, keepDims }: Reduction): Inferred {
  operands(who, inputs, "float");
  const { shape } = inputs[0]!;
  for (const axis of axes) axisOf(who, shape, axis);
  if (new Set(axes).size !== axes.length) reject({ who, needed: "distinct axes", got: `[${axes}]` });
  const reduced = keepDims
    ? shape.map((dim, i) => (axes.includes(i) ? 1 : dim))
    : shape.filter((_, i) => !axes.includes(i));
  return { shape: reduced, dtype: "float" };
}

/** A size that an attribute gives: a whole number from 0, or sums and products of names (`M+T`, `2*B*T`). */
function sizeFrom(who: string, size: Dim): Dim {
  const valid = typeof size === "number" ? Number.isInteger(size) && size >= 0 : NAMED_SIZE.test(size);
  if (!valid) reject({ who, needed: "a whole size from 0, or a named one", got: `${size}` });
  return size;
}

const NAMED_SIZE = /^\w+([*+]\w+)*$/;

function withAxis(shape: Shape, axis: number, dim: Dim): Dim[] {
  return shape.map((old, i) => (i === axis ? dim : old));
}

/** end − start, where both are known to lie within the axis: of a named axis and a number, that is for the runtime to see. */
function extent(who: string, dim: Dim, start: Dim, end: Dim): Dim {
  const size = subtractDims(end, start);
  const inside = [start, end].every((at) => typeof at === "string" || (Number.isInteger(at) && at >= 0));
  const tooFar = typeof end === "number" && typeof dim === "number" && end > dim;
  if (size !== undefined && inside && !tooFar) return size;
  return reject({ who, needed: `a range within 0 … ${dim}`, got: `${start} … ${end}` });
}

function matmul(who: string, inputs: readonly Tensor[], attributes: Attributes["matmul"]): Inferred {
  operands(who, inputs, "float", "float");
  const [a, b] = [inputs[0]!.shape, inputs[1]!.shape];
  const got = `${printShape(a)}${attributes.transposeA ? "ᵀ" : ""} · ${printShape(b)}${attributes.transposeB ? "ᵀ" : ""}`;
  if (a.length < 2 || b.length < 2) reject({ who, needed: "two matrices", got, remedy: "reshape to at least 2 axes" });
  const [m, innerA] = attributes.transposeA ? [a.at(-1)!, a.at(-2)!] : [a.at(-2)!, a.at(-1)!];
  const [innerB, n] = attributes.transposeB ? [b.at(-1)!, b.at(-2)!] : [b.at(-2)!, b.at(-1)!];
  if (innerA !== innerB) {
    reject({ who, needed: "equal inner dimensions", got, remedy: "transpose one side or change its width" });
  }
  const batch = broadcastShapes(a.slice(0, -2), b.slice(0, -2));
  if (!batch) reject({ who, needed: "batch dimensions that broadcast", got });
  return { shape: [...batch, m, n], dtype: "float" };
}

function layerNorm(who: string, inputs: readonly Tensor[]): Inferred {
  operands(who, inputs, "float", "float", "float");
  const shape = rows(who, inputs[0]!.shape);
  for (const [name, input] of [["gain", inputs[1]!] as const, ["bias", inputs[2]!] as const]) {
    if (!sameShape(input.shape, [shape.at(-1)!])) {
      reject({ who, needed: `${name} of shape [${shape.at(-1)}]`, got: printShape(input.shape) });
    }
  }
  return { shape, dtype: "float" };
}

function reshape(who: string, inputs: readonly Tensor[], { shape }: { shape: Shape }): Inferred {
  operands(who, inputs, "any");
  for (const dim of shape) sizeFrom(who, dim);
  const input = inputs[0]!;
  if (sizeOf(shape) !== sizeOf(input.shape)) {
    const got = `${printShape(input.shape)} = ${sizeOf(input.shape)} for ${printShape(shape)}`;
    reject({ who, needed: `${sizeOf(shape)} elements`, got });
  }
  return { shape, dtype: input.dtype };
}

function broadcast(who: string, inputs: readonly Tensor[], { shape }: { shape: Shape }): Inferred {
  operands(who, inputs, "any");
  const input = inputs[0]!;
  const wider = broadcastShapes(input.shape, shape);
  if (!wider || !sameShape(wider, shape)) {
    reject({ who, needed: `a shape that broadcasts to ${printShape(shape)}`, got: printShape(input.shape) });
  }
  return { shape, dtype: input.dtype };
}

function transpose(who: string, inputs: readonly Tensor[], { permutation }: Attributes["transpose"]): Inferred {
  operands(who, inputs, "any");
  const { shape, dtype } = inputs[0]!;
  const sorted = [...permutation].sort((a, b) => a - b);
  if (permutation.length !== shape.length || sorted.some((axis, i) => axis !== i)) {
    reject({ who, needed: `a permutation of ${shape.length} axes`, got: `[${permutation}] for ${printShape(shape)}` });
  }
  return { shape: permutation.map((axis) => shape[axis]!), dtype };
}

function concat(who: string, inputs: readonly Tensor[], { axis }: { axis: number }): Inferred {
  const first = inputs[0];
  if (!first) return reject({ who, needed: "at least one input", got: "none" });
  axisOf(who, first.shape, axis);
  for (const input of inputs) {
    const alike =
      input.dtype === first.dtype && sameShape(withAxis(input.shape, axis, 0), withAxis(first.shape, axis, 0));
    if (!alike) {
      const got = inputs.map((each) => `${each.dtype} ${printShape(each.shape)}`).join(", ");
      reject({ who, needed: `inputs alike but for axis ${axis}`, got });
    }
  }
  const total = inputs.map((input) => input.shape[axis]!).reduce(addDims);
  return { shape: withAxis(first.shape, axis, total), dtype: first.dtype };
}

function idsMatch(who: string, ids: Tensor, shape: Shape): void {
  if (!sameShape(ids.shape, shape)) {
    reject({ who, needed: `ids of shape ${printShape(shape)}`, got: printShape(ids.shape) });
  }
}

function which(who: string, inputs: readonly Tensor[], { size }: Attributes["which"]): Inferred {
  operands(who, inputs, "bool");
  if (inputs[0]!.shape.length !== 1) reject({ who, needed: "a condition [N]", got: printShape(inputs[0]!.shape) });
  if (!/^[A-Za-z_]\w*$/.test(size)) reject({ who, needed: "a name for its size", got: size });
  return { shape: [size], dtype: "int" };
}

/** One row an operation: inputs and attributes → shape and type, or a `LayerwiseError` that names the scope. */
export const inference: { readonly [K in Op]: Infer<K> } = {
  input: (who, _, { name, shape, dtype }) => {
    if (name === "") reject({ who, needed: "a name", got: '""' });
    for (const dim of shape) sizeFrom(who, dim);
    return { shape, dtype };
  },
  parameter: (who, _, { name, shape }) => {
    const whole = shape.every((dim) => Number.isInteger(dim) && dim >= 0);
    if (!whole) reject({ who, needed: `whole sizes for ${name}`, got: printShape(shape) });
    return { shape, dtype: "float" };
  },
  constant: (who, _, { shape, dtype, data }) => {
    if (data.length !== sizeOf(shape)) {
      reject({ who, needed: `${sizeOf(shape)} values for ${printShape(shape)}`, got: `${data.length}` });
    }
    return { shape, dtype };
  },
  iota: (who, _, { size }) => ({ shape: [sizeFrom(who, size)], dtype: "int" }),

  add: arithmetic,
  subtract: arithmetic,
  multiply: arithmetic,
  divide: arithmetic,
  maximum: arithmetic,
  minimum: arithmetic,
  negate: unary("float"),
  abs: unary("float"),
  exp: unary("float"),
  log: unary("float"),
  sqrt: unary("float"),
  erf: unary("float"),
  tanh: unary("float"),
  sigmoid: unary("float"),
  relu: unary("float"),
  silu: unary("float"),
  gelu: unary("float"),
  equal: comparison,
  less: comparison,
  greater: comparison,
  not: unary("bool"),
  and: logic,
  or: logic,
  select: (who, inputs) => {
    operands(who, inputs, "bool", "any", "any");
    const { dtype } = inputs[1]!;
    if (dtype !== inputs[2]!.dtype) {
      reject({ who, needed: "two branches of one type", got: `${dtype} and ${inputs[2]!.dtype}`, remedy: "cast one" });
    }
    return { shape: broadcastAll(who, inputs), dtype };
  },
  cast: (who, inputs, { to }) => {
    operands(who, inputs, "any");
    return { shape: inputs[0]!.shape, dtype: to };
  },
  stopGradient: (who, inputs) => {
    operands(who, inputs, "any");
    return { shape: inputs[0]!.shape, dtype: inputs[0]!.dtype };
  },
  after: (who, inputs) => {
    operands(who, inputs, ...inputs.map(() => "float" as const));
    return { shape: inputs[0]!.shape, dtype: "float" };
  },

  matmul,
  sum: reduction,
  mean: reduction,
  max: reduction,
  argMax: (who, inputs) => {
    operands(who, inputs, "float");
    return { shape: rows(who, inputs[0]!.shape).slice(0, -1), dtype: "int" };
  },
  softmax: lastAxis,
  logSoftmax: lastAxis,
  layerNorm,
  inverseDeviation: (who, inputs) => {
    const { shape } = lastAxis(who, inputs);
    return { shape: [...shape.slice(0, -1), 1], dtype: "float" };
  },
  cumulativeSum: (who, inputs, { axis }) => {
    operands(who, inputs, "float");
    axisOf(who, inputs[0]!.shape, axis);
    return { shape: inputs[0]!.shape, dtype: "float" };
  },

  reshape,
  broadcast,
  transpose,
  concat,
  slice: (who, inputs, { axis, start, end }) => {
    operands(who, inputs, "any");
    const { shape, dtype } = inputs[0]!;
    const dim = axisOf(who, shape, axis);
    return { shape: withAxis(shape, axis, extent(who, dim, start, end)), dtype };
  },
  pad: (who, inputs, { axis, before, after }) => {
    operands(who, inputs, "float");
    const { shape, dtype } = inputs[0]!;
    const dim = axisOf(who, shape, axis);
    return {
      shape: withAxis(
        shape,
        axis,
        [before, after].reduce((sum, side) => addDims(sum, sizeFrom(who, side)), dim),
      ),
      dtype,
    };
  },

  gather: (who, inputs) => {
    operands(who, inputs, "any", "int");
    const [table, ids] = [inputs[0]!, inputs[1]!];
    return { shape: [...ids.shape, ...rows(who, table.shape).slice(1)], dtype: table.dtype };
  },
  which,
  replaceRows: (who, inputs) => {
    operands(who, inputs, "float", "int", "float");
    const [table, ids, values] = inputs as [Tensor, Tensor, Tensor];
    const needed = [...ids.shape, ...rows(who, table.shape).slice(1)];
    if (ids.shape.length !== 1 || !sameShape(values.shape, needed)) {
      const got = `ids ${printShape(ids.shape)}, rows ${printShape(values.shape)}`;
      reject({ who, needed: `ids [I] and rows of ${printShape(table.shape)} for them`, got });
    }
    return { shape: table.shape, dtype: "float" };
  },
  scatterAdd: (who, inputs, { size }) => {
    operands(who, inputs, "int", "float");
    const [ids, values] = [inputs[0]!, inputs[1]!];
    idsMatch(who, ids, values.shape.slice(0, ids.shape.length));
    return { shape: [sizeFrom(who, size), ...values.shape.slice(ids.shape.length)], dtype: "float" };
  },
  pick: (who, inputs) => {
    operands(who, inputs, "float", "int");
    idsMatch(who, inputs[1]!, rows(who, inputs[0]!.shape).slice(0, -1));
    return { shape: inputs[1]!.shape, dtype: "float" };
  },
  place: (who, inputs, { size }) => {
    operands(who, inputs, "float", "int");
    idsMatch(who, inputs[1]!, inputs[0]!.shape);
    return { shape: [...inputs[0]!.shape, sizeFrom(who, size)], dtype: "float" };
  },
  oneHot: (who, inputs, { size }) => {
    operands(who, inputs, "int");
    return { shape: [...inputs[0]!.shape, sizeFrom(who, size)], dtype: "float" };
  },
};
