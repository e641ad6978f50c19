/** Training on a page's graphics processor, in Chromium over its software driver: the losses of Node. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bundle, executablePath, FLAGS, inNode, pagesIn, programFolder, root } from "./pages.ts";

/** Chromium's own SwiftShader: no Vulkan of the system is needed. */
const WEBGPU = [
  ...FLAGS.filter((flag) => flag !== "--disable-gpu"),
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
];

const folder = programFolder();
beforeAll(async () => {
  symlinkSync(join(root, "node_modules/onnxruntime-web"), join(folder, "node_modules/onnxruntime-web"), "dir");
  if (executablePath) expect((await bundle(folder, "page", PAGE)).later).toContain("ort-wasm-simd-threaded.jspi.wasm");
});

/** Twenty updates of a language model by AdamW. */
const TRAINING = `
import { cycle, languageModel, train } from "layerwise";

export async function losses(engine) {
  const plan = cycle({ unique: 1, depth: 2 });
  const model = languageModel({ vocabulary: 24, width: 16, heads: 2, hidden: 24, plan, length: 8, dropout: 0.1, halting: { ponder: 0.1 } });
  const at = (i) => ({
    ids: Int32Array.from({ length: 16 }, (_, k) => (7 * k + 5 * i) % 24),
    targets: Int32Array.from({ length: 16 }, (_, k) => (7 * k + 5 * i + 7) % 24),
  });
  const data = { train: { count: 20, rows: 2, length: 8, at } };
  const found = [];
  const session = train(model, { engine, data, steps: 20, rate: 0.003, warmup: 5, seed: 1, evaluateEvery: 100 });
  for await (const event of session) if (event.type === "step") found.push(event.loss);
  const { weights } = await session.result;
  return { found, numbers: [...weights.values()].reduce((sum, { length }) => sum + length, 0) };
}
`;

const PAGE = `
import { webGpuEngine } from "layerwise";
${TRAINING}
export async function run() {
  const runtime = await import("onnxruntime-web/jspi");
  return losses(await webGpuEngine({ runtime, strict: true }));
}
export const refused = async () => {
  const runtime = await import("onnxruntime-web/jspi");
  return webGpuEngine({ runtime }).then(() => "none", ({ message }) => message);
};
`;

const NODE = `
import { ortEngine } from "layerwise";
${TRAINING}
export const run = async () => losses(await ortEngine({ threads: 1 }));
`;

interface Found {
  found: number[];
  numbers: number;
}

if (!executablePath) console.warn("skipped: no Chromium was found for WebGPU on a page");

describe.runIf(executablePath)("training on a page's graphics processor", () => {
  const pages = pagesIn(folder, WEBGPU);

  it("gives the losses of Node with halting and dropout, every node on the device", async () => {
    const { values, said } = await pages("page", ["program.run()"]);
    expect(said).toEqual([]);
    const [{ found, numbers }, expected] = [values[0] as Found, inNode(folder, NODE) as Found];
    expect([found.length, numbers]).toEqual([20, expected.numbers]);
    expect(Math.max(...found.map((loss, k) => Math.abs(loss - expected.found[k]!)))).toBeLessThan(1e-4);
  });
});

describe.runIf(executablePath)("a page without a graphics processor", () => {
  const pages = pagesIn(folder);

  it("is told so", async () => {
    const { values } = await pages("page", ["program.refused()"]);
    expect(values[0]).toMatch(/^webGpuEngine: expected a .* got .*; .*use ortWebEngine\(\)$/);
  });
});
