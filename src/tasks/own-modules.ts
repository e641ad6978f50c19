/** Modules of users, which add to the library before anything is read: words of the notation of depth. */
import { resolve } from "node:path";
import { messageOf, reject } from "../base/errors.ts";
import * as depth from "../depth/index.ts";
import * as graph from "../graph/index.ts";
import * as nn from "../nn/index.ts";

/** What modules are given of the library. */
export interface ModuleLibrary {
  readonly depth: typeof depth;
  readonly graph: typeof graph;
  readonly nn: typeof nn;
}

/** Where processes that are started later find which modules to load: paths, a line each. */
const VARIABLE = "LAYERWISE_IMPORT";

/** Loads modules, each by its default export: a function that is given the library's depth, graph and nn. Processes that this one starts load them too. */
export async function importModules(files: readonly string[]): Promise<void> {
  const paths = files.map((file) => resolve(file));
  for (const path of paths) await importModule(path);
  if (paths.length > 0) process.env[VARIABLE] = [...inherited(), ...paths].join("\n");
}

/** Loads the modules of the process that started this one. */
export async function importInherited(): Promise<void> {
  for (const path of inherited()) await importModule(path);
}

const inherited = () => (process.env[VARIABLE] ?? "").split("\n").filter((path) => path !== "");

async function importModule(path: string): Promise<void> {
  const who = `--import ${path}`;
  const { pathToFileURL } = await import("node:url"); // when it is needed: a page has none
  const found: { default?: unknown } = await import(/* @vite-ignore */ pathToFileURL(path).href).catch(
    (error: unknown) => {
      return reject({ who, needed: "a module that can be loaded", got: messageOf(error) }, 2);
    },
  );
  if (typeof found.default !== "function") {
    const remedy = "write export default (lw) => { … }";
    reject({ who, needed: "a function as default export", got: typeof found.default, remedy }, 2);
  }
  await (found.default as (library: ModuleLibrary) => unknown)({ depth, graph, nn });
}
