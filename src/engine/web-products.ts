/**
 * Faster products for ONNX Runtime's WebAssembly. Its two inner kernels of single precision (one writes rows of A·B, one adds them) hand what comes in fours over to
 * ours (kernels/products.ts) and keep the rest. A file in which the two are not recognised is loaded as it is.
 */
import { joined } from "../base/joined.ts";
import { Wasm, type WasmMemory, wasmBytes } from "../base/wasm.ts";
import { PRODUCTS_HEX } from "./products.wasm.ts";
import {
  entriesOf,
  exportOf,
  importsFunction,
  instructionsAt,
  moduleOf,
  readNumber,
  sectionIds,
  sectionOf,
  sectionsOf,
  writeNumber,
} from "./wasm-sections.ts";

/** Versions whose callers take the number of rows that a kernel did from its answer: what is tested with them. */
const KNOWN = /^1\.30\./;

/** What a kernel does with the rows of C. */
type Purpose = "write" | "add";
/** A kernel by itself, of A, B, C as addresses, K, rows, N, distances of the rows of A and of C, a factor; gives the rows it did. */
type Kernel = (...numbers: number[]) => number;

const [I32, F32] = [0x7f, 0x7d];
/** A function of eight integers and a factor that gives an integer. */
const TYPE = Uint8Array.of(0x60, 9, I32, I32, I32, I32, I32, I32, I32, I32, F32, 1, I32);
const same = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((byte, i) => byte === b[i]);

/**
 * Loads a runtime; WebAssembly that comes in meanwhile passes through here, since the runtime fetches its file by itself. Gives whether its products run by
 * our kernels now.
 */
export async function withFasterProducts(version: string, load: () => Promise<void>): Promise<boolean> {
  const { instantiate, instantiateStreaming } = Wasm;
  let faster = false;
  const start: typeof instantiate = (source, imports) => {
    const bytes = bytesOf(source);
    const changed = bytes && fasterProducts(bytes);
    faster ||= changed !== undefined && changed !== bytes;
    return instantiate(changed ?? source, imports);
  };
  if (KNOWN.test(version)) {
    Wasm.instantiate = start;
    if (instantiateStreaming)
      Wasm.instantiateStreaming = async (response, imports) => start(await (await response).arrayBuffer(), imports);
  }
  try {
    await load();
  } finally {
    Object.assign(Wasm, { instantiate, instantiateStreaming });
  }
  return faster;
}

/** The bytes of a module that is not compiled yet. */
function bytesOf(source: object): Uint8Array | undefined {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  return source instanceof ArrayBuffer ? new Uint8Array(source) : undefined;
}

/** A runtime's module with our kernels in it; the same bytes where its own are not recognised. */
export function fasterProducts(runtime: Uint8Array): Uint8Array {
  const sections = sectionsOf(runtime);
  const type = entriesOf(sections, sectionIds.types).findIndex((entry) => same(entry, TYPE));
  const functions = entriesOf(sections, sectionIds.functions);
  const bodies = entriesOf(sections, sectionIds.code);
  const found = new Map<Purpose, number>();
  for (const [i, entry] of functions.entries()) {
    const purpose = readNumber(entry, 0)[0] === type ? purposeOf(bodies[i]!) : undefined;
    if (purpose) found.set(purpose, i);
  }
  if (found.size < 2) return runtime;
  const first = entriesOf(sections, sectionIds.imports).filter(importsFunction).length + functions.length;
  const ours = ownKernels();
  [...found].forEach(([purpose, i], k) => {
    bodies[i] = handingOver(bodies[i]!, first + k);
    bodies.push(ours[purpose]);
    functions.push(Uint8Array.from(writeNumber(type)));
  });
  const changed = [sectionOf(sectionIds.functions, functions), sectionOf(sectionIds.code, bodies)];
  return moduleOf(sections.map((section) => changed.find(({ id }) => id === section.id) ?? section));
}

