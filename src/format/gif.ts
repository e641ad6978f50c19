/** Animated GIF89a files: pictures of one byte per pixel with one palette. */
import gifenc from "gifenc";
import { reject } from "../base/errors.ts";
import type { Picture } from "./png.ts";

/** A picture and how long it stays. */
export interface Frame {
  readonly picture: Picture;
  readonly ms: number;
}

const COLOURS = 256;

/** The bytes of a GIF that plays the frames over and over; all have the size and palette of the first. */
export function encodeGif(frames: readonly Frame[]): Uint8Array {
  const first = frames[0]?.picture;
  if (!first) return reject({ who: "gif", needed: "at least one frame", got: "none" });
  for (const { picture } of frames) check(picture, first);
  const gif = typeof gifenc === "function" ? gifenc() : gifenc.GIFEncoder();
  frames.forEach(({ picture: { data, width, height }, ms }, i) => {
    gif.writeFrame(data, width, height, { delay: ms, ...(i === 0 ? { palette: paletteOf(first) } : {}) });
  });
  gif.finish();
  return gif.bytes();
}

function check({ width, height, channels, data }: Picture, first: Picture): void {
  const needed = `${first.width} × ${first.height} pixels of one byte`;
  if (width === first.width && height === first.height && data.length === width * height) return;
  reject({ who: "gif", needed, got: `${width} × ${height} with ${channels} channels` });
}

/** Red, green and blue of all values; greys where the picture has no palette. */
function paletteOf({ palette }: Picture): number[][] {
  const colour = (i: number) => (palette ? [0, 1, 2].map((channel) => palette[3 * i + channel] ?? 0) : [i, i, i]);
  return Array.from({ length: COLOURS }, (_, i) => colour(i));
}
