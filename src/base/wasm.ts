/** The part of the WebAssembly interface that kernels use, declared here: TypeScript has it only together with a browser's document. */

/** The memory of a WebAssembly program. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

export type WasmModule = object;

interface WasmInterface {
  readonly Memory: new (size: { initial: number; maximum: number }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => WasmModule;
  readonly Instance: new <Exports>(
    module: WasmModule,
    imports: Record<string, Record<string, WasmMemory>>,
  ) => { readonly exports: Exports };
}

declare const WebAssembly: WasmInterface;

export const Wasm = WebAssembly;

/** A module out of its text. */
export function compileWasm(base64: string): WasmModule {
  return new Wasm.Module(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
}
