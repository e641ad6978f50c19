/** How a model is being built: for training (dropout drawn as graph inputs) or for use (no dropout). */
import { multiply, Noise, type NoiseInput, type Tensor } from "../graph/index.ts";

export interface Mode {
  /** x with some elements zeroed and the others scaled up, where this mode trains. */
  dropout(x: Tensor, rate: number): Tensor;
}

export const inference: Mode = { dropout: (x) => x };

export class Training implements Mode {
  readonly #noise = new Noise();

  /** The random inputs that were asked for while building. */
  get noise(): readonly NoiseInput[] {
    return this.#noise.inputs;
  }

  dropout(x: Tensor, rate: number): Tensor {
    if (rate === 0) return x;
    return multiply(x, this.#noise.draw({ kind: "mask", keep: 1 - rate }, x.shape));
  }
}
