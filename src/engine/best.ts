/** Which engine a page takes that names none. Loaded when it is asked for: bundlers make a file of it and of what engines need. */
import type { Engine } from "./engine.ts";
import { hasOrtWeb, type OrtWebOptions, ortWebEngine } from "./ort-web.ts";
import { referenceEngine } from "./reference.ts";

/** ONNX Runtime where onnxruntime-web is installed, else the reference engine. */
export async function bestEngine(options: OrtWebOptions): Promise<Engine> {
  return (await hasOrtWeb()) ? ortWebEngine(options) : referenceEngine();
}
