import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const { exports: exported } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  exports: Record<string, string | { browser?: { default: string } | null; default: string }>;
};

/** Files of the repository below a folder; what a user left there is not judged. */
function trackedBelow(root: string): string[] {
  try {
    const listed = execFileSync("git", ["ls-files", "-z"], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const files = listed.split("\0").filter((file) => file !== "" && existsSync(join(root, file)));
    if (files.length > 0) return files;
  } catch {
    // No repository.
  }
  return readdirSync(root, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/"));
}

const lower = [
  "format",
  "files",
  "graph",
  "onnx",
  "engine",
  "nn",
  "depth",
  "model",
  "text",
  "text/files",
  "train",
  "runs",
];

/** The files behind the entry points of the package, without their ending: `./text` is text/index. */
const doors = Object.values(exported).flatMap((entry) =>
  typeof entry === "string" ? [] : [entry.default.replace(/^\.\/dist\/|\.js$/g, "")],
);

/**
 * Which folders a folder of src may import, besides itself and (but for cli) base; `folder/file` means that file only. Types count too.
 * A sub-folder with a line of its own is a folder like the others.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  base: [],
  format: [],
  files: [],
  graph: [],
  onnx: ["graph", "format"],
  engine: ["graph", "onnx"],
  // What takes the place of Node's files, and of its engine, on a page.
  disk: ["engine"],
  nn: ["graph"],
  depth: ["graph", "nn"],
  model: ["graph", "nn", "depth", "engine/engine"],
  text: ["format"],
  // What of the text lies in files.
  "text/files": ["text", "format", "files"],
  // The entry point for Node; the one for browsers is text/browser.ts.
  "text/index": ["text", "text/files"],
  // Of the engine the interfaces and the arena, never a runtime.
  train: ["graph", "engine/engine", "engine/arena", "engine/kernels", "engine/updates"],
  runs: ["format", "files", "train/events"],
  pictures: ["format"],
  analysis: ["graph", "nn", "depth", "model", "text", "engine/engine"],
  tasks: [...lower, "analysis", "pictures", "disk"],
  sweep: [...lower, "tasks", "runs"],
  // It builds models through the public API only.
  certify: ["index"],
  cli: doors,
  studio: ["files", "depth", "text", "runs", "tasks", "sweep"],
};

/** Files outside the folders for Node whose job is files or processes. */
const mayUseNode = new Set(["engine/ort.ts"]);
const nodeFolders = new Set(["files", "text/files", "cli", "runs", "tasks", "sweep", "studio"]);

/** The files that load a runtime, and which. */
const runtimes = new Map([
  ["engine/ort.ts", /^onnxruntime-node$/],
  ["engine/ort-web.ts", /^onnxruntime-web\/wasm$/],
]);

type Sources = ReadonlyMap<string, string>;

/** What a source imports, statically, dynamically or for its types. */
function importsOf(source: string): string[] {
  return [...source.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1]!);
}

/** Path of a relative import from src, `../bench/…` for what lies outside. */
const resolved = (file: string, target: string) => normalize(join(dirname(file), target)).replaceAll("\\", "/");
/** The folder or file with a line in the table, the innermost where there are two. */
function folderOf(file: string): string {
  const inner = file.replace(/\.ts$/, "").split("/").slice(0, 2).join("/");
  return inner in allowed ? inner : file.split("/")[0]!;
}
const mayUseNodeIn = (file: string) => nodeFolders.has(folderOf(file)) || mayUseNode.has(file);

function isAllowed(from: string, to: string): boolean {
  const [source, target] = [folderOf(from), folderOf(to)];
  if (!from.includes("/")) return !to.startsWith("..");
  if (target === source || (target === "base" && source !== "cli")) return true;
  return (allowed[source] ?? []).some((each) => each === target || `${each}.ts` === to);
}

function complaintsAbout(file: string, target: string): string[] {
  if (target.startsWith(".")) return isAllowed(file, resolved(file, target)) ? [] : [`${file} imports ${target}`];
  if (target.startsWith("onnxruntime-")) return runtimes.get(file)?.test(target) ? [] : [`${file} imports ${target}`];
  if (target.startsWith("@resvg/")) return file === "tasks/raster.ts" ? [] : [`${file} imports ${target}`];
  if (target === "koffi") return file === "tasks/mpi.ts" ? [] : [`${file} imports ${target}`];
  if (/^(@hono\/|hono\b)/.test(target)) return folderOf(file) === "studio" ? [] : [`${file} imports ${target}`];
  if (/^(bullmq|ioredis)$/.test(target)) return file.startsWith("sweep/queue/") ? [] : [`${file} imports ${target}`];
  return target.startsWith("node:") && !mayUseNodeIn(file) ? [`${file} imports ${target}`] : [];
}

/** Node's globals in a file that has to run in a browser too; a type of its own may be called Buffer. */
function globalsIn(file: string, source: string): string[] {
  if (mayUseNodeIn(file)) return [];
  const code = source.replace(/\/\*.*?\*\/|\/\/[^\n]*/gs, "");
  const names = /\b(?:interface|type) Buffer\b/.test(code) ? "NodeJS" : "Buffer|NodeJS";
  const found = code.matchAll(
    new RegExp(`\\b(?:${names})\\b|\\b(?:process|require|module)(?=\\.|\\()|\\b__\\w+name\\b`, "g"),
  );
  return [...found].map(([name]) => `${file} uses ${name}`);
}

function violations(sources: Sources): string[] {
  return [...sources].flatMap(([file, source]) => [
    ...importsOf(source).flatMap((target) => complaintsAbout(file, target)),
    ...globalsIn(file, source),
  ]);
}

/** The first cycle of imports, as a path, or undefined. */
function cycleIn(sources: Sources): string[] | undefined {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    const targets = importsOf(sources.get(file) ?? "").filter((target) => target.startsWith("."));
    for (const target of targets) {
      const cycle = visit(resolved(file, target), [...path, file]);
      if (cycle) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of sources.keys()) {
    const cycle = visit(file, []);
    if (cycle) return cycle;
  }
  return undefined;
}

/** What a file loads when it is loaded itself: not its types, nor what it imports when it is asked for. */
const packagesOf = (source: string) =>
  [...source.matchAll(/^import\s(?!type\b)[^;]*?"([^."][^"]*)";/gm)].map(([, target]) => target!);

/** Everything that is loaded when `file` is: its static imports but for types, and theirs. */
function loadedBy(file: string, sources: Sources): Set<string> {
  const loaded = new Set([file]);
  for (const each of loaded) {
    const statics = (sources.get(each) ?? "").matchAll(/^(?:import|export)\s(?!type\b)[^;]*?"(\.[^"]+)";/gm);
    for (const [, target] of statics) loaded.add(resolved(each, target!));
  }
  return loaded;
}

