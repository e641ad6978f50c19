/** Compiles kernels/ into modules of WebAssembly text; with --check, only says whether those files are what the sources give. */
import { readFile, writeFile } from "node:fs/promises";
import asc from "assemblyscript/asc";

const ROOT = new URL("..", import.meta.url);
const MODULES = [
  { source: "kernels/index.ts", target: "src/engine/kernels.wasm.ts", name: "KERNELS_HEX" },
  { source: "kernels/draws.ts", target: "src/base/draws.wasm.ts", name: "DRAWS_HEX" },
  // Its functions are taken out one by one, so that a browser without relaxed arithmetic never sees it.
  {
    source: "kernels/products.ts",
    target: "src/engine/products.wasm.ts",
    name: "PRODUCTS_HEX",
    options: ["--enable", "relaxed-simd"],
  },
];
const OPTIONS = [
  "--optimizeLevel",
  "3",
  "--shrinkLevel",
  "0",
  "--converge",
  "--enable",
  "simd",
  "--runtime",
  "stub",
  "--noAssert",
];
const MEMORY = ["--importMemory", "--initialMemory", "1"];

async function compile({ source, options = [] }) {
  let binary;
  const { error, stderr } = await asc.main([source, "--outFile", "kernels.wasm", ...OPTIONS, ...options, ...MEMORY], {
    readFile: (name) => readFile(new URL(name, ROOT), "utf8").catch(() => null),
    writeFile: (name, contents) => {
      if (name === "kernels.wasm") binary = contents;
    },
    listFiles: () => [],
  });
  if (error) throw new Error(`${source}: expected sources that compile, got\n${stderr.toString() || error.message}`);
  return binary;
}

function moduleText({ source, name }, binary) {
  return `/** Generated from ${source} by \`npm run kernels\`: ${binary.length} bytes of WebAssembly. */
export const ${name} =
  "${Buffer.from(binary).toString("hex")}";
`;
}

for (const module of MODULES) {
  const { source, target } = module;
  const text = moduleText(module, await compile(module));
  if (process.argv.includes("--check")) {
    const same = text === (await readFile(new URL(target, ROOT), "utf8"));
    console.log(same ? `${target} agrees with ${source}` : `${target} differs from ${source}; run npm run kernels`);
    if (!same) process.exitCode = 1;
  } else {
    await writeFile(new URL(target, ROOT), text);
    console.log(text.split("\n")[0]);
  }
}
