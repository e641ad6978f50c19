import { describe, expect, it } from "vitest";
import { engineContract } from "./engine.contract.ts";
import { ortWebEngine } from "./ort-web.ts";

engineContract("ONNX Runtime for the web", () => ortWebEngine({ threads: 1 }));

describe("the web's runtime", () => {
  it("has the threads of the first engine for all", async () => {
    expect(await ortWebEngine()).toMatchObject({ name: "onnxruntime-web", device: "wasm", threads: 1 });
    await expect(ortWebEngine({ threads: 2 })).rejects.toThrow(
      "threads: expected 1, as the page's first engine has, got 2; load the page again for another number",
    );
  });

  it("multiplies by our kernels", async () => {
    expect(await ortWebEngine()).toMatchObject({ ownProducts: true });
  });

  it("refuses options that it does not know", async () => {
    // @ts-expect-error for programs in JavaScript
    await expect(ortWebEngine({ thread: 1 })).rejects.toThrow("did you mean threads?");
    await expect(ortWebEngine({ threads: 0 })).rejects.toThrow("threads: expected");
  });
});
