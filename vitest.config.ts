import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// A module that is written, and not kept.
execFileSync(process.execPath, [fileURLToPath(new URL("scripts/modeling.mjs", import.meta.url))]);

export default defineConfig({
  // Examples import the package by its name; tests run them on the source.
  resolve: { alias: { layerwise: fileURLToPath(new URL("src/index.ts", import.meta.url)) } },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "web/**/*.test.ts"],
    testTimeout: 180_000, // machines may be busy
    hookTimeout: 180_000,
  },
});
