/** Node's `crypto`: SHA-256 block by block, and random bytes. */
import { Bytes, bytesOf } from "./bytes.ts";

const BLOCK = 64;

/** Fractional parts of the cube roots (or square roots) of the first primes, 32 bits each. */
function fractions(count: number, root: number): Int32Array {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return Int32Array.from(primes, (prime) => Math.floor((prime ** (1 / root) % 1) * 2 ** 32));
}

const ROUNDS = fractions(64, 3);
const START = fractions(8, 2);

/** A hash that is fed bit by bit. */
export class Hash {
  readonly #state = START.slice();
  readonly #rest = new Uint8Array(BLOCK);
  readonly #words = new Int32Array(BLOCK);
  #length = 0;

  update(data: string | Uint8Array): this {
    const bytes = bytesOf(data);
    let at = 0;
    const waiting = this.#length % BLOCK;
    this.#length += bytes.length;
    if (waiting > 0) {
      at = Math.min(BLOCK - waiting, bytes.length);
      this.#rest.set(bytes.subarray(0, at), waiting);
      if (waiting + at < BLOCK) return this;
      this.#mix(this.#rest, 0);
    }
    for (; at + BLOCK <= bytes.length; at += BLOCK) this.#mix(bytes, at);
    this.#rest.set(bytes.subarray(at));
    return this;
  }

  /** In hexadecimal; the hash is used up. */
  digest(encoding: "hex"): string {
    const bits = this.#length * 8;
    const padding = new Uint8Array(((BLOCK + 55 - (this.#length % BLOCK)) % BLOCK) + 9);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(padding.length - 4, bits >>> 0);
    this.update(padding);
    const result = new DataView(new ArrayBuffer(32));
    this.#state.forEach((word, i) => {
      result.setInt32(4 * i, word);
    });
    return Bytes.from(new Uint8Array(result.buffer)).toString(encoding);
  }

  /** One block into the state, as FIPS 180-4 has it. */
  #mix(bytes: Uint8Array, at: number): void {
    const w = this.#words;
    for (let i = 0, p = at; i < 16; i++, p += 4)
      w[i] = (bytes[p]! << 24) | (bytes[p + 1]! << 16) | (bytes[p + 2]! << 8) | bytes[p + 3]!;
    for (let i = 16; i < BLOCK; i++) {
      const [x, y] = [w[i - 15]!, w[i - 2]!];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16]! + s0 + w[i - 7]! + s1) | 0;
    }
    let [a, b, c, d, e, f, g, h] = this.#state as unknown as number[] as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    for (let i = 0; i < BLOCK; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i]! + w[i]!) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => {
      this.#state[i] = (this.#state[i]! + word) | 0;
    });
  }
}

export const createHash = (_algorithm: "sha256"): Hash => new Hash();

export const randomBytes = (count: number): Bytes => {
  const bytes = new Bytes(count);
  globalThis.crypto.getRandomValues(bytes);
  return bytes;
};
