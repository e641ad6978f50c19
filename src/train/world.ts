/** Training over several processes: which part of a batch, of noise and of carried state is this one's, and how all agree. */
import { reject, rejectShape } from "../base/errors.ts";
import { decodeJson, encodeJson } from "../base/json.ts";
import type { World } from "../engine/engine.ts";
import { add, input, multiply, type NoiseInput, type Shape, subtract, type Tensor } from "../graph/index.ts";

/** Which of several equal parts is meant, from 0. */
export type Place = Pick<World, "rank" | "size">;

/** What one process needs to know of the others. */
export interface Share {
  readonly world: World;
  /** The axis over which an input, noise or carried state is divided, by its name; what has none is the same everywhere. */
  readonly axes: ReadonlyMap<string, number>;
  /** Parts of the loss that are means over what a batch happens to hold, each with the input that weighs it. */
  readonly terms: readonly { readonly count: Tensor; readonly weight: Tensor<"input"> }[];
}

/** What is divided of an objective. */
export interface Divided {
  readonly loss: Tensor;
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly noise?: readonly NoiseInput[] | undefined;
  readonly carried?: readonly { readonly input: Tensor<"input"> }[] | undefined;
  readonly sizes?: Readonly<Record<string, number>> | undefined;
  readonly terms?: readonly { readonly loss: Tensor; readonly count: Tensor }[] | undefined;
}

const named = ({ inputs, noise = [], carried = [] }: Divided): Map<string, Shape> =>
  new Map([
    ...Object.entries(inputs).map(([name, { shape }]) => [name, shape] as const),
    ...noise.map(({ tensor }) => [tensor.attributes.name, tensor.shape] as const),
    ...carried.map(({ input: { attributes, shape } }) => [attributes.name, shape] as const),
  ]);

/** The axis in which the objectives of a whole batch and of one process's rows differ. */
function axisOf(name: string, whole: Shape, part: Shape, size: number): number | undefined {
  const axes = whole.flatMap((dim, i) => (dim === part[i] ? [] : [i]));
  const [axis] = axes;
  if (axis === undefined) return undefined;
  if (axes.length === 1 && whole.length === part.length && Number(whole[axis]) === size * Number(part[axis]))
    return axis;
  const got = `[${whole}] for a whole batch, [${part}] for one process`;
  return rejectShape({
    who: `training over ${size} processes / ${name}`,
    needed: "one axis that grows with the batch",
    got,
  });
}

/** The axis over which each input, noise and carried state is divided into `size` parts; what is the same in all has none. */
export function axesOf(whole: Divided, part: Divided, size: number): Map<string, number> {
  const shapes = named(part);
  const axes = [...named(whole)].flatMap(([name, shape]) => {
    const axis = axisOf(name, shape, shapes.get(name)!, size);
    return axis === undefined ? [] : [[name, axis] as const];
  });
  return new Map(axes);
}

/** How the parts of a model's objective are divided over the processes of a world. */
export function shareOf(world: World, whole: Divided, part: Divided): Share {
  const uneven = world.localSteps > 1 ? [] : (part.terms ?? []);
  const terms = uneven.map(({ count }, i) => ({ count, weight: input(`weight of term ${i}`, []) }));
  return { world, axes: axesOf(whole, part, world.size), terms };
}

/** Rows that one process has of a batch; refused where they cannot be divided evenly. */
export function rowsEach(rows: number, { size }: World): number {
  if (rows % size === 0) return rows / size;
  const needed = `a batch that ${size} processes can share evenly`;
  return reject({ who: "train", needed, got: `${rows} rows`, remedy: `set --batch to a multiple of ${size}` }, 2);
}

/** The part of the loss that one process adds: their sum is the loss of the whole batch. With local steps, the loss of its own rows. */
export function sharedLoss({ loss, terms = [] }: Divided, share: Share): Tensor {
  if (share.world.localSteps > 1) return loss;
  const weighed = terms.map(({ loss: term }, i) => multiply(term, subtract(share.terms[i]!.weight, 1)));
  return multiply(
    weighed.reduce((sum, each) => add(sum, each), loss),
    1 / share.world.size,
  );
}

/** Arrays that can be divided. */
export type Divisible = Float32Array | Float64Array | Int32Array;

/** Where the stretches of one process's part lie in an array of the whole batch, one in each of `outer` repetitions. */
function* stretches(length: number, outer: number, { rank, size }: Place) {
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

/** The whole, with zeros where it is another process's. */
export function putPart(part: Float32Array, outer: number, world: World): Float32Array {
  const whole = new Float32Array(part.length * world.size);
  for (const { start, own, inner } of stretches(whole.length, outer, world))
    whole.set(part.subarray(own, own + inner), start);
  return whole;
}

/** How often the stretches of an axis repeat: the sizes before it. */
export const outerOf = (shape: Shape, axis: number): number =>
  shape.slice(0, axis).reduce<number>((product, dim) => product * Number(dim), 1);

/** What the first process says, known to all. */
export async function told<T>(world: World | undefined, say: () => T | Promise<T>): Promise<T> {
  if (!world) return say();
  const text = world.rank === 0 ? encodeJson(await say()) : "";
  const length = Float64Array.of(text.length);
  await world.sum(length);
  const letters = new Float64Array(length[0]!);
  for (let i = 0; i < text.length; i++) letters[i] = text.charCodeAt(i);
  await world.sum(letters);
  return decodeJson(Array.from(letters, (code) => String.fromCharCode(code)).join("")) as T;
}

/** Whether any process says yes. */
export async function anyOf(world: World | undefined, says: boolean): Promise<boolean> {
  if (!world) return says;
  const flag = Float64Array.of(Number(says));
  await world.sum(flag);
  return flag[0]! > 0;
}

/** How the counts of a batch weigh the terms of a loss: the share of this process, times their number. */
export async function termWeights(counts: readonly number[], world: World): Promise<number[]> {
  const sums = Float64Array.from(counts);
  await world.sum(sums);
  return counts.map((count, i) => (sums[i] === 0 ? 1 : (world.size * count) / sums[i]!));
}
