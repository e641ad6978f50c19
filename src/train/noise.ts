/** Draws the random inputs of a training step: masks, uniform, Gumbel and normal numbers, each from its own blocks of one stream. */
import { maskWords, normalWords } from "../base/arena-bytes.ts";
import type { RandomStream } from "../base/random.ts";
import type { Kernels } from "../engine/kernels.ts";
import type { NoiseInput } from "../graph/index.ts";

type Draw = NoiseInput["draw"];

/** Random words behind so many numbers of noise. */
function wordsFor({ kind }: Draw, length: number): number {
  return kind === "mask" ? maskWords(length) : kind === "normal" ? normalWords(length) : length;
}

/** Numbers in a block of four words. */
export const valuesPerBlock = ({ kind }: Draw): number => (kind === "mask" ? 8 : 4);

/** The first block of so many numbers; the stream goes on behind them. */
export const reserveNoise = (stream: RandomStream, draw: Draw, length: number): number =>
  stream.reserveBlocks(wordsFor(draw, length));

/** Fills an array of the kernels' memory from a block on. */
export function drawAt(kernels: Kernels, { key }: RandomStream, array: Float32Array, draw: Draw, block: number): void {
  if (draw.kind === "mask") kernels.dropoutMask(array, key, block, draw.keep);
  else kernels[draw.kind](array, key, block);
}

/** Fills an array with the stream's next numbers. */
export function drawNoise(kernels: Kernels, stream: RandomStream, array: Float32Array, draw: Draw): void {
  drawAt(kernels, stream, array, draw, reserveNoise(stream, draw, array.length));
}
