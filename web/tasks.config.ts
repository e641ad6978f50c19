/** `layerwise/tasks` for browsers, in dist/page: what needs files, on src/disk; all else is the files of `layerwise` itself. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { onPage } from "./on-page.config.ts";

export default defineConfig({
  publicDir: false,
  logLevel: "error",
  plugins: [onPage({ shared: true })],
  build: {
    outDir: "../dist/page",
    emptyOutDir: true,
    target: "es2023",
    minify: false,
    reportCompressedSize: false,
    lib: { entry: fileURLToPath(new URL("../src/tasks/browser.ts", import.meta.url)), formats: ["es"] },
    rollupOptions: {
      external: ["fflate", "gifenc", "yaml", /^zod/, /^onnxruntime-web/],
      output: { entryFileNames: "tasks.js", chunkFileNames: "[name].js" },
    },
  },
});