function readSources(): Map<string, string> {
  const root = fileURLToPath(new URL("../src", import.meta.url));
  const files = trackedBelow(root);
  const product = files.filter((file) => file.endsWith(".ts") && !/\.(test|contract)\.ts$/.test(file));
  return new Map(product.map((file) => [file, readFileSync(join(root, file), "utf8")]));
}

describe("the architecture", () => {
  const sources = readSources();

  it("has a line for every folder", () => {
    const folders = new Set([...sources.keys()].filter((file) => file.includes("/")).map(folderOf));
    expect([...folders].filter((folder) => !(folder in allowed))).toEqual([]);
  });

  it("keeps its directions, and confines the runtime and node", () => {
    expect(violations(sources)).toEqual([]);
  });

  it("loads a queue's client only when a queue is asked for", () => {
    const loaded = [...sources].flatMap(([file, source]) => packagesOf(source).map((target) => `${target} in ${file}`));
    expect(loaded.some((each) => each.startsWith("commander in"))).toBe(true);
    expect(loaded.filter((each) => /^(bullmq|ioredis) /.test(each))).toEqual([]);
  });

  it("has no cycles", () => {
    expect(cycleIn(sources)).toBeUndefined();
  });

  it("starts the command without the runtime", () => {
    const commands = importsOf(sources.get("cli/commands.ts")!).filter((target) => target.startsWith("."));
    expect(commands).toContain("./commands/doctor.ts");
    for (const command of ["./main.ts", ...commands]) {
      expect(loadedBy(resolved("cli/commands.ts", command), sources)).not.toContain("engine/ort.ts");
    }
    expect(loadedBy("tasks/devices.ts", sources)).toContain("engine/ort.ts");
  });
});

/** What a browser is given for an entry point: nothing where it is for Node only, or made by the build, with src/disk for Node's files. */
const inBrowsers = Object.values(exported).flatMap((entry) => {
  if (typeof entry === "string" || entry.browser === null || entry.browser?.default.startsWith("./dist/page/"))
    return [];
  return [(entry.browser ?? entry).default.replace("./dist/", "").replace(/js$/, "ts")];
});

