/**
 * The rest of what tasks ask Node's modules for, as it is on a page: `os`, `url`, `util`, `child_process`,
 * `worker_threads`, `zlib`, `process`.
 */
import { gunzipSync as gunzip } from "fflate";
import { fault } from "./memory.ts";

const page = globalThis as { navigator?: { userAgent?: string; hardwareConcurrency?: number } };

/** The browser's name and version, such as Chrome/150.0.0.0. */
function browser(): string {
  const agent = page.navigator?.userAgent ?? "";
  return /(?:Firefox|Edg|OPR|Chrome|HeadlessChrome|Version)\/[\d.]+/.exec(agent)?.[0] ?? "unknown";
}

const OWN = 1;

/** A page is one process, which no other can ask for. */
export const process = {
  pid: OWN,
  env: {} as Record<string, string | undefined>,
  platform: "browser",
  arch: "wasm32",
  version: `in ${browser()}`,
  kill: (pid: number, _signal: number): true => {
    if (pid !== OWN) throw fault("ESRCH", "kill", `${pid}`);
    return true;
  },
};

export const hostname = (): string => "browser";
export const homedir = (): string => "/home";
export const availableParallelism = (): number => page.navigator?.hardwareConcurrency ?? 1;
export const cpus = (): { model: string }[] =>
  Array.from({ length: availableParallelism() }, () => ({ model: browser() }));
export const release = (): string => "";
export default { hostname, homedir, availableParallelism, cpus, release };

export const fileURLToPath = (url: string | URL): string => decodeURIComponent(new URL(url).pathname);

/** There are no other programs on a page. */
export const spawnSync = (): { status: number; stdout: string } => ({ status: 1, stdout: "" });

/** Nor threads that read its files. */
export class Worker {
  constructor() {
    throw fault("ENOSYS", "new Worker", "a page");
  }
}

export const gunzipSync = (bytes: Uint8Array): Uint8Array => gunzip(bytes);

/** Whether two plain values are equal, down to their leaves. */
export function isDeepStrictEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [Object.entries(a), b as Record<string, unknown>];
  if (left.length !== Object.keys(b).length) return false;
  return left.every(([key, value]) => Object.hasOwn(b, key) && isDeepStrictEqual(value, right[key]));
}
