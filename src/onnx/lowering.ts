/** What lowering a graph needs at hand: names of values that are done, who uses them, and the ONNX emitted so far. */
import type { Dim, Op, Tensor } from "../graph/index.ts";
import { useCounts } from "../graph/order.ts";
import { Emitter } from "./emitter.ts";

/** Adds the nodes for one operation and returns the name of its value. */
export type Lower<K extends Op> = (node: Tensor<K>, inputs: readonly string[], lowering: Lowering) => string;

export class Lowering extends Emitter {
  readonly names = new Map<Tensor, string>();
  readonly uses: ReadonlyMap<Tensor, number>;
  /** Normalisations whose deviation is wanted, and where it is once they are lowered. */
  readonly deviations = new Map<string, string | undefined>();

  /** Weights that are stored as 8-bit integers, with the scale of each output. */
  readonly int8 = new Map<Tensor, { readonly scales: Float32Array; readonly axis: 0 | 1 }>();

  constructor(outputs: readonly Tensor[], taken: Iterable<string>) {
    super(taken);
    this.uses = useCounts(outputs);
  }

  usedOnce(tensor: Tensor): boolean {
    return this.uses.get(tensor) === 1;
  }
}

export const onnxTypes = { float: 1, int: 6, int64: 7, bool: 9 };

/** A reduction over axes. */
export function reduce(op: string): Lower<"sum" | "mean" | "max"> {
  return (node, [x], to) => {
    const { axes, keepDims } = node.attributes;
    if (axes.length === 0) return x!;
    return to.emit(op, [x!, to.integers(axes)], { attributes: { keepdims: Number(keepDims) } });
  };
}

/** 0, 1, … below a size, as int. */
export function range(to: Lowering, size: Dim): string {
  if (typeof size === "number") {
    return to.once(`range ${size}`, () =>
      to.store(
        to.fresh("range"),
        "int",
        [size],
        Array.from({ length: size }, (_, i) => i),
      ),
    );
  }
  const limit = to.emit("Cast", [to.reshape(to.dim(size), [])], { attributes: { to: 6 } });
  return to.emit("Range", [to.scalar(0, "int"), limit, to.scalar(1, "int")]);
}
