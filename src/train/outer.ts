/** Local steps: processes update by themselves and average now and then, with a momentum over the averages (DiLoCo). */
import type { World } from "../engine/engine.ts";
import type { StateTensor } from "./events.ts";
import type { GroupMemory } from "./memory.ts";

/** Rate and Nesterov momentum of the outer step: those of the paper (arXiv 2311.08105). */
const RATE = 0.7;
const MOMENTUM = 0.9;

/** The outer optimiser of one process: what all had in common at the last average, and the momentum. */
export class OuterStep {
  readonly #world: World;
  readonly #groups: readonly GroupMemory[];
  readonly #anchors: Float32Array[];
  readonly #momenta: Float32Array[];
  #updates = 0;

  constructor(world: World, groups: readonly GroupMemory[]) {
    [this.#world, this.#groups] = [world, groups];
    this.#anchors = groups.map(({ whole }) => whole.weight.slice());
    this.#momenta = groups.map(({ whole }) => new Float32Array(whole.weight.length));
  }

  /** Whether all processes have the same weights now. */
  get isEven(): boolean {
    return this.#updates === 0;
  }

  /** Counts an update; averages when it is time. */
  async count(): Promise<void> {
    if (++this.#updates === this.#world.localSteps) await this.average();
  }

  /**
   * With a the common weights before and w̄ the mean now: d = a − w̄, m ← μ·m + d, w = a − η·(d + μ·m). The inner moments are
   * averaged too, so that one checkpoint is the state of all.
   */
  async average(): Promise<void> {
    if (this.isEven) return;
    const { size } = this.#world;
    for (const [g, { whole }] of this.#groups.entries()) {
      const [anchor, momentum] = [this.#anchors[g]!, this.#momenta[g]!];
      await this.#world.sum(whole.weight);
      for (let i = 0; i < anchor.length; i++) {
        const difference = anchor[i]! - whole.weight[i]! / size;
        momentum[i] = MOMENTUM * momentum[i]! + difference;
        whole.weight[i] = anchor[i]! - RATE * (difference + MOMENTUM * momentum[i]!);
      }
      anchor.set(whole.weight);
      for (const moment of whole.moments) {
        await this.#world.sum(moment);
        for (let i = 0; i < moment.length; i++) moment[i]! /= size;
      }
    }
    this.#updates = 0;
  }

  /** The momentum, for checkpoints: a stretch a group. */
  get state(): ReadonlyMap<string, StateTensor> {
    return new Map(this.#momenta.map((data, g) => [`outer momentum ${g}`, { shape: [data.length], data }]));
  }

  /** Goes on from weights that were just put back; the momenta were copied into `state`. */
  begin(): void {
    for (const [g, { whole }] of this.#groups.entries()) this.#anchors[g]!.set(whole.weight);
    this.#updates = 0;
  }
}
