/** ONNX Runtime's WebGPU on a page, behind the engine interface. The page hands the runtime in: no bundle holds it unless its program asks. */
import { reject } from "../base/errors.ts";
import { checkOptions } from "../base/options.ts";
import type { Engine, ProgramSource } from "./engine.ts";
import { compileWith, onDevice, type RuntimeSession, sessionBasics } from "./ort-program.ts";
import { DeviceResidence, type DeviceRuntime, type DeviceTensor } from "./residence.ts";
import { tryOut } from "./try-out.ts";

/** What the packages `onnxruntime-web/jspi` and `onnxruntime-web/webgpu` offer, as far as it is used. */
export interface WebGpuRuntime {
  readonly env: { logLevel?: unknown; readonly wasm: { numThreads?: number; wasmPaths?: unknown } };
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<unknown> };
  readonly Tensor: unknown;
}

/** The same with the types that programs need. */
interface Runtime extends WebGpuRuntime {
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<RuntimeSession<DeviceTensor>> };
  readonly Tensor: DeviceRuntime<DeviceTensor>["Tensor"];
}

/** How programs run on a page's graphics processor. */
export interface WebGpuOptions {
  /** The module `onnxruntime-web/jspi`, or `onnxruntime-web/webgpu` for browsers without JSPI. */
  readonly runtime: WebGpuRuntime;
  /** The folder that the runtime's WebAssembly is served from, or its addresses. Default: where the bundler put it. */
  readonly wasmPaths?: string | { mjs?: string; wasm?: string };
  /** Refuse programs of which a node would run on the processor. Default: no. */
  readonly strict?: boolean;
}

const page = globalThis as { readonly navigator?: { readonly gpu?: unknown } };

/** An engine on a page's graphics processor: weights and moments stay there while a model trains. */
export async function webGpuEngine(options: WebGpuOptions): Promise<Engine> {
  checkOptions("engine", options, ["runtime", "wasmPaths", "strict"]);
  const { wasmPaths, strict = false } = options;
  const runtime = options.runtime as Runtime;
  const remedy = "use ortWebEngine()";
  if (!page.navigator?.gpu)
    reject({
      who: "webGpuEngine",
      needed: "a browser with WebGPU, and a page by https or from localhost",
      got: "none",
      remedy,
    });
  runtime.env.logLevel = "fatal";
  runtime.env.wasm.numThreads = 1;
  if (wasmPaths !== undefined) runtime.env.wasm.wasmPaths = wasmPaths;
  const open = (model: Uint8Array, stay: readonly string[] = []) => openOn(runtime, strict, model, stay);
  const { Tensor } = runtime;
  const compile = (source: ProgramSource) => compileWith(source, { Tensor, open, writesInto: false, target: "gpu" });
  const engine = { name: "onnxruntime-web", threads: 1, device: "webgpu", compile };
  await tryOut(compile, unusable);
  return { ...engine, residence: () => new DeviceResidence({ Tensor, open }) };
}

async function openOn({ InferenceSession }: Runtime, strict: boolean, model: Uint8Array, stay: readonly string[]) {
  const preferredOutputLocation = Object.fromEntries(stay.map((name) => [name, "gpu-buffer"]));
  return InferenceSession.create(model, {
    ...sessionBasics,
    executionProviders: ["webgpu"],
    ...(stay.length > 0 ? { preferredOutputLocation } : {}),
    ...(strict ? { extra: { session: onDevice } } : {}),
  });
}

const unusable = {
  who: "webGpuEngine",
  needed: "a graphics processor that the browser may use, and the runtime's WebAssembly from the page's own server",
  remedy: "set wasmPaths to the folder of ort-wasm-simd-threaded.*, or use ortWebEngine()",
} as const;
