/** Sizes of arenas, apart from the arena itself: they are known before its kernels are loaded. */

/** Every tensor starts at a multiple of this: ONNX Runtime's reductions change bits with the alignment of their input. */
export const ALIGNMENT = 64;
export const PAGE = 65_536;
/** The largest arena: addresses are 32 bits wide. */
export const MAX_BYTES = 65_536 * PAGE;

/** Bytes an arena needs for tensors of these lengths, in elements of four bytes (float32, int32). */
export function arenaBytes(lengths: Iterable<number>): number {
  let bytes = 0;
  for (const length of lengths) bytes += aligned(4 * length);
  return bytes;
}

export function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

/** Random words that the kernel `dropoutMask` takes from its stream: 16 bits a value. */
export function maskWords(values: number): number {
  return Math.ceil(values / 2);
}

/** Random words that the kernel `normal` takes from its stream: values come in pairs. */
export function normalWords(values: number): number {
  return 2 * Math.ceil(values / 2);
}
