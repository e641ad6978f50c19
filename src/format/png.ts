/** PNG files of 8-bit pictures. */
import { deflateSync } from "node:zlib";
import { reject } from "../base/errors.ts";

/** Rows from top to bottom of interleaved bytes; one channel is grey, three are red, green and blue, four add opacity. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly channels: 1 | 3 | 4;
  readonly data: Uint8Array;
  /** Red, green and blue of each value of the one channel, instead of greys. */
  readonly palette?: Uint8Array;
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const COLOUR_TYPE = { 1: 0, 3: 2, 4: 6 };
const PALETTE_TYPE = 3;
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** The bytes of a PNG file. */
export function encodePng({ width, height, channels, data, palette }: Picture): Uint8Array {
  const stride = width * channels;
  if (data.length !== height * stride)
    reject({ who: "picture", needed: `${height}·${width}·${channels} bytes`, got: `${data.length}` });
  const rows = new Uint8Array(height * (stride + 1)); // each row begins with its filter: 0, none
  for (let y = 0; y < height; y++) rows.set(data.subarray(y * stride, (y + 1) * stride), y * (stride + 1) + 1);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, palette ? PALETTE_TYPE : COLOUR_TYPE[channels]], 8);
  const colours = palette ? [chunk("PLTE", palette)] : [];
  const chunks = [chunk("IHDR", header), ...colours, chunk("IDAT", deflateSync(rows)), chunk("IEND", new Uint8Array())];
  return Buffer.concat([Buffer.from(SIGNATURE), ...chunks]);
}

/** Length, name, data, and the CRC-32 of name and data. */
function chunk(name: string, data: Uint8Array): Buffer {
  const out = Buffer.alloc(data.length + 12);
  out.writeUInt32BE(data.length, 0);
  out.write(name, 4, "latin1");
  out.set(data, 8);
  out.writeUInt32BE(crc32(out.subarray(4, 8 + data.length)), 8 + data.length);
  return out;
}

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ byte) & 255]!;
  return ~crc >>> 0;
}
