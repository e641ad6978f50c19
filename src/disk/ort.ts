/** Takes the place of engine/ort.ts on a page: ONNX Runtime's WebAssembly, whatever device and threads a run began with. */
import { check, oneOf } from "../base/options.ts";
import { bestEngine } from "../engine/best.ts";
import type { Engine } from "../engine/engine.ts";

export const devices = ["cpu", "cuda", "webgpu", "dml"] as const;

let threads = 1;

/** The page's engine. Its threads are what the page's first engine has: a page has one runtime. */
export async function ortEngine({ device = "cpu" }: { threads?: number; device?: string } = {}): Promise<Engine> {
  check("device", device, oneOf(["cpu", "wasm"]));
  const engine = await bestEngine({});
  threads = engine.threads;
  return engine;
}

export const defaultThreads = (): number => threads;

export const presentDevices = async (): Promise<string[]> => ["cpu"];

/** Which runtime a page has. */
export async function runtimeVersion(): Promise<string> {
  const { hasOrtWeb, webVersion } = await import("../engine/ort-web.ts");
  return (await hasOrtWeb()) ? `web ${await webVersion()}` : "reference";
}
