/** The studio's page as static files in dist/studio/page: one script, one style sheet, nothing inline. */
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  logLevel: "warn",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    outDir: "../dist/studio/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: {
      // "Save as one HTML file" reads both by their names.
      output: { entryFileNames: "page.js", assetFileNames: "style[extname]", inlineDynamicImports: true },
    },
  },
});
