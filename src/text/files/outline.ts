/** What a text file holds, kept by its size and times, so that a large one is not read again at every start. */
import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { rejectFile } from "../../base/errors.ts";
import { writeToCache } from "../../files/atomic.ts";
import { sha256 } from "../../files/checksum.ts";
import { LineCounter } from "../../files/lines.ts";
import { defaultCacheFolder } from "./cache.ts";

/** A file's hash and lines. */
export interface Outline {
  readonly sha256: string;
  readonly lines: number;
}

/** Smaller files are read every time: that costs little, and nothing can hide a change. */
const KEPT_FROM_BYTES = 1 << 22;
/** A file that changed this recently may change again without its times telling. */
const SETTLED_MS = 2000;
const READ_BYTES = 1 << 20;

/** An outline, and the state of the file that it was made from. */
interface Known extends Outline {
  readonly state: string;
}

const known = new Map<string, Known>();

/** The hash and the lines of a file: read, or known since it was read last and has not changed. */
export async function outlineOf(path: string, cache: string = defaultCacheFolder()): Promise<Outline> {
  const place = resolve(path);
  const { size, state, changedMs } = stateOf(path);
  if (size < KEPT_FROM_BYTES) return readOutline(path);
  const kept = join(cache, "texts", `${sha256(place).slice(0, 32)}.json`);
  const found = known.get(place) ?? readKept(kept);
  if (found?.state === state) {
    known.set(place, found);
    return found;
  }
  const settled = Date.now() - changedMs > SETTLED_MS;
  const outline = await readOutline(path);
  if (stateOf(path).state !== state) refuseChanged(path);
  if (!settled) return outline;
  known.set(place, { ...outline, state });
  await writeToCache(kept, encodeKept({ ...outline, state })).catch(() => {}); // only the next start would have gained
  return outline;
}

/** Fails for a text that another program wrote to while it was read. */
export function refuseChanged(path: string): never {
  rejectFile({
    who: path,
    needed: "a text that stays as it is while it is read",
    got: "one that changed",
    remedy: "wait until it is written, and start again",
  });
}

/** Size, times and identity of a file, as text to compare. */
function stateOf(path: string): { size: number; state: string; changedMs: number } {
  const { size, mtimeMs, ctimeMs = mtimeMs, ino } = statSync(path);
  return { size, state: `${size} ${mtimeMs} ${ctimeMs} ${ino}`, changedMs: Math.max(mtimeMs, ctimeMs) };
}

async function readOutline(path: string): Promise<Outline> {
  const [hash, counter] = [createHash("sha256"), new LineCounter()];
  for await (const block of createReadStream(path, { highWaterMark: READ_BYTES })) {
    hash.update(block as Uint8Array);
    counter.add(block as Uint8Array);
  }
  return { sha256: hash.digest("hex"), lines: counter.lines };
}

/** With a checksum of its own: a wrong hash would look like another text. */
function encodeKept({ state, sha256: hash, lines }: Known): string {
  const facts = { state, sha256: hash, lines };
  return `${JSON.stringify({ ...facts, check: sha256(JSON.stringify(facts)) })}\n`;
}

/** Undefined for none, and for one that is damaged: then the text is read again. */
function readKept(path: string): Known | undefined {
  try {
    const { check, ...facts } = JSON.parse(readFileSync(path, "utf8")) as Known & { check: string };
    return sha256(JSON.stringify(facts)) === check ? facts : undefined;
  } catch {
    return undefined;
  }
}
