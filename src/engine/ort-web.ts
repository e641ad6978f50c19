/** ONNX Runtime as WebAssembly behind the engine interface: the only file that imports it, and only when an engine is asked for. */
import { LayerwiseError, messageOf, reject } from "../base/errors.ts";
import { check, checkOptions, whole } from "../base/options.ts";
import type { Engine, Program, ProgramSource } from "./engine.ts";
import { compileWith, sessionBasics } from "./ort-program.ts";
import { tryOut } from "./try-out.ts";

/** How programs run on ONNX Runtime in a browser. A page has one runtime: its first engine decides for all. */
export interface OrtWebOptions {
  /** Threads of the page's programs. Default: half of the cores, at most 4; 1 where the page is not cross-origin isolated. */
  threads?: number;
  /** The folder that `ort-wasm-simd-threaded.*` are served from, or their addresses. Default: where the bundler put them. */
  wasmPaths?: string | { mjs?: string; wasm?: string };
  /** Products by kernels of layerwise, put into the runtime as it is loaded: they are faster. Default: true. */
  ownProducts?: boolean;
}

/** An engine in a browser. */
export interface OrtWebEngine extends Engine {
  /** Why it has one thread: which headers the page lacks. */
  readonly notice: string | undefined;
  /** Whether products run by kernels of layerwise: not where they are not wanted, nor in versions of the runtime that are not known. */
  readonly ownProducts: boolean;
}

type Runtime = typeof import("onnxruntime-web/wasm");

interface Started {
  readonly runtime: Runtime;
  readonly threads: number;
  readonly notice: string | undefined;
  readonly ownProducts: boolean;
}

/** What a page or worker has and Node has not. */
const page = globalThis as {
  readonly crossOriginIsolated?: boolean;
  readonly isSecureContext?: boolean;
  readonly location?: { readonly href: string };
  readonly navigator?: { readonly hardwareConcurrency?: number };
};

/** An engine on ONNX Runtime's WebAssembly. Needs the package onnxruntime-web. */
export async function ortWebEngine(options: OrtWebOptions = {}): Promise<OrtWebEngine> {
  checkOptions("engine", options, ["threads", "wasmPaths", "ownProducts"]);
  const { threads: wanted } = options;
  if (wanted !== undefined) check("threads", wanted, whole(1));
  started ??= start(options);
  const { runtime, threads, notice, ownProducts } = await started;
  if (wanted !== undefined && wanted !== threads && !notice) {
    const remedy = "load the page again for another number";
    reject({ who: "threads", needed: `${threads}, as the page's first engine has`, got: `${wanted}`, remedy }, 2);
  }
  const about = { name: "onnxruntime-web", threads, device: "wasm", notice, ownProducts };
  return { ...about, compile: (source) => compile(runtime, source) };
}

let started: Promise<Started> | undefined;

async function start({ threads, wasmPaths, ownProducts = true }: OrtWebOptions): Promise<Started> {
  const runtime = (await importRuntime()) ?? rejectMissing();
  const { wasm } = runtime.env;
  const notice = page.crossOriginIsolated === false && threads !== 1 ? await noticeOf() : undefined;
  if (notice) console.warn(`layerwise: ${notice}`);
  runtime.env.logLevel = "fatal";
  wasm.numThreads = page.crossOriginIsolated === false ? 1 : (threads ?? usualThreads());
  if (wasmPaths !== undefined) wasm.wasmPaths = wasmPaths;
  const version = ownProducts ? (runtime.env.versions.web ?? "") : "";
  const { withFasterProducts } = await import("./web-products.ts");
  const faster = await withFasterProducts(version, () => tryOut((source) => compile(runtime, source), unserved));
  return { runtime, threads: wasm.numThreads, notice, ownProducts: faster };
}

/** The runtime where its package is there. */
async function importRuntime(): Promise<Runtime | undefined> {
  try {
    return await import("onnxruntime-web/wasm");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new LayerwiseError(`onnxruntime-web: could not be loaded: ${messageOf(error)}`, 1, { cause: error });
  }
}

/** Node, Vite (whose bundles throw for an optional peer) and browsers each say it in words of their own. */
const isMissing = (error: unknown) =>
  /Cannot find (package|module)|Could not resolve|resolve module specifier|not resolved to a/.test(messageOf(error));

/** Whether onnxruntime-web is installed. */
export const hasOrtWeb = async (): Promise<boolean> => (await importRuntime()) !== undefined;

/** Its version. */
export const webVersion = async (): Promise<string> => (await importRuntime())?.env.versions.web ?? "unknown";

function rejectMissing(): never {
  const remedy = "npm install onnxruntime-web, or use referenceEngine()";
  return reject({ who: "ortWebEngine", needed: "the package onnxruntime-web", got: "none installed", remedy });
}

/** Half of the cores: two hardware threads of one core share the units that products need. */
function usualThreads(): number {
  if (!page.crossOriginIsolated) return 1;
  return Math.min(4, Math.ceil((page.navigator?.hardwareConcurrency ?? 1) / 2));
}

const isolating = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
} as const;

async function noticeOf(): Promise<string> {
  if (!page.isSecureContext) return "one thread: a page needs https (or localhost) for more";
  const missing = await missingHeaders();
  const lines = missing.map((name) => `${name}: ${isolating[name]}`);
  return `one thread: to have more, serve the page with ${lines.join(" and ")}`;
}

/** The headers without which a page is not isolated, as far as its server says; both where it does not. */
async function missingHeaders(): Promise<(keyof typeof isolating)[]> {
  const names = Object.keys(isolating) as (keyof typeof isolating)[];
  const answer = await fetch(page.location!.href, { method: "HEAD" }).catch(() => undefined);
  const missing = names.filter((name) => !answer?.headers.get(name));
  return missing.length > 0 ? missing : names;
}

const unserved = {
  who: "ortWebEngine",
  needed: "ort-wasm-simd-threaded.wasm from the page's own server",
  remedy: "copy it from node_modules/onnxruntime-web/dist and set wasmPaths to its folder",
} as const;

function compile({ InferenceSession, Tensor }: Runtime, source: ProgramSource): Promise<Program> {
  const open = async (model: Uint8Array) => {
    const session = await InferenceSession.create(model, { ...sessionBasics, executionProviders: ["wasm"] });
    const run: typeof session.run = (feeds, fetches) => session.run(feeds, fetches as typeof feeds, quiet);
    return { run, release: () => session.release() };
  };
  return compileWith(source, { Tensor, open, writesInto: false });
}

/** A run's errors come back as such; without this they stand in the console, too. */
const quiet = { logSeverityLevel: 4 } as const;
