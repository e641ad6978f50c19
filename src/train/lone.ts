/** One tensor with its optimiser, outside any model: for trying an optimiser on given gradients. */
import { rejectShape } from "../base/errors.ts";
import { Arena } from "../engine/arena.ts";
import { parameter } from "../graph/index.ts";
import { allocateGroup, checkRate, type GroupMemory, memoryBytes, sizeOf, updateGroup } from "./memory.ts";
import type { Optimiser, Slot } from "./optimiser.ts";

function checkLength(who: string, { length }: Float32Array, shape: readonly number[]): void {
  if (length === sizeOf(shape)) return;
  rejectShape({ who: `lone tensor / ${who}`, needed: `${sizeOf(shape)} values for [${shape}]`, got: `${length}` });
}

/** A tensor that an optimiser updates by gradients it is given. */
export class LoneTensor {
  readonly #arena: Arena;
  readonly #memory: GroupMemory;
  readonly #slot: Slot;

  constructor(start: Float32Array, shape: readonly number[], optimiser: Optimiser) {
    checkLength("start", start, shape);
    const tensor = parameter("tensor", shape);
    const group = { parameters: [tensor], optimiser };
    this.#arena = new Arena(memoryBytes([group], []));
    this.#memory = allocateGroup(this.#arena, group);
    this.#slot = this.#memory.slots.get(tensor)!;
    this.#slot.weight.set(start);
  }

  get value(): Float32Array {
    return this.#slot.weight;
  }

  /** The optimiser's own numbers, in the order of its `moments`. */
  get moments(): readonly Float32Array[] {
    return this.#slot.moments;
  }

  /** The factor by which the last update was stretched; 1 where the optimiser has none. */
  get lastRatio(): number {
    return this.#memory.group.optimiser.lastRatio?.(this.#slot) ?? 1;
  }

  async update(gradient: Float32Array, rate: number): Promise<void> {
    checkLength("gradient", gradient, this.#slot.shape);
    checkRate(rate);
    this.#slot.gradient.set(gradient);
    await updateGroup(this.#arena, this.#memory, { rate, step: this.#memory.updates + 1, gradientScale: 1 });
  }
}
