/** PNG files of 8-bit pictures. */

import { zlibSync } from "fflate";
import { rejectData } from "../base/errors.ts";
import { joined } from "../base/joined.ts";
import { crc32 } from "./crc.ts";

/** Rows from top to bottom of interleaved bytes; one channel is grey, three are red, green and blue, four add opacity. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly channels: 1 | 3 | 4;
  readonly data: Uint8Array;
  /** Red, green and blue of each value of the one channel, instead of greys. */
  readonly palette?: Uint8Array;
}

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const COLOUR_TYPE = { 1: 0, 3: 2, 4: 6 };
const PALETTE_TYPE = 3;

/** The bytes of a PNG file. */
export function encodePng({ width, height, channels, data, palette }: Picture): Uint8Array {
  const stride = width * channels;
  if (data.length !== height * stride)
    rejectData({ who: "picture", needed: `${height}·${width}·${channels} bytes`, got: `${data.length}` });
  const rows = new Uint8Array(height * (stride + 1)); // each row begins with its filter: 0, none
  for (let y = 0; y < height; y++) rows.set(data.subarray(y * stride, (y + 1) * stride), y * (stride + 1) + 1);
  const header = new Uint8Array(13);
  new DataView(header.buffer).setUint32(0, width);
  new DataView(header.buffer).setUint32(4, height);
  header.set([8, palette ? PALETTE_TYPE : COLOUR_TYPE[channels]], 8);
  const colours = palette ? [chunk("PLTE", palette)] : [];
  return joined([
    SIGNATURE,
    chunk("IHDR", header),
    ...colours,
    chunk("IDAT", zlibSync(rows)),
    chunk("IEND", new Uint8Array()),
  ]);
}

/** Length, name, data, and the CRC-32 of name and data. */
function chunk(name: string, data: Uint8Array): Uint8Array {
  const out = new Uint8Array(data.length + 12);
  const view = new DataView(out.buffer);
  view.setUint32(0, data.length);
  out.set(new TextEncoder().encode(name), 4);
  out.set(data, 8);
  view.setUint32(8 + data.length, crc32(out.subarray(4, 8 + data.length)));
  return out;
}
