import { expect, it } from "vitest";
import { type WebGpuRuntime, webGpuEngine } from "./web-gpu.ts";

const runtime: WebGpuRuntime = await import("onnxruntime-web/jspi");

it("the WebGPU engine of pages says where there is no WebGPU", async () => {
  await expect(webGpuEngine({ runtime })).rejects.toThrow(
    "webGpuEngine: expected a browser with WebGPU, and a page by https or from localhost, got none; use ortWebEngine()",
  );
});

it("the WebGPU engine of pages refuses options that it does not know", async () => {
  // @ts-expect-error for programs in JavaScript
  await expect(webGpuEngine({ runtime, thread: 1 })).rejects.toThrow("engine: expected options among");
});
