import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  // Examples import the package by its name; tests run them on the source.
  resolve: { alias: { layerwise: fileURLToPath(new URL("src/index.ts", import.meta.url)) } },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "web/**/*.test.ts"],
    testTimeout: 180_000, // machines may be busy
    hookTimeout: 180_000,
  },
});