describe("an entry point", () => {
  const sources = readSources();

  it.each(inBrowsers)("for browsers, %s, loads nothing that needs Node", (entry) => {
    const loaded = [...loadedBy(entry, sources)];
    expect(loaded).toContain("base/errors.ts");
    expect(loaded.filter(mayUseNodeIn)).toEqual([]);
  });

  it.each(doors.filter((door) => !inBrowsers.includes(`${door}.ts`) && door !== "index"))(
    "that browsers do not get as it is, %s, needs Node",
    (door) => {
      expect([...loadedBy(`${door}.ts`, sources)].some(mayUseNodeIn)).toBe(true);
    },
  );

  it.each(Object.keys(exported).filter((name) => name !== "./package.json"))("%s says what it is for", (name) => {
    const { default: file } = exported[name] as { default: string };
    const [comment = ""] = /^\/\*\*.*?\*\//s.exec(sources.get(file.replace("./dist/", "").replace(/js$/, "ts"))!) ?? [];
    expect(comment).toContain(name === "." ? "The library" : `\`layerwise${name.slice(1)}\``);
  });
});

/** What takes the place of Node's modules on a page; web/on-page.config.ts says it to the build. */
const onPages: Readonly<Record<string, () => Promise<object>>> = {
  "node:fs": () => import("../src/disk/fs.ts"),
  "node:fs/promises": () => import("../src/disk/fs-promises.ts"),
  "node:path": () => import("../src/disk/path.ts"),
  "node:crypto": () => import("../src/disk/crypto.ts"),
};
for (const name of ["os", "url", "util", "child_process", "worker_threads", "zlib"])
  Object.assign(onPages, { [`node:${name}`]: () => import("../src/disk/system.ts") });

describe("tasks on pages", () => {
  const sources = readSources();

  it("ask Node's modules for nothing that src/disk has not", async () => {
    const reached = new Set(["tasks/browser.ts"]);
    for (const file of reached) {
      if (file === "engine/ort.ts") continue; // src/disk/ort.ts takes its place
      const code = (sources.get(file) ?? "").replace(/import type [^;]*;/g, "");
      for (const target of importsOf(code)) if (target.startsWith(".")) reached.add(resolved(file, target));
    }
    const missing: string[] = [];
    for (const file of reached) {
      if (file === "engine/ort.ts") continue;
      for (const [, names, module] of (sources.get(file) ?? "").matchAll(
        /^import \{([^}]*)\} from "(node:[^"]+)";/gm,
      )) {
        const here = await onPages[module!]?.();
        const wanted = names!
          .split(",")
          .map((name) => name.trim())
          .filter((name) => name && !name.startsWith("type "));
        for (const name of wanted) if (!here || !(name in here)) missing.push(`${file} imports ${name} of ${module}`);
      }
    }
    expect(reached.size).toBeGreaterThan(200);
    expect(missing).toEqual([]);
  });
});

describe("the entry point for browsers", () => {
  const sources = readSources();

  it("is all of the one for Node but for what needs it", () => {
    const exported = importsOf(sources.get("index.ts")!).map((target) => resolved("index.ts", target));
    expect(exported).toContain("browser.ts");
    const others = exported.filter((file) => file !== "browser.ts");
    expect(others.filter((file) => [...loadedBy(file, sources)].every((each) => !mayUseNodeIn(each)))).toEqual([]);
  });
});

describe("the studio's page", () => {
  const root = fileURLToPath(new URL("../web", import.meta.url));
  const files = trackedBelow(root).filter((file) => /\.tsx?$/.test(file));
  const product = files.filter((file) => !/\.(test|config)\.ts$/.test(file)).map((file) => file.replaceAll("\\", "/"));

  /** The playground runs the library in a worker: it takes the entry points for browsers, and the books. */
  const ours = (file: string) =>
    file.startsWith("playground/")
      ? /(?:import|export) [^;]*?"[^"]*(?:src\/(?:tasks\/)?browser\.ts|corpus\/books\/\w+\.txt\?url)";/g
      : /import type [^;]*?"[^"]*src\/studio\/api\.ts";/g;

  it("takes of the library only the types that the server speaks", () => {
    const outside = product.flatMap((file) => {
      const source = readFileSync(join(root, file), "utf8").replace(ours(file), "");
      const targets = importsOf(source).filter((target) => target.startsWith(".") || target.startsWith("node:"));
      return targets
        .filter((target) => /^(node:|\.\.\/)/.test(resolved(file, target)))
        .map((target) => `${file}: ${target}`);
    });
    expect(product.length).toBeGreaterThan(20);
    expect(outside).toEqual([]);
  });
});

