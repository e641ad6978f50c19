import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { Wasm } from "../base/wasm.ts";
import { entriesOf, sectionIds, sectionsOf } from "./wasm-sections.ts";
import { fasterProducts, ownKernels, purposeOf, withFasterProducts } from "./web-products.ts";

const installed = dirname(createRequire(import.meta.url).resolve("onnxruntime-web"));
const runtime = new Uint8Array(readFileSync(join(installed, "ort-wasm-simd-threaded.wasm")));
const bodies = (module: Uint8Array) => entriesOf(sectionsOf(module), sectionIds.code);

describe("our kernels", () => {
  it.each([
    { k: 1, m: 4, n: 16 },
    { k: 5, m: 5, n: 32 },
    { k: 128, m: 9, n: 64 },
    { k: 131, m: 4, n: 48 },
  ])("write and add four rows of %s", (size) => {
    const { write, add } = ownKernels();
    expect([purposeOf(write, size), purposeOf(add, size)]).toEqual(["write", "add"]);
  });
});

describe("a runtime with faster products", () => {
  it("has two functions more, which the two kernels of the installed one call", () => {
    const changed = fasterProducts(runtime);
    const [before, after] = [bodies(runtime), bodies(changed)];
    const different = before.filter((body, i) => Buffer.compare(body, after[i]!) !== 0);
    expect(different.map((body) => purposeOf(body)).sort()).toEqual(["add", "write"]);
    expect(
      after
        .slice(before.length)
        .map((body) => purposeOf(body))
        .sort(),
    ).toEqual(["add", "write"]);
    expect(Wasm.validate(changed)).toBe(true);
  });

  it("is the same bytes where there are no such kernels", () => {
    const other = runtime.slice(0, 8);
    expect(fasterProducts(other)).toBe(other);
  });

  it("leaves WebAssembly as it was, whatever happens", async () => {
    const { instantiate, instantiateStreaming } = Wasm;
    const failing = () => Promise.reject(new Error("no file"));
    await expect(withFasterProducts("1.30.0", failing)).rejects.toThrow("no file");
    expect(Wasm).toMatchObject({ instantiate, instantiateStreaming });
  });

  it("is not made of versions that were not tested", async () => {
    const { instantiate } = Wasm;
    const look = async () => expect(Wasm.instantiate).toBe(instantiate);
    expect(await withFasterProducts("1.31.0", look)).toBe(false);
  });
});
