/** The playground as static files for any file host: in dist/studio/page/playground, or with `npm run site` in site. */
import { defineConfig } from "vite";
import { onPage } from "../on-page.config.ts";

export default defineConfig({
  base: "./",
  logLevel: "error",
  publicDir: "../public",
  plugins: [onPage()],
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  worker: { format: "es", plugins: () => [onPage()] },
  build: {
    outDir: "../../dist/studio/page/playground",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
  },
});
