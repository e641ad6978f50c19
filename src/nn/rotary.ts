/** Rotary positions: queries and keys are turned by an angle that grows with their place, so that scores know distances. */
import { reject } from "../base/errors.ts";
import { checkOptions, number, type Rules, required, whole } from "../base/options.ts";
import { add, addDims, concat, constant, type Dim, multiply, slice, subtract, type Tensor } from "../graph/index.ts";

/** How far places reach, and how slowly the slowest pair turns. */
export interface RotaryOptions {
  /** Longest text. */
  length: number;
  /** The last of the pairs turns about this many times as slowly as the first. Default: 10,000. */
  base?: number;
}

/** Rules for those who take rotary positions as an option. */
export const rotaryRules: Rules<RotaryOptions> = { length: required(whole(1)), base: number({ above: 1 }) };

/** Turns each pair (x[i], x[i + D/2]) of a head of even width D by place · base^(−2i/D), as Llama has it. */
export class Rotary {
  readonly #cosines: Tensor;
  readonly #sines: Tensor;
  readonly #half: number;
  /** Of a head. */
  readonly width: number;

  constructor(name: string, options: RotaryOptions & { readonly width: number }) {
    const { width, ...places } = options;
    checkOptions(`${name} / rotary`, places, rotaryRules);
    if (width % 2 !== 0) {
      const remedy = "change width or heads";
      reject({ who: `${name} / rotary`, needed: "heads of an even width", got: `${width}`, remedy }, 2);
    }
    const { length, base = 10_000 } = places;
    this.width = width;
    this.#half = width / 2;
    const angle = (i: number) => Math.floor(i / this.#half) * base ** ((-2 * (i % this.#half)) / width);
    const table = (of: (angle: number) => number) => {
      const values = Float32Array.from({ length: length * this.#half }, (_, i) => of(angle(i)));
      return constant(values, [length, 1, this.#half]);
    };
    [this.#cosines, this.#sines] = [table(Math.cos), table(Math.sin)];
  }

  /** x [B, T, H, D] at places P … P + T − 1. */
  apply(x: Tensor, past: Dim = 0): Tensor {
    return this.applyAt(x, (table) => slice(table, 0, past, addDims(past, x.shape[1]!))); // [T, 1, D / 2]
  }

  /** x […, H, D] at the places that `here` takes of a table [length, 1, D / 2]. */
  applyAt(x: Tensor, here: (table: Tensor) => Tensor): Tensor {
    const last = x.shape.length - 1;
    const [cosine, sine] = [here(this.#cosines), here(this.#sines)];
    const [a, b] = [slice(x, last, 0, this.#half), slice(x, last, this.#half, 2 * this.#half)];
    const turned = [subtract(multiply(a, cosine), multiply(b, sine)), add(multiply(b, cosine), multiply(a, sine))];
    return concat(turned, last);
  }
}
