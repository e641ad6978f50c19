/** Test cases for every operation: shapes that broadcast, shapes of size 1, empty shapes, random ones. Total, like the other tables. */
import { RandomStream } from "../base/random.ts";
import * as g from "./build.ts";
import type { DType, Op, Tensor } from "./vocabulary.ts";

/** How to draw an input: plain normals, numbers safely above 0, distinct numbers, whole numbers below a bound, booleans. */
export type Draw = "normal" | "positive" | "distinct" | "boolean" | { below: number };

export interface CaseInput {
  readonly shape: readonly number[];
  readonly draw: Draw;
}

export interface OpCase {
  readonly label: string;
  readonly inputs: readonly CaseInput[];
  readonly build: (...inputs: Tensor[]) => Tensor;
}

const stream = new RandomStream(3, "op cases");

function randomShape(rank = 1 + stream.integer(3)): number[] {
  return Array.from({ length: rank }, () => 1 + stream.integer(4));
}

/** A shape that broadcasts with `shape`: some axes 1, some leading ones left out. */
function broadcastable(shape: readonly number[]): number[] {
  return shape.slice(stream.integer(shape.length + 1)).map((dim) => (stream.integer(2) ? dim : 1));
}

const shapes = [[2, 3], [1], [], [0, 3], [3, 1, 2], randomShape(), randomShape(4)];
const rowShapes = [[2, 3], [1], [0, 3], [2, 1, 5], randomShape(), randomShape(4)];
const pairs = [
  [
    [2, 3],
    [2, 3],
  ],
  [[2, 3], [3]],
  [
    [4, 1, 3],
    [2, 1],
  ],
  [[], [2, 2]],
  [[0, 3], [3]],
  [[1], [1]],
  ...Array.from({ length: 3 }, () => {
    const shape = randomShape(3);
    return [shape, broadcastable(shape)];
  }),
] as [number[], number[]][];

function cases(inputs: readonly CaseInput[][], build: OpCase["build"]): OpCase[] {
  return inputs.map((list) => ({ label: list.map(({ shape }) => `[${shape}]`).join(" "), inputs: list, build }));
}

const unary = (build: (x: Tensor) => Tensor, draw: Draw = "normal") =>
  cases(
    shapes.map((shape) => [{ shape, draw }]),
    build,
  );

const rowwise = (build: (x: Tensor) => Tensor, draw: Draw = "normal") =>
  cases(
    rowShapes.map((shape) => [{ shape, draw }]),
    build,
  );

const binary = (build: (a: Tensor, b: Tensor) => Tensor, drawA: Draw = "normal", drawB: Draw = drawA) =>
  cases(
    pairs.map(([a, b]) => [
      { shape: a, draw: drawA },
      { shape: b, draw: drawB },
    ]),
    build,
  );

const one = (label: string, inputs: [readonly number[], Draw][], build: OpCase["build"]): OpCase => ({
  label,
  inputs: inputs.map(([shape, draw]) => ({ shape, draw })),
  build,
});

/** Of numbers and whole numbers below a limit, which say where. */
const atIds = (
  label: string,
  shape: readonly number[],
  ids: readonly number[],
  below: number,
  build: OpCase["build"],
): OpCase =>
  one(
    label,
    [
      [shape, "normal"],
      [ids, { below }],
    ],
    build,
  );

function products(): OpCase[] {
  const operands: [number[], number[]][] = [
    [
      [2, 3],
      [3, 4],
    ],
    [
      [1, 1],
      [1, 1],
    ],
    [
      [0, 3],
      [3, 2],
    ],
    [
      [3, 0],
      [0, 2],
    ],
    [
      [2, 5, 3],
      [3, 4],
    ],
    [
      [2, 3, 4, 5],
      [2, 3, 5, 2],
    ],
    [
      [2, 1, 3, 2],
      [4, 2, 3],
    ],
    [
      [7, 19],
      [19, 33],
    ],
  ];
  const swap = (shape: number[]) => [...shape.slice(0, -2), shape.at(-1)!, shape.at(-2)!];
  return operands.flatMap(([a, b]) =>
    [0, 1, 2, 3].map((flags) => {
      const [transposeA, transposeB] = [Boolean(flags & 1), Boolean(flags & 2)];
      const [left, right] = [transposeA ? swap(a) : a, transposeB ? swap(b) : b];
      return one(
        `[${left}]${transposeA ? "ᵀ" : ""} [${right}]${transposeB ? "ᵀ" : ""}`,
        [
          [left, "normal"],
          [right, "normal"],
        ],
        (x, y) => g.matmul(x!, y!, { transposeA, transposeB, scale: 0.5 + flags }),
      );
    }),
  );
}

