/** A batch divided over processes, or into parts that run in turn, and how processes agree. Fetched where there are several. */
import { reject, rejectData, rejectShape } from "../base/errors.ts";
import { type Engine, type Feed, feedsFor, type World } from "../engine/engine.ts";
import { add, input, multiply, type Shape, subtract, type Tensor } from "../graph/index.ts";
import type { Batches } from "./evaluate.ts";
import type { StateTensor } from "./events.ts";
import type { GroupMemory } from "./memory.ts";
import type { ObjectiveSize, Trainable, TrainingObjective } from "./objective.ts";
import { OuterStep } from "./outer.ts";
import { outerOf, stretches, takePart } from "./parts.ts";
import { partOf } from "./shared-batches.ts";
import type { Parts, StepOptions } from "./step-options.ts";
import { type Divided, rowsEach, type Share } from "./world.ts";

export { drawPart, wholeNoiseLength } from "./divided-noise.ts";
export { takePart } from "./parts.ts";
export { partOfBatch } from "./shared-batches.ts";

/** What one run of a step trains, and of which whole it is a part. */
export interface Division {
  readonly objective: TrainingObjective;
  /** What is trained of it. Default: its loss. */
  readonly loss?: Tensor | undefined;
  readonly share?: Share | undefined;
  /** This process's part of every batch. Default: all of it. */
  readonly batches?: Batches | undefined;
  readonly parts?: Parts | undefined;
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
function axesOf(whole: Divided, part: Divided, size: number): Map<string, number> {
  const shapes = named(part);
  const axes = [...named(whole)].flatMap(([name, shape]) => {
    const axis = axisOf(name, shape, shapes.get(name)!, size);
    return axis === undefined ? [] : [[name, axis] as const];
  });
  return new Map(axes);
}

/** The objective of one process's rows, and how all others' is divided. */
export function overProcesses(model: Trainable, size: ObjectiveSize, batches: Batches, world: World): Division {
  const whole = model.objective(size);
  const objective = model.objective({ ...size, batch: rowsEach(size.batch, world) });
  const share = shareOf(world, whole, objective);
  return { objective, share, loss: sharedLoss(objective, share), batches: partOf(batches, objective, share) };
}

/** How the parts of a model's objective are divided over the processes of a world. */
function shareOf(world: World, whole: Divided, part: Divided): Share {
  const uneven = world.localSteps > 1 ? [] : (part.terms ?? []);
  const terms = uneven.map(({ count }, i) => ({ count, weight: input(`weight of term ${i}`, []) }));
  return { world, axes: axesOf(whole, part, world.size), terms };
}

/** The part of the loss that one process adds: their sum is the loss of the whole batch. With local steps, the loss of its own rows. */
function sharedLoss({ loss, terms = [] }: Divided, share: Share): Tensor {
  if (share.world.localSteps > 1) return loss;
  const weighed = terms.map(({ loss: term }, i) => multiply(term, subtract(share.terms[i]!.weight, 1)));
  return multiply(
    weighed.reduce((sum, each) => add(sum, each), loss),
    1 / share.world.size,
  );
}

/** The objective of one part of a batch: their mean has to be that of the whole. */
export function inParts(model: Trainable, size: ObjectiveSize, count: number, world: Engine["world"]): Division {
  const whole = model.objective(size);
  const got = world ? `${world.size} processes` : whole.terms?.length ? "a loss that is a mean over counted words" : "";
  if (got !== "") reject({ who: "train / parts", needed: "one process, and a mean over all rows", got }, 2);
  if (size.batch % count !== 0) {
    reject({ who: "train / parts", needed: `rows that ${count} divides`, got: `${size.batch} rows` }, 2);
  }
  const objective = model.objective({ ...size, batch: size.batch / count });
  return { objective, parts: { count, axes: axesOf(whole, objective, count) } };
}

/** Parts of a batch are all that an update is made of. */
export function checkParts({
  parts,
  share,
  accumulate = 1,
}: Pick<StepOptions, "parts" | "share" | "accumulate">): void {
  if (!parts || (!share && accumulate === 1)) return;
  const got = share ? "a batch that processes share" : `${accumulate} batches per update`;
  rejectData({ who: "training step / parts", needed: "one whole batch per update", got });
}

/** Carried state whose rows are not its first axis cannot be divided. */
export function refuseCarried({ attributes: { name }, shape }: Tensor<"input">): never {
  return rejectData({ who: `parts / ${name}`, needed: "rows first in carried state", got: `[${shape}]` });
}

/** The whole, with zeros where it is another process's. */
function putPart(part: Float32Array, outer: number, world: World): Float32Array {
  const whole = new Float32Array(part.length * world.size);
  for (const { start, own, inner } of stretches(whole.length, outer, world))
    whole.set(part.subarray(own, own + inner), start);
  return whole;
}

/** Brings together what each process carries: the state of the whole batch. Every process calls it. */
export async function gathered(
  carried: ReadonlyMap<string, StateTensor>,
  { axes, world }: Share,
): Promise<Map<string, StateTensor>> {
  const all = new Map<string, StateTensor>();
  for (const [name, { shape, data }] of carried) {
    const axis = axes.get(name)!;
    const whole = putPart(data as Float32Array, outerOf(shape, axis), world);
    await world.sum(whole);
    all.set(name, { shape: shape.map((dim, i) => (i === axis ? dim * world.size : dim)), data: whole });
  }
  return all;
}

/** Moments with this process's part of what is carried. */
export function ownMoments(
  moments: ReadonlyMap<string, StateTensor>,
  carried: readonly { readonly name: string; readonly shape: readonly number[] }[],
  { axes, world }: Share,
): Map<string, StateTensor> {
  const parts = carried.flatMap(({ name, shape }) => {
    const whole = moments.get(`carried ${name}`);
    if (!whole) return [];
    const data = takePart(whole.data as Float32Array, outerOf(shape, axes.get(name)!), world);
    return [[`carried ${name}`, { shape, data }] as const];
  });
  return new Map([...moments, ...parts]);
}

/** What averages the processes now and then, where they update by themselves. */
export const outerStep = ({ world }: Share, groups: readonly GroupMemory[]): OuterStep | undefined =>
  world.localSteps > 1 ? new OuterStep(world, groups) : undefined;

/** How much of each term of a shared loss is this process's. */
export interface TermCounts {
  /** Weights by the names of their inputs: the share of this process in what a term is a mean over, times the number of processes. */
  weigh(batch: Readonly<Record<string, Feed>>): Promise<(readonly [string, number])[]>;
  release(): Promise<void>;
}

/** A small program for what the terms of a shared loss are means over; it needs the batch only. */
export async function termCounts({ terms, world }: Share, engine: Engine): Promise<TermCounts | undefined> {
  if (terms.length === 0) return undefined;
  const outputs = Object.fromEntries(terms.map(({ count }, i) => [`count ${i}`, count]));
  const program = await engine.compile({ outputs, takesTurns: true });
  return {
    weigh: async (batch) => {
      const found = await program.run(feedsFor(program, batch));
      const counts = terms.map((_, i) => found[`count ${i}`]!.data[0]!);
      const sums = Float64Array.from(counts);
      await world.sum(sums);
      const weights = counts.map((count, i) => (sums[i] === 0 ? 1 : (world.size * count) / sums[i]!));
      return terms.map(({ weight }, i) => [weight.attributes.name, weights[i]!] as const);
    },
    release: () => program.release(),
  };
}
