/** The token cache: the ids of a text, kept in a checksummed binary file named by the content it was made from. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { LayerwiseError, reject, rejectFile } from "../../base/errors.ts";
import { writeToCache } from "../../files/atomic.ts";
import { sha256 } from "../../files/checksum.ts";
import { crc32c } from "../../format/crc.ts";
import type { TokenizedText } from "../tokens.ts";

const MAGIC = 0x4b54574c; // "LWTK"
const VERSION = 1;
const HEADER_BYTES = 32;
const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** Where caches lie: LAYERWISE_CACHE, or `.cache/layerwise` under the current folder. */
export function defaultCacheFolder(): string {
  return process.env.LAYERWISE_CACHE || join(".cache", "layerwise");
}

/**
 * Layout, little-endian: magic, version, bytes per id, CRC-32C of all that follows it, number of ids, number of lines (uint32 each),
 * words (float64), line ends (uint32), ids.
 */
export function encodeTokens({ ids, lineEnds, words }: TokenizedText): Uint8Array<ArrayBuffer> {
  const width = ids.BYTES_PER_ELEMENT;
  const out = new Uint8Array(HEADER_BYTES + lineEnds.byteLength + ids.byteLength);
  out.set(bytesOf(lineEnds), HEADER_BYTES);
  out.set(bytesOf(ids), HEADER_BYTES + lineEnds.byteLength);
  const view = new DataView(out.buffer);
  [MAGIC, VERSION, width, 0, ids.length, lineEnds.length].forEach((word, i) => {
    view.setUint32(i * 4, word, true);
  });
  view.setFloat64(24, words, true);
  view.setUint32(12, crc32c(out.subarray(16)), true);
  return out;
}

function bytesOf(array: Uint16Array | Int32Array | Uint32Array): Uint8Array {
  if (!littleEndian) reject({ who: "token cache", needed: "a little-endian machine", got: "a big-endian one" });
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Parses a token file; damage is named with `source`. */
export function decodeTokens(bytes: Uint8Array, source: string): TokenizedText {
  const damaged = (needed: string, got: string): never =>
    rejectFile({ who: source, needed: `a token file with ${needed}`, got, remedy: "delete it and build it again" });
  if (bytes.length < HEADER_BYTES) damaged(`${HEADER_BYTES} bytes of header`, `${bytes.length}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const word = (i: number) => view.getUint32(i * 4, true);
  if (word(0) !== MAGIC) damaged("its magic number", `0x${word(0).toString(16)}`);
  if (word(1) !== VERSION) damaged(`version ${VERSION}`, `${word(1)}`);
  const width = word(2);
  if (width !== 2 && width !== 4) damaged("2 or 4 bytes per id", `${width}`);
  const size = HEADER_BYTES + word(5) * 4 + word(4) * width;
  if (bytes.length !== size) damaged(`${size} bytes`, `${bytes.length}`);
  const crc = crc32c(bytes.subarray(16));
  if (crc !== word(3)) damaged(`checksum ${word(3).toString(16)}`, crc.toString(16));
  const body = new Uint8Array(bytes.subarray(HEADER_BYTES)).buffer; // a copy, so aligned
  const lineEnds = new Uint32Array(body, 0, word(5));
  const at = lineEnds.byteLength;
  const ids = width === 2 ? new Uint16Array(body, at, word(4)) : new Int32Array(body, at, word(4));
  return { ids, lineEnds, words: view.getFloat64(24, true) };
}

/** A short name for a list of facts, equal only if all are equal. */
export function keyOf(...facts: (string | number)[]): string {
  return sha256(JSON.stringify(facts)).slice(0, 32);
}

/** Reads the cache file `key`, or makes the tokens and writes it; a damaged file is reported to `warn` and made again. */
export async function cachedTokens(
  folder: string,
  key: string,
  make: () => TokenizedText,
  warn: (message: string) => void = () => {},
): Promise<TokenizedText> {
  const path = join(folder, `${key}.tokens`);
  if (existsSync(path)) {
    try {
      return decodeTokens(await readFile(path), path);
    } catch (error) {
      if (!(error instanceof LayerwiseError)) throw error;
      warn(`${error.message} (done)`);
    }
  }
  const tokens = make();
  await writeToCache(path, encodeTokens(tokens));
  return tokens;
}
