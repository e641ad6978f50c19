/** Training over several processes, or over a batch in parts: which part of a batch, of noise and of carried state is meant. */
import { reject } from "../base/errors.ts";
import type { World } from "../engine/engine.ts";
import type { NoiseInput, Tensor } from "../graph/index.ts";

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

/** Rows that one process has of a batch; refused where they cannot be divided evenly. */
export function rowsEach(rows: number, { size }: World): number {
  if (rows % size === 0) return rows / size;
  const needed = `a batch that ${size} processes can share evenly`;
  return reject({ who: "train", needed, got: `${rows} rows`, remedy: `set --batch to a multiple of ${size}` }, 2);
}

/** What the first process says, known to all. */
export async function told<T>(world: World | undefined, say: () => T | Promise<T>): Promise<T> {
  return world ? (await import("./among.ts")).toldAmong(world, say) : say();
}

/** Whether any process says yes. */
export async function anyOf(world: World | undefined, says: boolean): Promise<boolean> {
  return world ? (await import("./among.ts")).anyAmong(world, says) : says;
}
