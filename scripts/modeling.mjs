/** Writes modeling_layerwise.py as a module, so that it is there wherever the library runs. Builds, types and tests begin with it. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const inFolder = (name) => fileURLToPath(new URL(`../src/model/huggingface/${name}`, import.meta.url));
const target = inFolder("modeling.ts");
const source = readFileSync(inFolder("modeling_layerwise.py"), "utf8");
const text = `/** modeling_layerwise.py as text; written by scripts/modeling.mjs, never by hand. */
export const MODELING = \`${source.replace(/[\\`]|\$\{/g, "\\$&")}\`;
`;
if (!existsSync(target) || readFileSync(target, "utf8") !== text) {
  writeFileSync(`${target}.${process.pid}`, text);
  renameSync(`${target}.${process.pid}`, target); // several may write at once
}
