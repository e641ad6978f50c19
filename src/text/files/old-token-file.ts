/** Token files as they were before blocks: one checksum for all, so they are read whole. `layerwise data build` wrote them. */
import { rejectFile } from "../../base/errors.ts";
import { crc32c } from "../../format/crc.ts";
import type { TokenizedText } from "../tokens.ts";

/*
 * Layout, little-endian: magic, version, bytes per id, CRC-32C of all that follows it, number of ids, number of lines (uint32 each),
 * words (float64), line ends (uint32), ids.
 */
const MAGIC = 0x4b54574c; // "LWTK"
const VERSION = 1;
const HEADER_BYTES = 32;

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
