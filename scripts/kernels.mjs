/** Compiles kernels/ into src/engine/kernels.wasm.ts; with --check, only says whether that file is what the sources give. */
import { readFile, writeFile } from "node:fs/promises";
import asc from "assemblyscript/asc";

const ROOT = new URL("..", import.meta.url);
const SOURCE = "kernels/index.ts";
const TARGET = "src/engine/kernels.wasm.ts";
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

async function compile() {
  let binary;
  const { error, stderr } = await asc.main([SOURCE, "--outFile", "kernels.wasm", ...OPTIONS, ...MEMORY], {
    readFile: (name) => readFile(new URL(name, ROOT), "utf8").catch(() => null),
    writeFile: (name, contents) => {
      if (name === "kernels.wasm") binary = contents;
    },
    listFiles: () => [],
  });
  if (error) throw new Error(`${SOURCE}: expected sources that compile, got\n${stderr.toString() || error.message}`);
  return binary;
}

function moduleText(binary) {
  return `/** Generated from kernels/ by \`npm run kernels\`: ${binary.length} bytes of WebAssembly. */
export const KERNELS_BASE64 =
  "${Buffer.from(binary).toString("base64")}";
`;
}

const text = moduleText(await compile());
if (process.argv.includes("--check")) {
  const same = text === (await readFile(new URL(TARGET, ROOT), "utf8"));
  console.log(
    same ? `${TARGET} agrees with kernels/` : `${TARGET} differs from what kernels/ gives; run npm run kernels`,
  );
  process.exitCode = same ? 0 : 1;
} else {
  await writeFile(new URL(TARGET, ROOT), text);
  console.log(text.split("\n")[0]);
}
