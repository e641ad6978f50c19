import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { encodeFilm, encodeGif } from "./gif.ts";
import type { Picture } from "./png.ts";

interface Decoded {
  width: number;
  height: number;
  palette: number[];
  frames: { ms: number; pixels: number[] }[];
}

/** Reads what the encoder may write: one palette for all, whole frames. */
function decode(bytes: Uint8Array): Decoded {
  const word = (at: number) => bytes[at]! | (bytes[at + 1]! << 8);
  const found: Decoded = { width: word(6), height: word(8), palette: [...bytes.subarray(13, 13 + 768)], frames: [] };
  let [at, ms] = [13 + 768, 0];
  while (bytes[at] !== 0x3b) {
    if (bytes[at] === 0x21 && bytes[at + 1] === 0xf9) ms = 10 * word(at + 4);
    const isImage = bytes[at] === 0x2c;
    const codeBits = bytes[at + 10]!;
    at += isImage ? 11 : 2;
    const data: number[] = [];
    for (; bytes[at] !== 0; at += bytes[at]! + 1) data.push(...bytes.subarray(at + 1, at + 1 + bytes[at]!));
    at++;
    if (isImage) found.frames.push({ ms, pixels: expand(data, codeBits) });
  }
  return found;
}

function expand(data: readonly number[], codeBits: number): number[] {
  const [clear, pixels, strings] = [1 << codeBits, [] as number[], [] as number[][]];
  let [bits, at, before]: [number, number, number[] | undefined] = [0, 0, undefined];
  for (;;) {
    bits = Math.min(12, strings.length === 0 ? codeBits + 1 : 32 - Math.clz32(strings.length));
    let code = 0;
    for (let i = 0; i < bits; i++, at++) code |= ((data[at >> 3]! >> (at & 7)) & 1) << i;
    if (code === clear + 1) return pixels;
    if (code === clear) {
      strings.splice(0, strings.length, ...Array.from({ length: clear + 2 }, (_, i) => [i]));
      before = undefined;
      continue;
    }
    const string: number[] = strings[code] ?? [...before!, before![0]!];
    if (before && strings.length < 4096) strings.push([...before, string[0]!]);
    pixels.push(...string);
    before = string;
  }
}

const random = new RandomStream(1, "gif");
const picture = (width: number, height: number, values: number): Picture => {
  const data = Uint8Array.from({ length: width * height }, () => random.integer(values));
  return { width, height, channels: 1, data };
};

describe("a GIF", () => {
  // Few values: long strings. Many: a table that fills up and is cleared.
  it.each([
    [1, 1, 256],
    [7, 3, 1],
    [64, 64, 2],
    [150, 120, 256],
    [300, 300, 4],
  ])("of %d × %d pixels and %d values decodes to its pixels", (width, height, values) => {
    const frames = [picture(width, height, values), picture(width, height, values)];
    const found = decode(encodeGif(frames.map((each, i) => ({ picture: each, ms: 200 * (i + 1) }))));
    expect([found.width, found.height]).toEqual([width, height]);
    expect(found.frames.map(({ ms }) => ms)).toEqual([200, 400]);
    frames.forEach(({ data }, i) => {
      expect(Buffer.from(found.frames[i]!.pixels).equals(data)).toBe(true);
    });
  });

  it("ends on every width of code without losing its place", () => {
    for (let size = 1; size <= 1100; size++) {
      const data = Uint8Array.from({ length: size }, (_, i) => (i * i) % 251);
      const found = decode(encodeGif([{ picture: { width: size, height: 1, channels: 1, data }, ms: 10 }]));
      expect(Buffer.from(found.frames[0]!.pixels).equals(data)).toBe(true);
    }
  });

  it("has the palette of its pictures, greys without one", () => {
    const palette = Uint8Array.from({ length: 768 }, (_, i) => (i * 7) & 255);
    const [plain, coloured] = [picture(2, 2, 4), { ...picture(2, 2, 4), palette }];
    expect(decode(encodeGif([{ picture: coloured, ms: 10 }])).palette).toEqual([...palette]);
    expect(decode(encodeGif([{ picture: plain, ms: 10 }])).palette.slice(9, 15)).toEqual([3, 3, 3, 4, 4, 4]);
  });

  it("refuses no frames, and frames of several sizes", () => {
    expect(() => encodeGif([])).toThrow("gif: expected at least one frame, got none");
    const frames = [picture(2, 2, 4), picture(3, 2, 4)].map((each) => ({ picture: each, ms: 10 }));
    expect(() => encodeGif(frames)).toThrow("gif: expected 2 × 2 pixels of one byte, got 3 × 2 with 1 channels");
  });
});

/** Frames as they are seen, in red, green and blue: pixels of the last value show what is below. */
function seen({ palette, frames }: Decoded): number[][] {
  const screen: number[] = [];
  return frames.map(({ pixels }) => {
    pixels.forEach((value, i) => {
      if (value !== 255 || screen.length < pixels.length) screen[i] = value;
    });
    return screen.flatMap((value) => palette.slice(3 * value, 3 * value + 3));
  });
}

describe("a film", () => {
  const colours = [
    [255, 255, 255],
    [16, 64, 128],
    [240, 120, 8],
  ];
  /** A square that moves over white. */
  const frame = (x: number): Picture => {
    const value = (i: number) => (Math.abs((i % 40) - x) < 4 && i > 400 ? colours[1 + (x % 2)]! : colours[0]!);
    const data = Uint8Array.from(Array.from({ length: 1600 }, (_, i) => [...value(i), 255]).flat());
    return { width: 40, height: 40, channels: 4, data };
  };
  const frames = [5, 6, 20, 35].map((x) => ({ picture: frame(x), ms: 50 }));

  it("shows every frame in its colours, the exact ones to the bit", () => {
    const film = encodeFilm(frames, { sample: frames.map(({ picture: each }) => each), exact: ["#ffffff"] });
    const found = seen(decode(film));
    expect(found).toHaveLength(4);
    for (const [i, rgb] of found.entries()) {
      const wanted = [...frames[i]!.picture.data].filter((_, at) => at % 4 !== 3);
      expect(Math.max(...rgb.map((channel, at) => Math.abs(channel - wanted[at]!)))).toBeLessThanOrEqual(8);
      for (const [at, channel] of wanted.entries()) if (channel === 255) expect(rgb[at]).toBe(255);
    }
  });

  it("refuses none, and pixels that are not of four bytes", () => {
    expect(() => encodeFilm([], { sample: [] })).toThrow("gif: expected at least one frame, got none");
    const plain = [{ picture: picture(2, 2, 4), ms: 1 }];
    expect(() => encodeFilm(plain, { sample: [frame(1)] })).toThrow("2 × 2 pixels of four bytes, got 2 × 2 with 1");
  });
});
