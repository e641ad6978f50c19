/** The arena: one WebAssembly.Memory, sized up front, that holds weights, gradients, moments and masks at 64-byte alignment. */

import { aligned, MAX_BYTES, PAGE } from "../base/arena-bytes.ts";
import { rejectOption } from "../base/errors.ts";
import { Wasm, type WasmMemory } from "../base/wasm.ts";
import { type ArenaView, Kernels, SCRATCH_BYTES } from "./kernels.ts";

export { ALIGNMENT, arenaBytes, MAX_BYTES } from "../base/arena-bytes.ts";

/** Memory for tensors that ONNX Runtime and the kernels share. It never grows (growing would detach every view) and frees nothing. */
export class Arena {
  readonly memory: WasmMemory;
  /** Bytes asked for; `used` may not exceed it. */
  readonly capacity: number;
  #used = 0;
  #kernels: Kernels | undefined;

  constructor(bytes: number) {
    if (!Number.isSafeInteger(bytes) || bytes < 0)
      rejectOption({ who: "arena", needed: "a size in bytes", got: `${bytes}` });
    this.capacity = aligned(bytes);
    this.memory = allocate(this.capacity + SCRATCH_BYTES);
  }

  /** Bytes taken so far, padding included. */
  get used(): number {
    return this.#used;
  }

  /** The kernels that work on this arena's tensors. */
  get kernels(): Kernels {
    this.#kernels ??= new Kernels(this);
    return this.#kernels;
  }

  /** A zeroed tensor; `name` appears in the error when the arena is full. */
  float32(length: number, name?: string): Float32Array {
    return new Float32Array(this.memory.buffer, this.#take(length, 4, name), length);
  }

  int32(length: number, name?: string): Int32Array {
    return new Int32Array(this.memory.buffer, this.#take(length, 4, name), length);
  }

  uint8(length: number, name?: string): Uint8Array {
    return new Uint8Array(this.memory.buffer, this.#take(length, 1, name), length);
  }

  /** Where a view (or a part of one) lies in the memory. */
  address(view: ArenaView): number {
    if (view.buffer !== this.memory.buffer)
      rejectOption({
        who: "arena",
        needed: "a view of its memory",
        got: `${view.constructor.name}(${view.length}) elsewhere`,
      });
    return view.byteOffset;
  }

  #take(length: number, width: number, name = "a tensor"): number {
    const who = `arena / ${name}`;
    if (!Number.isSafeInteger(length) || length < 0) rejectOption({ who, needed: "a length", got: `${length}` });
    const left = this.capacity - this.#used;
    if (length * width > left)
      rejectOption({
        who,
        needed: `${length * width} bytes`,
        got: `${left} left of ${this.capacity}`,
        remedy: "plan it with arenaBytes over the lengths of all tensors",
      });
    // The kernels' own bytes come first, so no tensor has address 0.
    const at = SCRATCH_BYTES + this.#used;
    this.#used += aligned(length * width);
    return at;
  }
}

function allocate(bytes: number): WasmMemory {
  const pages = Math.ceil(bytes / PAGE);
  if (bytes > MAX_BYTES)
    rejectOption({
      who: "arena",
      needed: `at most ${MAX_BYTES} bytes`,
      got: `${bytes}`,
      remedy: "shrink the model or the batch",
    });
  return new Wasm.Memory({ initial: pages, maximum: pages });
}