function reductions(build: (x: Tensor, options: g.ReduceOptions) => Tensor, draw: Draw = "normal"): OpCase[] {
  const options: [number[], g.ReduceOptions][] = [
    [[2, 3, 4], {}],
    [[2, 3, 4], { axes: [1] }],
    [[2, 3, 4], { axes: [0, 2], keepDims: true }],
    [[2, 1, 4], { axes: [-1], keepDims: true }],
    [[3, 1], { axes: [] }],
    [[5, 0, 2], { axes: [0] }],
  ];
  return options.map(([shape, option]) =>
    one(`[${shape}] ${JSON.stringify(option)}`, [[shape, draw]], (x) => build(x!, option)),
  );
}

/** Numbers near 0 and far out, where activations bend. */
const activation = (build: (x: Tensor) => Tensor) => [
  ...unary(build),
  one("wide", [[[64], "normal"]], (x) => build(g.multiply(x!, 3))),
];

export const opCases: { readonly [K in Op]: readonly OpCase[] } = {
  input: unary((x) => x),
  // Fed like an input; the engine contract has the cases of bound and unbound weights.
  parameter: [],
  constant: [
    one("vector", [[[3], "normal"]], (x) => g.add(x!, g.constant([1, 2, 3], [3]))),
    one("infinite", [[[2], "normal"]], (x) => g.exp(g.add(x!, g.constant([0, Number.NEGATIVE_INFINITY], [2])))),
  ],
  iota: [one("positions", [[[4], "normal"]], (x) => g.add(x!, g.cast(g.iota(4), "float")))],

  add: binary(g.add),
  subtract: binary(g.subtract),
  multiply: binary(g.multiply),
  divide: binary(g.divide, "normal", "positive"),
  maximum: binary(g.maximum, "distinct"),
  minimum: binary(g.minimum, "distinct"),
  negate: unary(g.negate),
  abs: unary(g.abs, "distinct"),
  exp: unary(g.exp),
  log: unary(g.log, "positive"),
  sqrt: unary(g.sqrt, "positive"),
  erf: activation(g.erf),
  tanh: activation(g.tanh),
  sigmoid: activation(g.sigmoid),
  relu: unary(g.relu, "distinct"),
  silu: activation(g.silu),
  gelu: [...activation((x) => g.gelu(x, "erf")), ...activation((x) => g.gelu(x, "tanh"))],
  equal: [...binary(g.equal, { below: 3 }), ...binary(g.equal)],
  less: [...binary(g.less, { below: 3 }), ...binary(g.less)],
  greater: [...binary(g.greater, { below: 3 }), ...binary(g.greater)],
  not: unary(g.not, "boolean"),
  and: binary(g.and, "boolean"),
  or: binary(g.or, "boolean"),
  select: [
    ...cases(
      pairs.map(([a, b]) => [
        { shape: a, draw: "boolean" },
        { shape: a, draw: "normal" },
        { shape: b, draw: "normal" },
      ]),
      (condition, x, y) => g.select(condition!, x!, y!),
    ),
    one("numbers", [[[2, 3], "boolean"]], (condition) => g.select(condition!, 1, -1)),
    one(
      "ints",
      [
        [[3], "boolean"],
        [[3], { below: 9 }],
      ],
      (condition, x) => g.select(condition!, x!, 4),
    ),
  ],
  cast: [
    ...unary((x) => g.cast(x, "float"), "boolean"),
    ...unary((x) => g.cast(x, "float"), { below: 5 }),
    ...unary((x) => g.cast(x, "bool"), { below: 2 }),
    ...unary((x) => g.cast(x, "int"), "boolean"),
    ...unary((x) => g.cast(g.greater(g.relu(x), 0), "float"), "distinct"),
  ],
  stopGradient: unary((x) => g.add(x, g.multiply(g.stopGradient(x), 0))),
  after: [
    ...unary((x) => g.after(x, [g.exp(x)])),
    one(
      "of other shapes",
      [
        [[2, 3], "normal"],
        [[], "normal"],
        [[4, 1, 2], "normal"],
      ],
      (x, a, b) => g.multiply(g.after(x!, [g.exp(a!), g.exp(b!)]), 2),
    ),
  ],

  matmul: products(),
  sum: [...reductions(g.sum), one("many rows", [[[70, 66], "normal"]], (x) => g.sum(x!, { axes: [0] }))],
  mean: reductions(g.mean),
  max: reductions(g.max, "distinct"),
  argMax: rowwise(g.argMax, "distinct"),
  softmax: [
    ...rowwise(g.softmax),
    one("masked", [[[2, 4], "normal"]], (x) => g.softmax(g.add(x!, g.constant([0, 0, -Infinity, 0], [4])))),
  ],
  logSoftmax: rowwise(g.logSoftmax),
  layerNorm: rowShapes
    .filter((shape) => shape.at(-1)! > 1)
    .map((shape) =>
      one(
        `[${shape}]`,
        [
          [shape, "normal"],
          [[shape.at(-1)!], "normal"],
          [[shape.at(-1)!], "normal"],
        ],
        (x, gain, bias) => g.layerNorm(x!, gain!, bias!, 1e-3),
      ),
    ),
  inverseDeviation: rowShapes
    .filter((shape) => shape.at(-1)! > 1)
    .map((shape) => one(`[${shape}]`, [[shape, "normal"]], (x) => g.inverseDeviation(x!, 1e-2))),
  cumulativeSum: [0, 1, 2, 3].map((flags) =>
    one(`flags ${flags}`, [[[2, 4, 3], "normal"]], (x) =>
      g.cumulativeSum(x!, 1, { exclusive: Boolean(flags & 1), reverse: Boolean(flags & 2) }),
    ),
  ),

  reshape: [
    one("[2,6] to [3,4]", [[[2, 6], "normal"]], (x) => g.reshape(x!, [3, 4])),
    one("[0,6] to [3,0]", [[[0, 6], "normal"]], (x) => g.reshape(x!, [3, 0])),
    one("[1] to []", [[[1], "normal"]], (x) => g.reshape(x!, [])),
  ],
  broadcast: [
    one("[3,1] to [2,3,4]", [[[3, 1], "normal"]], (x) => g.broadcast(x!, [2, 3, 4])),
    one("[] to [2]", [[[], "normal"]], (x) => g.broadcast(x!, [2])),
    one("[1] to [0]", [[[1], "normal"]], (x) => g.broadcast(x!, [0])),
  ],
  transpose: [
    one("[2,3] swapped", [[[2, 3], "normal"]], (x) => g.transpose(x!, [1, 0])),
    one("[2,3,4,5] heads", [[[2, 3, 4, 5], "normal"]], (x) => g.transpose(x!, [0, 2, 1, 3])),
    one("[2,3,4] cycled", [[[2, 3, 4], "normal"]], (x) => g.transpose(x!, [2, 0, 1])),
    one("[0,2]", [[[0, 2], "normal"]], (x) => g.transpose(x!, [1, 0])),
  ],
  concat: [
    one(
      "[2,3] [2,1] on 1",
      [
        [[2, 3], "normal"],
        [[2, 1], "normal"],
      ],
      (a, b) => g.concat([a!, b!, a!], 1),
    ),
    one(
      "empty piece",
      [
        [[0, 2], "normal"],
        [[3, 2], "normal"],
      ],
      (a, b) => g.concat([a!, b!], 0),
    ),
  ],
  slice: [
    one("[5,3] 1…4", [[[5, 3], "normal"]], (x) => g.slice(x!, 0, 1, 4)),
    one("last axis to the end", [[[2, 4], "normal"]], (x) => g.slice(x!, -1, 2, 4)),
    one("nothing", [[[3], "normal"]], (x) => g.slice(x!, 0, 1, 1)),
    one("tiled", [[[2, 6], "normal"]], (x) => {
      const [a, b, c] = g.split(x!, 1, [1, 2, 3]);
      return g.concat([g.multiply(c!, 3), g.multiply(a!, a!), g.exp(b!)], 1);
    }),
  ],
  pad: [
    one("[2,3]", [[[2, 3], "normal"]], (x) => g.pad(x!, 1, 1, 2)),
    one("with a value", [[[2, 3], "normal"]], (x) => g.pad(x!, 0, 0, 1, -7)),
    one("of nothing", [[[0, 3], "normal"]], (x) => g.pad(x!, 0, 2, 0)),
  ],

  gather: [
    atIds("repeated ids", [4, 3], [2, 5], 4, (table, ids) => g.gather(table!, ids!)),
    atIds("no ids", [4, 3], [0], 4, (table, ids) => g.gather(table!, ids!)),
    atIds("of scalars", [4], [3], 4, (table, ids) => g.gather(table!, ids!)),
  ],
  which: [
    one("[5]", [[[5], "boolean"]], (condition) => g.which(condition!, "R")),
    one("of nothing", [[[0], "boolean"]], (condition) => g.which(condition!, "R")),
    one(
      "as the rows of a sum",
      [
        [[6], "boolean"],
        [[6, 2], "normal"],
      ],
      (condition, x) => {
        const some = g.gather(x!, g.which(condition!, "R"));
        return g.sum(g.exp(g.reshape(some, ["2*R"])));
      },
    ),
  ],
  replaceRows: [
    one(
      "two of five",
      [
        [[5, 3], "normal"],
        [[2, 3], "normal"],
      ],
      (table, rows) => {
        return g.replaceRows(table!, g.constant([3, 1], [2], "int"), rows!);
      },
    ),
    one(
      "none",
      [
        [[4], "normal"],
        [[0], { below: 4 }],
        [[0], "normal"],
      ],
      (table, ids, rows) => {
        return g.replaceRows(table!, ids!, rows!);
      },
    ),
    one(
      "those that a condition names",
      [
        [[6], "boolean"],
        [[6, 2], "normal"],
      ],
      (condition, x) => {
        const ids = g.which(condition!, "R");
        return g.replaceRows(x!, ids, g.exp(g.gather(x!, ids)));
      },
    ),
  ],
  scatterAdd: [
    one(
      "repeated ids",
      [
        [[6], { below: 4 }],
        [[6, 3], "normal"],
      ],
      (ids, rows) => g.scatterAdd(ids!, rows!, 4),
    ),
    one(
      "two axes of ids",
      [
        [[2, 3], { below: 5 }],
        [[2, 3, 2], "normal"],
      ],
      (ids, rows) => g.scatterAdd(ids!, rows!, 5),
    ),
    one(
      "no ids",
      [
        [[0], { below: 4 }],
        [[0, 3], "normal"],
      ],
      (ids, rows) => g.scatterAdd(ids!, rows!, 4),
    ),
    one(
      "scalars",
      [
        [[5], { below: 2 }],
        [[5], "normal"],
      ],
      (ids, rows) => g.scatterAdd(ids!, rows!, 3),
    ),
  ],
  pick: [
    atIds("[3,4]", [3, 4], [3], 4, (x, ids) => g.pick(x!, ids!)),
    atIds("[2,3,5]", [2, 3, 5], [2, 3], 5, (x, ids) => g.pick(x!, ids!)),
    atIds("no rows", [0, 5], [0], 5, (x, ids) => g.pick(x!, ids!)),
    atIds("cross-entropy", [4, 6], [4], 6, (x, ids) => g.crossEntropy(x!, ids!)),
    one(
      "tied head: cross-entropy of a product",
      [
        [[4, 3], "normal"],
        [[6, 3], "normal"],
        [[6], "normal"],
        [[4], { below: 6 }],
      ],
      (x, table, bias, ids) => {
        return g.mean(g.crossEntropy(g.add(g.matmul(x!, table!, { transposeB: true }), bias!), ids!));
      },
    ),
    one(
      "tied head with weights a row",
      [
        [[4, 3], "normal"],
        [[6, 3], "normal"],
        [[4], { below: 6 }],
        [[4], "normal"],
      ],
      (x, table, ids, weight) =>
        g.sum(g.multiply(g.crossEntropy(g.matmul(x!, table!, { transposeB: true }), ids!), weight!)),
    ),
  ],
  place: [
    atIds("[3] in 4", [3], [3], 4, (values, ids) => g.place(values!, ids!, 4)),
    atIds("[2,2] in 3", [2, 2], [2, 2], 3, (values, ids) => g.place(values!, ids!, 3)),
    atIds("nothing", [0], [0], 3, (values, ids) => g.place(values!, ids!, 3)),
    one(
      "times a matrix",
      [
        [[3], "normal"],
        [[3], { below: 4 }],
        [[4, 2], "normal"],
        [[3, 2], "normal"],
      ],
      (values, ids, table, rows) => {
        const spread = g.place(values!, ids!, 4);
        return g.add(g.sum(g.matmul(spread, table!)), g.sum(g.matmul(spread, rows!, { transposeA: true })));
      },
    ),
  ],
  oneHot: [
    one("[3] of 4", [[[3], { below: 4 }]], (ids) => g.oneHot(ids!, 4)),
    one("[2,0] of 4", [[[2, 0], { below: 4 }]], (ids) => g.oneHot(ids!, 4)),
  ],
};

export function typeOf(draw: Draw): DType {
  if (typeof draw === "object") return "int";
  return draw === "boolean" ? "bool" : "float";
}

/** Values of the wanted kind; "distinct" ones are apart by at least 0.1 and away from 0, so that no step crosses a kink. */
export function drawValues({ shape, draw }: CaseInput, random: RandomStream): Float64Array | Int32Array | Uint8Array {
  const length = shape.reduce((a, b) => a * b, 1);
  if (typeof draw === "object") return Int32Array.from({ length }, () => random.integer(draw.below));
  if (draw === "boolean") return Uint8Array.from({ length }, () => random.integer(2));
  if (draw === "positive") return Float64Array.from({ length }, () => Math.fround(0.5 + random.uniform()));
  if (draw === "normal") return Float64Array.from({ length }, () => Math.fround(random.normal()));
  const ladder = Array.from({ length }, (_, i) =>
    Math.fround((i + 1 + 0.5 * random.uniform()) * 0.25 * (random.integer(2) ? 1 : -1)),
  );
  return Float64Array.from(random.shuffle(ladder));
}
