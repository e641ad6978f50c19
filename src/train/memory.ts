/** Where training keeps its numbers: weights, gradients and moments of every parameter, group by group, in one arena. */

import { ALIGNMENT, arenaBytes, MAX_BYTES } from "../base/arena-bytes.ts";
import { reject } from "../base/errors.ts";
import { anything, check, checkOptions, number, type Rules, required } from "../base/options.ts";
import type { Arena } from "../engine/arena.ts";
import type { Tensor } from "../graph/index.ts";
import type { Optimiser, Slot, UpdateSettings } from "./optimiser.ts";

/** The node of a parameter. */
export type ParameterTensor = Tensor<"parameter">;

/** Parameters that are updated alike. */
export interface Group {
  readonly parameters: readonly ParameterTensor[];
  readonly optimiser: Optimiser;
  /** Factor of the learning rate. Default: 1. */
  readonly rateFactor?: number | undefined;
  /** Whether the group is updated at this step (from 1). Default: always. A frozen group's moments rest too. */
  readonly active?: ((step: number) => boolean) | undefined;
}

const groupRules: Rules<Group> = {
  parameters: required(anything),
  optimiser: required(anything),
  rateFactor: number({ from: 0 }),
  active: anything,
};

/** Refuses options that a group does not have, and factors below 0. */
export function checkGroup(group: Group, i: number): void {
  checkOptions(`group ${i}`, group, groupRules);
}

const aRate = number({ from: 0 });

/** A learning rate is a number from 0. */
export function checkRate(rate: number): void {
  check("learning rate", rate, aRate);
}

/** A group's stretch of the arena, as a whole and by parameter. */
export interface GroupMemory {
  readonly group: Group;
  readonly whole: Slot;
  readonly slots: ReadonlyMap<ParameterTensor, Slot>;
  /** The sum over micro-batches, where gradients are accumulated. */
  readonly accumulated: Float32Array | undefined;
  /** Updates this group has had. */
  updates: number;
}

export const sizeOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

/** Length in numbers, up to the next aligned start. */
function stride(parameter: ParameterTensor): number {
  const unit = ALIGNMENT / 4;
  return Math.ceil(sizeOf(parameter.attributes.shape) / unit) * unit;
}

const groupLength = ({ parameters }: Group) => parameters.reduce((total, each) => total + stride(each), 0);

/** Arena bytes for the groups and for other tensors of the given lengths. */
export function memoryBytes(groups: readonly Group[], others: Iterable<number>, accumulate = false): number {
  const lengths = groups.flatMap((group) => {
    const arrays = 2 + group.optimiser.moments.length + Number(accumulate);
    return Array.from({ length: arrays }, () => groupLength(group));
  });
  return arenaBytes([...lengths, ...others]);
}

/** Refuses parameters whose numbers in training exceed what one memory holds, before anything is opened for them. */
export function checkMemory(groups: readonly Group[], accumulate = false): void {
  const bytes = memoryBytes(groups, [], accumulate);
  if (bytes <= MAX_BYTES) return;
  const count = groups.reduce((total, group) => total + groupLength(group), 0);
  const remedy =
    "share more blocks, make the model narrower, or take an optimiser with fewer moments (sgd, or muon for matrices)";
  const needed = `weights, gradients and moments of at most ${MAX_BYTES} bytes, all that one WebAssembly memory holds`;
  reject({ who: "training", needed, got: `${bytes} bytes for ${count} parameters`, remedy }, 2);
}

/** Lays a group out. Padding between parameters stays zero in all arrays, so that whole stretches can be updated at once. */
export function allocateGroup(arena: Arena, group: Group, accumulate = false): GroupMemory {
  const length = groupLength(group);
  const whole: Slot = {
    shape: [length],
    weight: arena.float32(length, "weights"),
    gradient: arena.float32(length, "gradients"),
    moments: group.optimiser.moments.map((name) => arena.float32(length, name)),
  };
  const slots = new Map<ParameterTensor, Slot>();
  let start = 0;
  for (const parameter of group.parameters) {
    const end = start + sizeOf(parameter.attributes.shape);
    const cut = (array: Float32Array) => array.subarray(start, end);
    const { shape } = parameter.attributes;
    const moments = whole.moments.map(cut);
    slots.set(parameter, { shape, weight: cut(whole.weight), gradient: cut(whole.gradient), moments });
    start += stride(parameter);
  }
  const accumulated = accumulate ? arena.float32(length, "accumulated gradients") : undefined;
  return { group, whole, slots, accumulated, updates: 0 };
}

/** Updates a group, all at once where the optimiser allows it, unless it rests at this step. */
export async function updateGroup(
  arena: Arena,
  memory: GroupMemory,
  { step, rate, gradientScale }: UpdateSettings,
): Promise<void> {
  const { group, whole, slots } = memory;
  if (group.active?.(step) === false) return;
  const settings = { rate: rate * (group.rateFactor ?? 1), step: ++memory.updates, gradientScale };
  const stretches = group.optimiser.perTensor ? slots.values() : [whole];
  for (const slot of stretches) await group.optimiser.update(arena.kernels, slot, settings);
}
