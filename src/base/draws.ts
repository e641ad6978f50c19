/** Draws in bulk: uniform and normal numbers of 53 bits out of a stream's words, by a kernel in WebAssembly. */
import { DRAWS_HEX } from "./draws.wasm.ts";
import type { RandomStream } from "./random.ts";
import { compileWasm, Wasm } from "./wasm.ts";

type Draw = (out: number, n: number, key0: number, key1: number, low: number, high: number, scale: number) => void;

const PAGE = 65_536;
/** Bytes that the kernel uses for itself. */
const SCRATCH_BYTES = 128;
const CHUNK = (PAGE - SCRATCH_BYTES) / 4;
const TWO_32 = 2 ** 32;
const WORDS_A_NUMBER = 2;
const NUMBERS_A_BLOCK = 2;

let opened: { readonly kernels: Record<"uniform" | "normal", Draw>; readonly room: Float32Array } | undefined;

function open() {
  const memory = new Wasm.Memory({ initial: 1, maximum: 1 });
  const { exports } = new Wasm.Instance<Record<"uniform" | "normal", Draw>>(compileWasm(DRAWS_HEX), {
    env: { memory },
  });
  return { kernels: exports, room: new Float32Array(memory.buffer, SCRATCH_BYTES, CHUNK) };
}

function draw(kind: "uniform" | "normal", stream: RandomStream, out: Float32Array, scale: number): void {
  opened ??= open();
  const { kernels, room } = opened;
  const [key0, key1] = stream.key;
  for (let done = 0; done < out.length; ) {
    const block = stream.reserveBlocks(0);
    const low = block % TWO_32;
    // The upper half of the block's index is the same for all of a call.
    const count = Math.min(out.length - done, CHUNK, (TWO_32 - low) * NUMBERS_A_BLOCK);
    stream.reserveBlocks(WORDS_A_NUMBER * count);
    kernels[kind](SCRATCH_BYTES, count, key0, key1, low, Math.floor(block / TWO_32), scale);
    out.set(room.subarray(0, count), done);
    done += count;
  }
}

/** Fills with uniform numbers in ± bound: bound · (2u − 1), u being `uniform()` of the stream, from its next whole block on. */
export function drawUniform(stream: RandomStream, out: Float32Array, bound: number): void {
  draw("uniform", stream, out, bound);
}

/** Fills with normal numbers by Box–Muller: pairs of `uniform()` u, v give r·cos 2πv and r·sin 2πv, r = deviation·√(−2 log(1 − u)). */
export function drawNormal(stream: RandomStream, out: Float32Array, deviation: number): void {
  draw("normal", stream, out, deviation);
}
