/** Walking through an array by its strides, in row-major order. */

/** Moves an index to the next element, in place; gives by how much the offset changes under these strides. */
export function advance(index: number[], shape: readonly number[], strides: readonly number[]): number {
  let change = 0;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    change += strides[axis]!;
    if (++index[axis]! < shape[axis]!) break;
    change -= strides[axis]! * shape[axis]!;
    index[axis] = 0;
  }
  return change;
}
