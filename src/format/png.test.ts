import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { crc32 } from "./crc.ts";
import { encodePng, type Picture } from "./png.ts";

/** The chunks of a PNG file by name, each with a right checksum. */
function chunksOf(png: Uint8Array): Map<string, Buffer> {
  const bytes = Buffer.from(png);
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    expect(bytes.readUInt32BE(at + 8 + length)).toBe(crc32(bytes.subarray(at + 4, at + 8 + length)));
    chunks.set(bytes.toString("latin1", at + 4, at + 8), bytes.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  return chunks;
}

/** The pixels of a PNG file without filters, read with another library. */
function pixelsOf(png: Uint8Array, { height }: Picture): Uint8Array {
  const rows = inflateSync(chunksOf(png).get("IDAT")!);
  const stride = rows.length / height;
  return Buffer.concat(Array.from({ length: height }, (_, y) => rows.subarray(y * stride + 1, (y + 1) * stride)));
}

const random = new RandomStream(1, "png");
const picture = (width: number, height: number, channels: 1 | 3 | 4, values: number): Picture => {
  const data = Uint8Array.from({ length: width * height * channels }, () => random.integer(values));
  return { width, height, channels, data };
};

describe("a PNG", () => {
  it.each([
    [1, 1, 1, 256],
    [300, 200, 1, 2],
    [64, 65, 3, 256],
    [33, 7, 4, 5],
  ] as const)("of %d × %d pixels in %d channels decodes to its pixels", (width, height, channels, values) => {
    const drawn = picture(width, height, channels, values);
    const png = encodePng(drawn);
    expect([...png.subarray(1, 4)].map((code) => String.fromCharCode(code)).join("")).toBe("PNG");
    expect([...chunksOf(png).get("IHDR")!]).toEqual([
      0,
      0,
      width >> 8,
      width & 255,
      0,
      0,
      0,
      height,
      8,
      { 1: 0, 3: 2, 4: 6 }[channels],
      0,
      0,
      0,
    ]);
    expect(Buffer.compare(pixelsOf(png, drawn), drawn.data)).toBe(0);
  });

  it("carries the palette of its picture", () => {
    const palette = Uint8Array.from({ length: 768 }, (_, i) => (i * 7) & 255);
    const chunks = chunksOf(encodePng({ ...picture(4, 4, 1, 256), palette }));
    expect([...chunks.keys()]).toEqual(["IHDR", "PLTE", "IDAT", "IEND"]);
    expect(chunks.get("IHDR")![9]).toBe(3);
    expect([...chunks.get("PLTE")!]).toEqual([...palette]);
  });
});
