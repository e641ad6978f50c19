/** Where training keeps its numbers: weights, gradients and moments of every parameter, group by group, in one arena. */
import { ALIGNMENT, type Arena, arenaBytes } from "../engine/arena.ts";
import type { Tensor } from "../graph/index.ts";
import type { Optimiser, Slot } from "./optimiser.ts";

export type ParameterTensor = Tensor<"parameter">;

/** Parameters that are updated alike. */
export interface Group {
  readonly parameters: readonly ParameterTensor[];
  readonly optimiser: Optimiser;
}

/** A group's stretch of the arena, as a whole and by parameter. */
export interface GroupMemory {
  readonly optimiser: Optimiser;
  readonly whole: Slot;
  readonly slots: ReadonlyMap<ParameterTensor, Slot>;
}

export const sizeOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

/** Length in numbers, up to the next aligned start. */
function stride(parameter: ParameterTensor): number {
  const unit = ALIGNMENT / 4;
  return Math.ceil(sizeOf(parameter.attributes.shape) / unit) * unit;
}

const groupLength = ({ parameters }: Group) => parameters.reduce((total, each) => total + stride(each), 0);

/** Arena bytes for the groups and for other tensors of the given lengths. */
export function memoryBytes(groups: readonly Group[], others: Iterable<number>): number {
  const lengths = groups.flatMap((group) => {
    return Array.from({ length: 2 + group.optimiser.moments.length }, () => groupLength(group));
  });
  return arenaBytes([...lengths, ...others]);
}

/** Lays a group out. Padding between parameters stays zero in all arrays, so that whole stretches can be updated at once. */
export function allocateGroup(arena: Arena, group: Group): GroupMemory {
  const length = groupLength(group);
  const whole: Slot = {
    weight: arena.float32(length, "weights"),
    gradient: arena.float32(length, "gradients"),
    moments: group.optimiser.moments.map((name) => arena.float32(length, name)),
  };
  const slots = new Map<ParameterTensor, Slot>();
  let start = 0;
  for (const parameter of group.parameters) {
    const end = start + sizeOf(parameter.attributes.shape);
    const cut = (array: Float32Array) => array.subarray(start, end);
    slots.set(parameter, { weight: cut(whole.weight), gradient: cut(whole.gradient), moments: whole.moments.map(cut) });
    start += stride(parameter);
  }
  return { optimiser: group.optimiser, whole, slots };
}

/** Updates a group: all at once where the optimiser allows it. */
export function updateGroup(
  arena: Arena,
  { optimiser, whole, slots }: GroupMemory,
  settings: Parameters<Optimiser["update"]>[2],
) {
  const stretches = optimiser.perTensor ? slots.values() : [whole];
  for (const slot of stretches) optimiser.update(arena.kernels, slot, settings);
}
