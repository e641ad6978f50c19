/** Numbers of 53 bits out of Philox words, as `uniform()` of src/base/random.ts makes them: the first values of weights. All that src/base/draws.ts calls. */
import { cosTurns, log, sinTurns } from "./functions";
import { philox, SCRATCH, WORDS } from "./philox";

/** Numbers that one call of `philox` gives: two words each. */
@inline const NUMBERS: i32 = WORDS / 2;

/** Four words at `at` as two numbers in [0, 1): ((first >>> 5) * 2^26 + (second >>> 6)) / 2^53, exact. */
@inline
function wide(at: usize): v128 {
  const words = v128.load(at);
  const upper = f64x2.convert_low_i32x4_u(i32x4.shr_u(v128.shuffle<u32>(words, words, 0, 2, 0, 2), 5));
  const lower = f64x2.convert_low_i32x4_u(i32x4.shr_u(v128.shuffle<u32>(words, words, 1, 3, 1, 3), 6));
  return f64x2.mul(f64x2.add(f64x2.mul(upper, f64x2.splat(67108864)), lower), f64x2.splat(1.0 / 9007199254740992.0));
}

/** Replaces the words in SCRATCH by bound * (2u - 1) in float32. */
@inline
function uniformScratch(bound: f64): void {
  for (let at: usize = 0; at < 4 * WORDS; at += 16) {
    const u = wide(SCRATCH + at);
    const value = f64x2.mul(f64x2.splat(bound), f64x2.sub(f64x2.add(u, u), f64x2.splat(1)));
    v128.store64_lane(SCRATCH + at / 2, f32x4.demote_f64x2_zero(value), 0);
  }
}

/** Box–Muller: numbers 2i, 2i + 1 give values 2i = r cos, 2i + 1 = r sin, with r = deviation * sqrt(-2 log(1 - u)), the second number being turns. */
@inline
function normalScratch(deviation: f64): void {
  for (let at: usize = 0; at < 4 * WORDS; at += 32) {
    const a = wide(SCRATCH + at);
    const b = wide(SCRATCH + at + 16);
    const u = v128.shuffle<u64>(a, b, 0, 2);
    const t = v128.shuffle<u64>(a, b, 1, 3);
    const turns = f64x2.sub(t, f64x2.nearest(t));
    const square = f64x2.mul(f64x2.splat(-2), log(f64x2.sub(f64x2.splat(1), u)));
    const radius = f64x2.mul(f64x2.splat(deviation), f64x2.sqrt(square));
    const x = f32x4.demote_f64x2_zero(f64x2.mul(radius, cosTurns(turns)));
    const y = f32x4.demote_f64x2_zero(f64x2.mul(radius, sinTurns(turns)));
    v128.store(SCRATCH + at / 2, v128.shuffle<u32>(x, y, 0, 4, 1, 5));
  }
}

/** Copies the first n floats (at most NUMBERS) from SCRATCH. */
@inline
function copyOut(out: usize, n: i32): void {
  memory.copy(out, SCRATCH, 4 * min<i32>(n, NUMBERS));
}

export function uniform(out: usize, n: i32, key0: u32, key1: u32, low: u32, high: u32, bound: f64): void {
  for (let done = 0; done < n; done += NUMBERS) {
    philox(key0, key1, low, high);
    uniformScratch(bound);
    copyOut(out + 4 * done, n - done);
    low += WORDS / 4;
  }
}

export function normal(out: usize, n: i32, key0: u32, key1: u32, low: u32, high: u32, deviation: f64): void {
  for (let done = 0; done < n; done += NUMBERS) {
    philox(key0, key1, low, high);
    normalScratch(deviation);
    copyOut(out + 4 * done, n - done);
    low += WORDS / 4;
  }
}
