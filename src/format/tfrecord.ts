/** TFRecord framing: length, masked CRC of the length, data, masked CRC of the data; every frame is checked on reading. */
import { rejectFile as reject } from "../base/errors.ts";
import { maskedCrc32c } from "./crc.ts";

const HEADER_BYTES = 12;
const FOOTER_BYTES = 4;

/** Yields the records of a file as views; a damaged one is named by `source` and the byte where it starts. */
export function* readRecords(bytes: Uint8Array, source: string): Generator<Uint8Array> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  for (let index = 0; offset < bytes.length; index++) {
    const data = recordAt(bytes, view, offset, { index, source });
    yield data;
    offset += HEADER_BYTES + data.length + FOOTER_BYTES;
  }
}

interface Place {
  index: number;
  source: string;
}

function recordAt(bytes: Uint8Array, view: DataView, offset: number, { index, source }: Place): Uint8Array {
  const left = bytes.length - offset;
  const damaged = (needed: string, got: string): never =>
    reject({
      who: `${source}: record ${index} at byte ${offset}`,
      needed,
      got,
      remedy: "the file is damaged or no TFRecord file; fetch or build it again",
    });
  if (left < HEADER_BYTES) damaged(`${HEADER_BYTES} bytes of header`, `${left}`);
  checkCrc(view, offset + 8, bytes.subarray(offset, offset + 8), "length", damaged);
  const length = view.getUint32(offset, true) + view.getUint32(offset + 4, true) * 2 ** 32;
  const needed = HEADER_BYTES + length + FOOTER_BYTES;
  if (left < needed) damaged(`${needed} bytes`, `${left}: it is cut short`);
  const data = bytes.subarray(offset + HEADER_BYTES, offset + HEADER_BYTES + length);
  checkCrc(view, offset + HEADER_BYTES + length, data, "data", damaged);
  return data;
}

function checkCrc(
  view: DataView,
  at: number,
  data: Uint8Array,
  what: string,
  damaged: (needed: string, got: string) => never,
): void {
  const stored = view.getUint32(at, true);
  const computed = maskedCrc32c(data);
  if (stored !== computed) damaged(`${what} with checksum ${hex(stored)}`, hex(computed));
}

const hex = (value: number) => value.toString(16).padStart(8, "0");

/** One file of the given records. */
export function writeRecords(records: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const size = records.reduce((sum, data) => sum + HEADER_BYTES + data.length + FOOTER_BYTES, 0);
  const out = new Uint8Array(size);
  const view = new DataView(out.buffer);
  let offset = 0;
  for (const data of records) offset = frame(data, out, view, offset);
  return out;
}

function frame(data: Uint8Array, out: Uint8Array, view: DataView, offset: number): number {
  view.setUint32(offset, data.length, true);
  view.setUint32(offset + 4, Math.floor(data.length / 2 ** 32), true);
  view.setUint32(offset + 8, maskedCrc32c(out.subarray(offset, offset + 8)), true);
  out.set(data, offset + HEADER_BYTES);
  const end = offset + HEADER_BYTES + data.length;
  view.setUint32(end, maskedCrc32c(data), true);
  return end + FOOTER_BYTES;
}
