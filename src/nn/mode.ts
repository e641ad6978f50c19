/** How a model is being built: for training (dropout drawn as graph inputs) or for use (no dropout). */
import { check, dropoutRate } from "../base/options.ts";
import { type Draw, multiply, Noise, type NoiseInput, type Shape, type Tensor } from "../graph/index.ts";

/** What differs between training and use: dropout and noise. */
export interface Mode {
  /** Whether weights are being trained: what only training feeds or stops (scalars, gradients) is built where this is true. */
  readonly trains: boolean;
  /** x with some elements zeroed and the others scaled up, where this mode trains. */
  dropout(x: Tensor, rate: number): Tensor;
  /** Random numbers that a model is made to draw (Gumbel noise); undefined where it is to do without. */
  draw(draw: Draw, shape: Shape): Tensor | undefined;
}

/** Nothing is dropped, nothing drawn; a rate that could not be trained with is still refused. */
export const inference: Mode = {
  trains: false,
  dropout: (x, rate) => {
    check("dropout", rate, dropoutRate);
    return x;
  },
  draw: () => undefined,
};

/** The mode of training: drops activations and draws noise, through inputs that it lists. */
export class Training implements Mode {
  readonly trains = true;
  readonly #noise = new Noise();

  /** The random inputs that were asked for while building. */
  get noise(): readonly NoiseInput[] {
    return this.#noise.inputs;
  }

  dropout(x: Tensor, rate: number): Tensor {
    if (check("dropout", rate, dropoutRate) === 0) return x;
    return multiply(x, this.#noise.draw({ kind: "mask", keep: 1 - rate }, x.shape));
  }

  draw(draw: Draw, shape: Shape): Tensor {
    return this.#noise.draw(draw, shape);
  }
}

/** Draws what the model itself asks for, but drops nothing out: a noisy evaluation. */
export class Sampling extends Training {
  override dropout(x: Tensor, rate: number): Tensor {
    return inference.dropout(x, rate);
  }
}