describe("the entry point for text", () => {
  it("loads text, formats and files only", () => {
    const folders = new Set([...loadedBy("text/index.ts", readSources())].map(folderOf));
    expect([...folders].sort()).toEqual(["base", "files", "format", "text", "text/files", "text/index"]);
  });
});

describe("the check of the architecture", () => {
  const check = (file: string, source: string) => violations(new Map([[file, source]]));

  it.each([
    ["graph/build.ts", 'import { lower } from "../onnx/lower.ts";'],
    ["graph/build.ts", 'import type { Engine } from "../engine/engine.ts";'],
    ["train/loop.ts", 'import { languageModel } from "../model/language/language.ts";'],
    ["train/loop.ts", 'import { ortEngine } from "../engine/ort.ts";'],
    ["runs/folder.ts", 'import { TrainingStep } from "../train/step.ts";'],
    ["engine/reference.ts", 'import ort from "onnxruntime-node";'],
    ["cli/main.ts", 'const ort = await import("onnxruntime-web");'],
    ["engine/ort.ts", 'const ort = await import("onnxruntime-web/wasm");'],
    ["engine/ort-web.ts", 'import type ort from "onnxruntime-node";'],
    ["nn/layers.ts", 'import os from "node:os";'],
    ["cli/main.ts", 'import { serve } from "@hono/node-server";'],
    ["sweep/sweep.ts", 'import { Queue } from "bullmq";'],
    ["studio/server.ts", 'import { main } from "../cli/main.ts";'],
    ["cli/main.ts", 'export { bench } from "../../bench/run.ts";'],
    ["cli/main.ts", 'import { table } from "../base/table.ts";'],
    ["cli/commands/train.ts", 'import type { Job } from "../../tasks/job.ts";'],
    ["cli/commands/train.ts", 'const { summarise } = await import("../../runs/summary.ts");'],
    ["cli/commands/plan.ts", 'import { albert } from "../../model/index.ts";'],
    ["index.ts", 'import "../test/setup.ts";'],
    ["text/corpus.ts", 'import { readLines } from "../files/lines.ts";'],
    ["text/masked/documents.ts", 'import type { TextFile } from "../files/corpus.ts";'],
    ["analysis/latency.ts", 'import { openCorpus } from "../text/files/corpus.ts";'],
    ["analysis/latency.ts", 'import { openCorpus } from "../text/index.ts";'],
    ["text/batches.ts", 'import { openCorpus } from "./index.ts";'],
    ["pictures/plot.ts", 'const hex = Buffer.from([1]).toString("hex");'],
    ["format/png.ts", "export function chunk(data: Buffer): void {}"],
    ["base/table.ts", "const width = process.stdout.columns;"],
    ["base/wasm.ts", 'const fs = require("fs");'],
  ])("finds that %s holds %s", (file, source) => {
    expect(check(file, source)).toHaveLength(1);
  });

  it.each([
    ["onnx/lower.ts", 'import { is } from "../graph/index.ts";\nimport { reject } from "../base/errors.ts";'],
    ["engine/ort.ts", 'import os from "node:os";\nimport ort from "onnxruntime-node";'],
    ["engine/ort-web.ts", 'return await import("onnxruntime-web/wasm");'],
    ["runs/folder.ts", 'import type { Event } from "../train/events.ts";'],
    ["index.ts", 'export * from "./graph/index.ts";'],
    ["text/files/corpus.ts", 'import { linesOf } from "../corpus.ts";\nconst data = process.env.LAYERWISE_DATA;'],
    ["cli/commands/train.ts", 'import { openJob } from "../../tasks/index.ts";\nimport { say } from "../say.ts";'],
    ["tasks/run.ts", 'import { openCorpus } from "../text/files/corpus.ts";'],
    ["text/index.ts", 'export * from "./browser.ts";\nexport { openCorpus } from "./files/corpus.ts";'],
    ["train/buffers.ts", "export interface Buffer { array: Float32Array } // not process.stdout's"],
  ])("lets %s hold %s", (file, source) => {
    expect(check(file, source)).toEqual([]);
  });

  it("finds cycles, through types too", () => {
    const cycle = new Map([
      ["graph/a.ts", 'import { b } from "./b.ts";'],
      ["graph/b.ts", 'import { c } from "./c.ts";'],
      ["graph/c.ts", 'import type { A } from "./a.ts";'],
    ]);
    expect(cycleIn(cycle)).toEqual(["graph/a.ts", "graph/b.ts", "graph/c.ts", "graph/a.ts"]);
  });
});