/** Our kernels, with products and sums in one where the browser has that. */
export function ownKernels(): Record<Purpose, Uint8Array> {
  const sections = sectionsOf(wasmBytes(PRODUCTS_HEX));
  const bodies = entriesOf(sections, sectionIds.code);
  const named = new Map(
    entriesOf(sections, sectionIds.exports)
      .map(exportOf)
      .map(({ name, index }) => [name, bodies[index]!]),
  );
  const fused = Wasm.validate(alone(named.get("writeFused")!)) ? "Fused" : "";
  return { write: named.get(`write${fused}`)!, add: named.get(`add${fused}`)! };
}

/** A body that first looks whether four rows are there, columns in sixteens and anything to add up: then another function does it. */
function handingOver(body: Uint8Array, to: number): Uint8Array {
  const start = instructionsAt(body);
  const [, variables] = readNumber(body, 0);
  const [k, m, n] = [3, 4, 5].map((parameter) => [0x20, parameter]) as [number[], number[], number[]];
  const parameters = Array.from({ length: 9 }, (_, i) => [0x20, i]).flat();
  const condition = [...m, 0x41, 4, 0x4f, ...n, 0x41, 15, 0x71, 0x45, 0x71, ...k, 0x41, 0, 0x47, 0x71]; // m ≥ 4, (n & 15) = 0, k ≠ 0
  const call = [0x04, 0x40, ...parameters, 0x10, ...writeNumber(to), 0x0f, 0x0b]; // if … return call … end
  const content = joined([body.subarray(variables, start), Uint8Array.of(...condition, ...call), body.subarray(start)]);
  return joined([Uint8Array.from(writeNumber(content.length)), content]);
}

/** A module of one function, `kernel`, and one page of memory. */
function alone(body: Uint8Array): Uint8Array {
  const name = (text: string) => [text.length, ...[...text].map((character) => character.charCodeAt(0))];
  return moduleOf([
    sectionOf(sectionIds.types, [TYPE]),
    sectionOf(sectionIds.functions, [Uint8Array.of(0)]),
    sectionOf(sectionIds.memories, [Uint8Array.of(0, 1)]),
    sectionOf(sectionIds.exports, [Uint8Array.of(...name("kernel"), 0, 0), Uint8Array.of(...name("memory"), 2, 0)]),
    sectionOf(sectionIds.code, [body]),
  ]);
}

/** What a function does where it is one of the kernels: small whole numbers, whose products are exact, tell. */
export function purposeOf(body: Uint8Array, size = { k: 5, m: 5, n: 32 }): Purpose | undefined {
  const single = alone(body);
  // What calls other functions, or has other variables, is none.
  if (!Wasm.validate(single)) return undefined;
  const { kernel, memory } = new Wasm.Instance<{ kernel: Kernel; memory: WasmMemory }>(new Wasm.Module(single), {})
    .exports;
  const { k, m, n } = size;
  const [lda, ldc, factor, before] = [k + 2, n + 3, 2, 100];
  const [a, b, c] = [64, 8192, 49_152].map((at) => new Float32Array(memory.buffer, at)) as Float32Array[];
  const valueA = (i: number, x: number) => ((i * 7 + x * 3) % 11) - 5;
  const valueB = (x: number, j: number) => ((x * 5 + j * 2) % 13) - 6;
  for (let i = 0; i < m; i++) for (let x = 0; x < k; x++) a![i * lda + x] = valueA(i, x);
  for (let j = 0; j < n; j++) for (let x = 0; x < k; x++) b![((j >> 4) * k + x) * 16 + (j & 15)] = valueB(x, j);
  c!.fill(before);
  const rows = kernel(a!.byteOffset, b!.byteOffset, c!.byteOffset, k, m, n, lda, ldc, factor);
  const product = (i: number, j: number) => {
    let sum = 0;
    for (let x = 0; x < k; x++) sum += valueA(i, x) * valueB(x, j);
    return factor * sum;
  };
  const did = (offset: number) =>
    c!.every((value, at) => {
      const [i, j] = [Math.floor(at / ldc), at % ldc];
      return value === (i < rows && j < n ? product(i, j) + offset : before);
    });
  if (!(rows >= 1 && rows <= m)) return undefined;
  return did(0) ? "write" : did(before) ? "add" : undefined;
}
