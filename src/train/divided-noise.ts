/** Noise of a part of a batch: the same numbers in the same rows, however many parts there are. */
import type { RandomStream } from "../base/random.ts";
import type { Feed } from "../engine/engine.ts";
import type { Kernels } from "../engine/kernels.ts";
import type { NoiseInput, Tensor } from "../graph/index.ts";
import { sizeOf } from "./memory.ts";
import { drawAt, drawNoise, reserveNoise, valuesPerBlock } from "./noise.ts";
import { outerOf, takePart } from "./parts.ts";
import type { Parts } from "./step-options.ts";
import type { Place } from "./world.ts";

/** The most numbers of noise that have to be drawn for the whole batch before a part can be taken. */
export function wholeNoiseLength(
  noise: readonly NoiseInput[],
  { axes, place }: { readonly axes: Parts["axes"]; readonly place: Place },
  largest: (tensor: Tensor) => number[],
): number {
  const lengths = noise.flatMap(({ tensor, draw }) => {
    const axis = axes.get(tensor.attributes.name);
    if (axis === undefined) return [];
    const shape = largest(tensor);
    const alone = sizeOf(shape.slice(0, axis)) === 1 && tensor.shape.every((dim) => typeof dim === "number");
    return alone && sizeOf(shape) % valuesPerBlock(draw) === 0 ? [] : [place.size * sizeOf(shape)];
  });
  return Math.max(0, ...lengths);
}

/** Which part of the whole is drawn, and where the whole has room. */
interface NoisePart {
  readonly axis: number;
  readonly place: Place;
  readonly room: Float32Array | undefined;
}

/** Draws one part of noise. */
export function drawPart(
  kernels: Kernels,
  stream: RandomStream,
  { data, shape }: Feed,
  draw: NoiseInput["draw"],
  { axis, place, room }: NoisePart,
): void {
  const array = data as Float32Array;
  const outer = outerOf(shape, axis);
  const perBlock = valuesPerBlock(draw);
  if (outer === 1 && array.length % perBlock === 0) {
    const block = reserveNoise(stream, draw, array.length * place.size);
    drawAt(kernels, stream, array, draw, block + (place.rank * array.length) / perBlock);
    return;
  }
  const whole = room!.subarray(0, array.length * place.size);
  drawNoise(kernels, stream, whole, draw);
  array.set(takePart(whole, outer, place));
}
