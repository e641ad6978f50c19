/** Animated GIF89a files, with one palette for all pictures. */

import type { Gifenc } from "gifenc";
import * as loaded from "gifenc";
import { rejectOption } from "../base/errors.ts";
import type { Picture } from "./png.ts";

/** A picture and how long it stays. */
export interface Frame {
  readonly picture: Picture;
  readonly ms: number;
}

const COLOURS = 256;
/** The value of pixels that are as in the frame before. */
const SAME = COLOURS - 1;

// Node loads its CommonJS build, whose functions are in the default export; bundlers its ES module, which names them.
const { GIFEncoder, quantize, applyPalette } = "quantize" in loaded ? loaded : (loaded as { default: Gifenc }).default;

/** Where the colours of a film come from. */
export interface FilmOptions {
  /** Pictures whose colours the palette stands for. */
  readonly sample: readonly Picture[];
  /** Colours that must come out as they are, such as `#ffffff`. */
  readonly exact?: readonly string[];
}

/**
 * The bytes of a GIF out of frames with red, green, blue and opacity: one palette for all, made of a
 * sample. Pixels that do not change are left out, which makes films of drawings small.
 */
export function encodeFilm(frames: Iterable<Frame>, { sample, exact = [] }: FilmOptions): Uint8Array {
  if (sample.length === 0) return rejectOption({ who: "gif", needed: "at least one frame", got: "none" });
  const palette = paletteFor(sample, exact);
  const gif = GIFEncoder();
  let before: Uint8Array | undefined;
  let first: Picture | undefined;
  for (const { picture, ms } of frames) {
    first ??= picture;
    check(picture, first, 4);
    const now = applyPalette(picture.data, palette);
    const last = before;
    const changed = last ? now.map((value, i) => (value === last[i] ? SAME : value)) : now;
    const start = last
      ? {}
      : { palette: [...palette, ...Array.from({ length: COLOURS - palette.length }, () => [0, 0, 0])] };
    gif.writeFrame(changed, picture.width, picture.height, {
      delay: ms,
      ...start,
      ...(last ? { transparent: true, transparentIndex: SAME, dispose: KEEP } : { dispose: KEEP }),
    });
    before = now;
  }
  if (!first) return rejectOption({ who: "gif", needed: "at least one frame", got: "none" });
  gif.finish();
  return gif.bytes();
}

/** The frame stays below the next one. */
const KEEP = 1;

/** Colours that stand for those of the pictures; the nearest to an exact one becomes it. */
function paletteFor(sample: readonly Picture[], exact: readonly string[]): number[][] {
  const all = new Uint8Array(sample.reduce((sum, { data }) => sum + data.length, 0));
  let at = 0;
  for (const { data } of sample) {
    all.set(data, at);
    at += data.length;
  }
  const palette = quantize(all, SAME);
  for (const colour of exact) {
    const wanted = [1, 3, 5].map((from) => Number.parseInt(colour.slice(from, from + 2), 16));
    const distance = (each: readonly number[]) =>
      wanted.reduce((sum, channel, i) => sum + (channel - each[i]!) ** 2, 0);
    const nearest = palette.reduce((best, each, i) => (distance(each) < distance(palette[best]!) ? i : best), 0);
    palette[nearest] = wanted;
  }
  return palette;
}

/** The bytes of a GIF that plays the frames over and over; all have the size and palette of the first. */
export function encodeGif(frames: readonly Frame[]): Uint8Array {
  const first = frames[0]?.picture;
  if (!first) return rejectOption({ who: "gif", needed: "at least one frame", got: "none" });
  for (const { picture } of frames) check(picture, first, 1);
  const gif = GIFEncoder();
  frames.forEach(({ picture: { data, width, height }, ms }, i) => {
    gif.writeFrame(data, width, height, { delay: ms, ...(i === 0 ? { palette: paletteOf(first) } : {}) });
  });
  gif.finish();
  return gif.bytes();
}

function check({ width, height, channels, data }: Picture, first: Picture, bytes: 1 | 4): void {
  const needed = `${first.width} × ${first.height} pixels of ${bytes === 1 ? "one byte" : "four bytes"}`;
  if (width === first.width && height === first.height && data.length === width * height * bytes) return;
  rejectOption({ who: "gif", needed, got: `${width} × ${height} with ${channels} channels` });
}

/** Red, green and blue of all values; greys where the picture has no palette. */
function paletteOf({ palette }: Picture): number[][] {
  const colour = (i: number) => (palette ? [0, 1, 2].map((channel) => palette[3 * i + channel] ?? 0) : [i, i, i]);
  return Array.from({ length: COLOURS }, (_, i) => colour(i));
}
