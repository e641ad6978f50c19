/** Tasks on a page: a Vite plugin that gives the library src/disk where it asks for Node's files, and onnxruntime-web for ONNX Runtime. */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const src = fileURLToPath(new URL("../src", import.meta.url));
const disk = (name: string) => join(src, "disk", `${name}.ts`);

const system = ["os", "url", "util", "child_process", "worker_threads", "zlib"];
const modules: ReadonlyMap<string, string> = new Map([
  ["node:fs", disk("fs")],
  ["node:fs/promises", disk("fs-promises")],
  ["node:path", disk("path")],
  ["node:crypto", disk("crypto")],
  ...system.map((name) => [`node:${name}`, disk("system")] as const),
]);

/** Which of Node's globals a file uses, and what they are here. */
const globals = [
  { used: /\bBuffer\b(?!\s*[<|>])/, line: `import { Bytes as Buffer } from ${JSON.stringify(disk("bytes"))};\n` },
  { used: /\bprocess\./, line: `import { process } from ${JSON.stringify(disk("system"))};\n` },
];

/** Native code that the library can do without, and what it is told. */
const [NATIVE, NONE] = [new Set(["@resvg/resvg-js", "koffi"]), "\0no-native-code"];

/** With `shared`, files that need nothing of Node's stay where the build has put them, beside those of `layerwise`. */
export function onPage({ shared = false } = {}): Plugin {
  return {
    name: "layerwise-on-page",
    enforce: "pre",
    config: () => ({ define: { LAYERWISE_VERSION: JSON.stringify(version()) } }),
    resolveId(source, importer) {
      if (NATIVE.has(source)) return NONE;
      const known = modules.get(source);
      if (known) return shared ? built(known) : known;
      if (shared && source.startsWith(join(src, "disk"))) return built(source);
      if (!importer?.startsWith(src) || !source.startsWith(".")) return null;
      const path = resolve(dirname(importer), source);
      if (path === join(src, "engine", "ort.ts")) return shared ? built(disk("ort")) : disk("ort");
      return shared && !needsNode(path) ? built(path) : path;
    },
    load: (id) =>
      id === NONE
        ? 'throw new Error("a page runs no native code");\nexport const Resvg = undefined;\nexport default undefined;\n'
        : null,
    transform(code, id) {
      if (!id.startsWith(src) || id.startsWith(join(src, "disk"))) return null;
      const own = JSON.stringify(`file:///layerwise/src${id.slice(src.length)}`);
      const before = globals.filter(({ used }) => used.test(code) && needsNode(id)).map(({ line }) => line);
      return { code: before.join("") + code.replaceAll("import.meta.url", own), map: null };
    },
  };
}

/** A file of the build, seen from dist/page. */
const built = (path: string) => ({ id: `../${relative(src, path).replace(/\.ts$/, ".js")}`, external: true as const });

const version = () => (JSON.parse(readFileSync(join(src, "../package.json"), "utf8")) as { version: string }).version;

const asked = new Map<string, boolean>();

/** Whether a file, or one that it imports at any time, needs Node. */
function needsNode(path: string): boolean {
  const known = asked.get(path);
  if (known !== undefined) return known;
  asked.set(path, false); // types may import each other
  const code = readFileSync(path, "utf8").replace(/import type [^;]*;|\/\*.*?\*\//gs, "");
  const targets = [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"([^"]+)"/g)].map(([, target]) => target!);
  const needs = targets.some((target) =>
    target.startsWith(".")
      ? needsNode(resolve(dirname(path), target))
      : /^(node:|onnxruntime-node|@resvg|koffi)/.test(target),
  );
  asked.set(path, needs);
  return needs;
}
