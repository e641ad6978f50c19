#!/usr/bin/env node
/** The `layerwise` command. In a clone that was not built yet it builds first; the package comes built. */
import { execSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const main = new URL("../dist/cli/main.js", import.meta.url);
if (!existsSync(main)) {
  process.stderr.write("layerwise: building, once\n");
  execSync("npm run build", { cwd: fileURLToPath(new URL("..", import.meta.url)), stdio: ["ignore", "ignore", 2] });
}
await import(main.href);
