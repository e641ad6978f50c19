/** Animated GIF89a files: pictures of one byte a pixel with one palette, compressed with LZW. */
import { reject } from "../base/errors.ts";
import type { Picture } from "./png.ts";

/** A picture and how long it stays. */
export interface Frame {
  readonly picture: Picture;
  readonly ms: number;
}

const COLOURS = 256;
const CODE_BITS = 8;
const CLEAR = 1 << CODE_BITS;
const END = CLEAR + 1;
/** Codes have at most 12 bits. */
const CODES = 4096;
/** Flags of the screen: a palette of 2^(7+1) colours of 8 bits. */
const SCREEN_FLAGS = 0xf7;
/** Repeats without end: the extension that browsers introduced. */
const REPEAT = [0x21, 0xff, 11, ...Buffer.from("NETSCAPE2.0"), 3, 1, 0, 0, 0];
const TRAILER = 0x3b;

/** The bytes of a GIF that plays the frames over and over; all have the size and palette of the first. */
export function encodeGif(frames: readonly Frame[]): Uint8Array {
  const first = frames[0]?.picture;
  if (!first) return reject({ who: "gif", needed: "at least one frame", got: "none" });
  for (const { picture } of frames) check(picture, first);
  const palette = new Uint8Array(3 * COLOURS);
  palette.set(first.palette ?? Uint8Array.from(palette, (_, i) => i / 3));
  const screen = [...word(first.width), ...word(first.height), SCREEN_FLAGS, 0, 0];
  const parts = [Buffer.from("GIF89a"), Uint8Array.from(screen), palette, Uint8Array.from(REPEAT)];
  return Buffer.concat([...parts, ...frames.map(encodeFrame), Uint8Array.of(TRAILER)]);
}

function check({ width, height, channels, data }: Picture, first: Picture): void {
  const needed = `${first.width} × ${first.height} pixels of one byte`;
  if (width === first.width && height === first.height && data.length === width * height) return;
  reject({ who: "gif", needed, got: `${width} × ${height} with ${channels} channels` });
}

const word = (value: number) => [value & 255, value >> 8];

/** Graphic control (how long, in hundredths of a second), image descriptor, and the data in blocks of up to 255 bytes. */
function encodeFrame({ picture, ms }: Frame): Uint8Array {
  const control = [0x21, 0xf9, 4, 0, ...word(Math.round(ms / 10)), 0, 0];
  const descriptor = [0x2c, 0, 0, 0, 0, ...word(picture.width), ...word(picture.height), 0];
  const data = compress(picture.data);
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < data.length; at += 255) {
    const block = data.subarray(at, at + 255);
    blocks.push(Uint8Array.of(block.length), block);
  }
  return Buffer.concat([Uint8Array.from([...control, ...descriptor, CODE_BITS]), ...blocks, Uint8Array.of(0)]);
}

/** Codes of growing width, lowest bits first. */
class BitWriter {
  readonly #bytes: number[] = [];
  #waiting = 0;
  #count = 0;

  write(code: number, bits: number): void {
    this.#waiting |= code << this.#count;
    this.#count += bits;
    while (this.#count >= 8) this.#drain();
  }

  #drain(): void {
    this.#bytes.push(this.#waiting & 255);
    this.#waiting >>= 8;
    this.#count -= 8;
  }

  finish(): Uint8Array {
    if (this.#count > 0) this.#drain();
    return Uint8Array.from(this.#bytes);
  }
}

/**
 * LZW: the longest known string, by its code, and a new string one byte longer for the table. The reader's table lags one
 * entry behind, so codes widen once the next free code no longer fits, after the entry that needs it.
 */
function compress(data: Uint8Array): Uint8Array {
  const out = new BitWriter();
  const known = new Int16Array(CODES << 8); // by prefix code and next byte; 0: none, since no string has code 0 for its own
  let [next, bits] = [END + 1, CODE_BITS + 1];
  out.write(CLEAR, bits);
  let prefix = data[0]!;
  for (let i = 1; i < data.length; i++) {
    const key = (prefix << 8) | data[i]!;
    if (known[key] !== 0) {
      prefix = known[key]!;
      continue;
    }
    out.write(prefix, bits);
    if (next < CODES) {
      if (next === 1 << bits) bits++;
      known[key] = next++;
    } else {
      out.write(CLEAR, bits);
      known.fill(0);
      [next, bits] = [END + 1, CODE_BITS + 1];
    }
    prefix = data[i]!;
  }
  out.write(prefix, bits);
  if (next === 1 << bits && next < CODES) bits++;
  out.write(END, bits);
  return out.finish();
}
