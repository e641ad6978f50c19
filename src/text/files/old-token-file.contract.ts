/** Writes token files as they were before blocks, to test that they are still read. */
import { crc32c } from "../../format/crc.ts";
import type { TokenizedText } from "../tokens.ts";

const MAGIC = 0x4b54574c; // "LWTK"
const VERSION = 1;
const HEADER_BYTES = 32;

/** The bytes of an old token file. */
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
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
