/** Seeded random streams: Philox4x32-10 words addressed by (seed, name, position), so that any point can be saved and sought. */

const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const ROUNDS = 10;
const TWO_32 = 2 ** 32;

/** The 64-bit key of a stream, as two 32-bit words. */
export type StreamKey = readonly [number, number];

/** All a stream is; plain data, for checkpoints. */
export interface StreamState {
  seed: number;
  name: string;
  /** Index of the next 32-bit word. */
  position: number;
}

/** High 32 bits of the product of two unsigned 32-bit numbers. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carry = (middle & 0xffff) + aLow * bHigh;
  return (aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(carry / 65536)) >>> 0;
}

/** Writes the four words of Philox block `block` (below 2^53) to `out`. */
export function philoxBlock(key: StreamKey, block: number, out: Uint32Array): void {
  let c0 = block >>> 0;
  let c1 = Math.floor(block / TWO_32) >>> 0;
  let c2 = 0;
  let c3 = 0;
  let k0 = key[0];
  let k1 = key[1];
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0);
    const low0 = Math.imul(MULTIPLIER_0, c0) >>> 0;
    const high1 = multiplyHigh(MULTIPLIER_1, c2);
    const low1 = Math.imul(MULTIPLIER_1, c2) >>> 0;
    c0 = (high1 ^ c1 ^ k0) >>> 0;
    c1 = low1;
    c2 = (high0 ^ c3 ^ k1) >>> 0;
    c3 = low0;
    k0 = (k0 + WEYL_0) >>> 0;
    k1 = (k1 + WEYL_1) >>> 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/** The key of a named stream: FNV-1a over seed and name, twice with different offsets. */
export function streamKey(seed: number, name: string): StreamKey {
  const text = `${seed}/${name}`;
  return [hash(text, 0x811c9dc5), hash(text, 0x7ee3623b)];
}

function hash(text: string, offset: number): number {
  let h = offset;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h ^= h >>> 16;
  h = Math.imul(h, 0x7feb352d);
  h ^= h >>> 15;
  h = Math.imul(h, 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A stream of random numbers; equal (seed, name, position) give equal numbers on every machine. */
export class RandomStream {
  readonly seed: number;
  readonly name: string;
  readonly key: StreamKey;
  #position: number;
  #block = -1;
  readonly #words = new Uint32Array(4);

  constructor(seed: number, name: string, position = 0) {
    this.seed = seed;
    this.name = name;
    this.key = streamKey(seed, name);
    this.#position = position;
  }

  static from(state: StreamState): RandomStream {
    return new RandomStream(state.seed, state.name, state.position);
  }

  get state(): StreamState {
    return { seed: this.seed, name: this.name, position: this.#position };
  }

  /** Takes whole blocks for at least `words` words and returns the first block's index: for kernels that fill memory. */
  reserveBlocks(words: number): number {
    const first = Math.ceil(this.#position / 4);
    this.#position = (first + Math.ceil(words / 4)) * 4;
    return first;
  }

  uint32(): number {
    const block = Math.floor(this.#position / 4);
    if (block !== this.#block) {
      philoxBlock(this.key, block, this.#words);
      this.#block = block;
    }
    return this.#words[this.#position++ % 4]!;
  }

  /** Uniform in [0, 1), 53 bits (two words). */
  uniform(): number {
    const high = this.uint32() >>> 5;
    const low = this.uint32() >>> 6;
    return (high * 67108864 + low) / 9007199254740992;
  }

  /** Uniform integer in [0, bound), without modulo bias. */
  integer(bound: number): number {
    const limit = TWO_32 - (TWO_32 % bound);
    let word = this.uint32();
    while (word >= limit) word = this.uint32();
    return word % bound;
  }

  /** Standard normal (Box–Muller, one value of the pair). */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    return radius * Math.cos(2 * Math.PI * this.uniform());
  }

  /** Shuffles in place (Fisher–Yates). */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.integer(i + 1);
      [items[i], items[j]] = [items[j]!, items[i]!];
    }
    return items;
  }
}
