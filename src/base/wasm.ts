/** The part of the WebAssembly interface that kernels use, declared here: TypeScript has it only together with a browser's document. */

/** The memory of a WebAssembly program. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

export type WasmModule = object;

/** What is fetched. */
interface WasmResponse {
  arrayBuffer(): Promise<ArrayBuffer>;
}

interface WasmStarted {
  readonly module: WasmModule;
  readonly instance: { readonly exports: object };
}

interface WasmInterface {
  readonly validate: (bytes: Uint8Array) => boolean;
  instantiate: (source: ArrayBuffer | Uint8Array | WasmModule, imports: object) => Promise<WasmStarted>;
  /** Not in every runtime. */
  instantiateStreaming?: (source: WasmResponse | Promise<WasmResponse>, imports: object) => Promise<WasmStarted>;
  readonly Memory: new (size: { initial: number; maximum: number }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => WasmModule;
  readonly Instance: new <Exports>(
    module: WasmModule,
    imports: Record<string, Record<string, WasmMemory>>,
  ) => { readonly exports: Exports };
}

declare const WebAssembly: WasmInterface;

export const Wasm = WebAssembly;

/** The bytes of a module out of its text: hexadecimal, which servers compress better than base64. */
export const wasmBytes = (hex: string): Uint8Array =>
  Uint8Array.from({ length: hex.length / 2 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));

/** A module out of its text. */
export const compileWasm = (hex: string): WasmModule => new Wasm.Module(wasmBytes(hex));
