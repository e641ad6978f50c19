/** Writes modeling_layerwise.py as a module, so that it is there wherever the library runs: `npm run modeling`. */
import { readFileSync, writeFileSync } from "node:fs";

const folder = new URL("../src/model/huggingface/", import.meta.url);
const source = readFileSync(new URL("modeling_layerwise.py", folder), "utf8");
const text = `/** modeling_layerwise.py as text; written by \`npm run modeling\`, never by hand. */
export const MODELING = \`${source.replace(/[\\`]|\$\{/g, "\\$&")}\`;
`;
writeFileSync(new URL("modeling.ts", folder), text);
