/** Arrays of a whole batch, and where one part of it lies in them. */
import type { Shape } from "../graph/index.ts";
import type { Place } from "./world.ts";

/** Arrays that can be divided. */
export type Divisible = Float32Array | Float64Array | Int32Array;

/** Where the stretches of one process's part lie in an array of the whole batch, one in each of `outer` repetitions. */
export function* stretches(length: number, outer: number, { rank, size }: Place) {
  const inner = length / size / outer;
  for (let i = 0; i < outer; i++) yield { start: (i * size + rank) * inner, own: i * inner, inner };
}

/** One process's part of an array of the whole batch: a view where it lies in one piece. */
export function takePart<T extends Divisible>(whole: T, outer: number, world: Place): T {
  const [first] = stretches(whole.length, outer, world);
  if (outer === 1) return whole.subarray(first!.start, first!.start + first!.inner) as T;
  const part = whole.slice(0, whole.length / world.size) as T;
  for (const { start, own, inner } of stretches(whole.length, outer, world))
    part.set(whole.subarray(start, start + inner), own);
  return part;
}

/** How often the stretches of an axis repeat: the sizes before it. */
export const outerOf = (shape: Shape, axis: number): number =>
  shape.slice(0, axis).reduce<number>((product, dim) => product * Number(dim), 1);
