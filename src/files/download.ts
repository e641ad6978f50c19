/** Downloads that resume where they stopped and are checked before they appear under their name. */
import { existsSync, statSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { LayerwiseError, messageOf, reject, rejectFile } from "../base/errors.ts";
import { sha256OfFile } from "./checksum.ts";

/** How a file is fetched. */
export interface DownloadOptions {
  /** The content's SHA-256, in hexadecimal; without it the content is not checked. */
  sha256?: string;
  /** Called with bytes received and, if the server says, bytes in all. */
  onProgress?: (done: number, total: number | undefined) => void;
  /** Tries when the connection breaks. */
  attempts?: number;
  /** Longest silence of the server, in milliseconds. Default: 30 seconds. */
  timeoutMs?: number;
  /** Longest time for all of it, in milliseconds. Default: 6 hours. */
  maxMs?: number;
  /** Most bytes that are kept. Default: 8 GiB. */
  maxBytes?: number;
}

/** A finished download. */
export interface Downloaded {
  bytes: number;
  sha256: string;
  /** Bytes that an earlier, interrupted download had left. */
  resumedFrom: number;
}

const DEFAULT_ATTEMPTS = 3;
const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_MS = 6 * 3_600_000;
const DEFAULT_MAX_BYTES = 2 ** 33;
/** A compressed answer would make byte ranges meaningless; some servers refuse programs that do not introduce themselves so. */
const HEADERS = { "accept-encoding": "identity", "user-agent": "Mozilla/5.0 (compatible; layerwise)" };

/** Fetches `url` to `path` by way of `path.part`, which an interrupted download leaves behind to be continued. */
export async function download(url: string, path: string, given: DownloadOptions = {}): Promise<Downloaded> {
  const options = { ...given, until: performance.now() + (given.maxMs ?? DEFAULT_MAX_MS) };
  await mkdir(dirname(path), { recursive: true });
  const part = `${path}.part`;
  const resumedFrom = sizeOf(part);
  await fetchWithRetries(url, part, options);
  let sha256 = await sha256OfFile(part);
  if (resumedFrom > 0 && options.sha256 && sha256 !== options.sha256) {
    // The earlier part may have been of another version: once more from the start.
    await rm(part, { force: true });
    await fetchWithRetries(url, part, options);
    sha256 = await sha256OfFile(part);
  }
  if (options.sha256 && sha256 !== options.sha256) await rejectContent(url, part, options.sha256, sha256);
  await rename(part, path);
  return { bytes: sizeOf(path), sha256, resumedFrom };
}

async function rejectContent(url: string, part: string, needed: string, got: string): Promise<never> {
  await rm(part, { force: true });
  return rejectFile({
    who: url,
    needed: `content with SHA-256 ${needed}`,
    got,
    remedy: "nothing was kept; name another source with --from URL",
  });
}

/** `until`: the moment at which a download has taken too long. */
type Fetching = DownloadOptions & { readonly until: number };

async function fetchWithRetries(url: string, part: string, options: Fetching): Promise<void> {
  const attempts = options.attempts ?? DEFAULT_ATTEMPTS;
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetchRest(url, part, options);
    } catch (error) {
      if (error instanceof LayerwiseError) throw error;
      if (attempt >= attempts) throw unreachable(url, error);
    }
  }
}

function unreachable(url: string, error: unknown): LayerwiseError {
  const cause = error instanceof Error && error.cause ? `: ${messageOf(error.cause)}` : "";
  return new LayerwiseError(
    `${url}: could not be fetched (${messageOf(error)}${cause}); check the internet connection, run the command again to resume, or name another source with --from URL`,
    1,
    { cause: error },
  );
}

/** Appends what is missing of `part`; starts over when the server cannot continue. */
async function fetchRest(url: string, part: string, options: Fetching): Promise<void> {
  const have = sizeOf(part);
  const silence = silenceGuard(options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  try {
    const headers: Record<string, string> = { ...HEADERS };
    if (have > 0) headers.range = `bytes=${have}-`;
    const response = await fetch(url, { headers, signal: silence.signal });
    if (response.status === 416) return await settleRange(url, part, have, response, options);
    if (!response.ok || !response.body) rejectStatus(url, response.status);
    const start = response.status === 206 ? rangeStart(response) : 0;
    if (start !== have && start !== 0) throw new Error(`the server continued at byte ${start} instead of ${have}`);
    await append(response, part, start, silence.beat, options);
  } finally {
    silence.stop();
  }
}

/** "Range not satisfiable": either all bytes are there already, or the part is not of this content. */
async function settleRange(
  url: string,
  part: string,
  have: number,
  response: Response,
  options: Fetching,
): Promise<void> {
  await response.body?.cancel();
  const total = Number(/\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1]);
  if (total === have) return;
  await rm(part, { force: true });
  if (have > 0) return fetchRest(url, part, options);
  rejectStatus(url, 416);
}

function rejectStatus(url: string, status: number): never {
  reject({
    who: url,
    needed: "an answer with content",
    got: `HTTP status ${status}`,
    remedy: "name another source with --from URL",
  });
}

function rangeStart(response: Response): number {
  return Number(/^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1] ?? 0);
}

async function append(
  response: Response,
  part: string,
  start: number,
  beat: () => void,
  { onProgress, maxBytes = DEFAULT_MAX_BYTES, until }: Fetching,
): Promise<void> {
  const length = response.headers.get("content-length");
  const total = length === null ? undefined : start + Number(length);
  const refuse = (needed: string, got: string, remedy: string) =>
    rejectFile({ who: response.url, needed, got, remedy: `if it is meant, raise ${remedy}` });
  const checkSize = (bytes: number) => {
    if (bytes > maxBytes) refuse(`at most ${maxBytes} bytes`, total ? `${total}` : "more", "maxBytes");
  };
  checkSize(total ?? 0);
  const file = await open(part, start > 0 ? "r+" : "w");
  let done = start;
  try {
    for await (const block of response.body!) {
      beat();
      if (performance.now() > until) refuse("an end in time", `${done} bytes by then`, "maxMs");
      checkSize(done + block.length);
      await file.write(block, 0, block.length, done);
      done += block.length;
      onProgress?.(done, total);
    }
  } finally {
    await file.close();
  }
  if (total !== undefined && done < total) throw new Error(`the connection ended after ${done} of ${total} bytes`);
}

/** Aborts when `beat` is not called for a while. */
function silenceGuard(timeoutMs: number) {
  const controller = new AbortController();
  const fire = () => controller.abort(new Error(`no answer for ${timeoutMs / 1000} s`));
  let timer = setTimeout(fire, timeoutMs);
  return {
    signal: controller.signal,
    beat() {
      clearTimeout(timer);
      timer = setTimeout(fire, timeoutMs);
    },
    stop: () => clearTimeout(timer),
  };
}

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}
