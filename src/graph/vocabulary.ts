/** The one node type of a graph and the closed vocabulary of its operations: types only. */
import type { Dim, Shape } from "./dims.ts";

/** Types of elements; `int` has 32 bits and `float` too. */
export type DType = "float" | "int" | "bool";

/** The attributes of each operation; the keys are the vocabulary. */
export interface Attributes {
  // Leaves. A parameter's identity is how weights are shared: one node, used as often as wanted.
  /** `distinct`: ids, none of which comes twice. */
  input: { readonly name: string; readonly shape: Shape; readonly dtype: DType; readonly distinct?: true };
  parameter: { readonly name: string; readonly shape: readonly number[] };
  constant: { readonly shape: readonly number[]; readonly dtype: DType; readonly data: ArrayLike<number> };
  /** 0, 1, … size − 1 */
  iota: { readonly size: Dim };

  // Element-wise, with broadcasting.
  add: None;
  subtract: None;
  multiply: None;
  divide: None;
  maximum: None;
  minimum: None;
  negate: None;
  abs: None;
  exp: None;
  log: None;
  sqrt: None;
  erf: None;
  tanh: None;
  sigmoid: None;
  relu: None;
  silu: None;
  gelu: { readonly form: "erf" | "tanh" };
  equal: None;
  less: None;
  greater: None;
  not: None;
  and: None;
  or: None;
  /** condition ? a : b */
  select: None;
  cast: { readonly to: DType };
  stopGradient: None;
  /** x, once all others are known: says when something is computed, and keeps it apart from what is equal. */
  after: None;

  // Products, reductions, normalisation.
  /** scale · op(a) · op(b), op transposing the last two axes where asked. */
  matmul: { readonly transposeA: boolean; readonly transposeB: boolean; readonly scale: number };
  sum: Reduction;
  mean: Reduction;
  max: Reduction;
  /** Index of the largest value of the last axis (the first of equals). */
  argMax: None;
  softmax: None;
  logSoftmax: None;
  /** (x − mean) / √(variance + epsilon) · gain + bias over the last axis. */
  layerNorm: { readonly epsilon: number };
  /** 1 / √(variance + epsilon) over the last axis, kept as size 1. */
  inverseDeviation: { readonly epsilon: number };
  cumulativeSum: { readonly axis: number; readonly exclusive: boolean; readonly reverse: boolean };

  // Layout.
  reshape: { readonly shape: Shape };
  broadcast: { readonly shape: Shape };
  transpose: { readonly permutation: readonly number[] };
  concat: { readonly axis: number };
  slice: { readonly axis: number; readonly start: Dim; readonly end: Dim };
  pad: { readonly axis: number; readonly before: Dim; readonly after: Dim; readonly value: number };

  // Indexing.
  /** table [V, …], ids [I…] → [I…, …] */
  gather: None;
  /** condition [N] → int [size]: where it is true, in order. `size` names a dimension that is known only then. */
  which: { readonly size: string };
  /** table [V, …], ids [I], rows [I, …] → the table with these rows at the ids, which must be distinct. */
  replaceRows: None;
  /** ids [I…], rows [I…, R…] → [size, R…]: rows of equal id are added. */
  scatterAdd: { readonly size: Dim };
  /** x [I…, V], ids [I…] → [I…]: one value of each row. */
  pick: None;
  /** values [I…], ids [I…] → [I…, size]: zeros but for the value at id. */
  place: { readonly size: Dim };
  oneHot: { readonly size: Dim };
}

/** No attributes. */
export type None = Readonly<Record<never, never>>;

/** Axes that are reduced. */
export interface Reduction {
  readonly axes: readonly number[];
  readonly keepDims: boolean;
}

/** The operations there are. */
export type Op = keyof Attributes;

/** A node: what is computed, from what, and what shape it has. `op` decides the type of `attributes`. */
export interface Tensor<K extends Op = Op> {
  readonly id: number;
  readonly op: K;
  readonly inputs: readonly Tensor[];
  readonly attributes: Attributes[K];
  readonly shape: Shape;
  readonly dtype: DType;
  /** Where in the model it was built: `blocks.2 / attention`. */
  readonly scope: string;
}
