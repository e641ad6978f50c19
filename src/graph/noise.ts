/** Random numbers that a graph takes as inputs: nothing in a graph is random, so runs replay exactly. */
import { input } from "./build.ts";
import type { Shape } from "./dims.ts";
import type { Tensor } from "./vocabulary.ts";

/** What to draw: a dropout factor (0, or 1 / keep), or numbers of a standard distribution. */
export type Draw =
  | { readonly kind: "mask"; readonly keep: number }
  | { readonly kind: "gumbel" | "normal" | "uniform" };

/** An input that is drawn anew at each run, and from what. */
export interface NoiseInput {
  readonly tensor: Tensor<"input">;
  readonly draw: Draw;
}

/** Collects the random inputs of a graph while it is built; whoever runs it fills them. */
export class Noise {
  readonly inputs: NoiseInput[] = [];

  draw(draw: Draw, shape: Shape): Tensor<"input"> {
    const tensor = input(`noise.${this.inputs.length}`, shape);
    this.inputs.push({ tensor, draw });
    return tensor;
  }
}
