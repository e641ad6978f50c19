/** Random tensors out of Philox words: dropout masks, uniform, Gumbel and normal numbers. `low` and `high` are the halves of the first block's index. */
import { philox, SCRATCH, WORDS } from "./philox";
import { cosTurns, log, sinTurns } from "./functions";

/** Eight mask values from four words: 16 bits a value, low half first. Kept where bits <= limit. */
@inline
function maskEight(words: usize, limit: v128, scale: v128, out: usize): void {
  const kept = i16x8.le_u(v128.load(words), limit);
  v128.store(out, v128.and(i32x4.extend_low_i16x8_s(kept), scale));
  v128.store(out, v128.and(i32x4.extend_high_i16x8_s(kept), scale), 16);
}

/** out[i] = bits(i) <= limit ? scale : 0. */
export function dropoutMask(out: usize, n: i32, key0: u32, key1: u32, low: u32, high: u32, limit: u32, scale: f32): void {
  const limits = i16x8.splat(<i16>limit);
  const scales = f32x4.splat(scale);
  for (; n >= 2 * WORDS; n -= 2 * WORDS) {
    philox(key0, key1, low, high);
    for (let at: usize = 0; at < 4 * WORDS; at += 16) maskEight(SCRATCH + at, limits, scales, out + 2 * at);
    low += WORDS / 4;
    out += 8 * WORDS;
  }
  philox(key0, key1, low, high);
  for (let i = 0; i < n; i++) store<f32>(out + 4 * i, load<u16>(SCRATCH + 2 * i) <= <u16>limit ? scale : 0);
}

/** out[i] = ((word >>> shift) + offset) * unit, all exact in float32. */
export function uniform(out: usize, n: i32, key0: u32, key1: u32, low: u32, high: u32, shift: i32, offset: f32, unit: f32): void {
  const offsets = f32x4.splat(offset);
  const units = f32x4.splat(unit);
  for (; n >= WORDS; n -= WORDS) {
    philox(key0, key1, low, high);
    for (let at: usize = 0; at < 4 * WORDS; at += 16) {
      const whole = f32x4.convert_i32x4_s(i32x4.shr_u(v128.load(SCRATCH + at), shift));
      v128.store(out + at, f32x4.mul(f32x4.add(whole, offsets), units));
    }
    low += WORDS / 4;
    out += 4 * WORDS;
  }
  philox(key0, key1, low, high);
  for (let i = 0; i < n; i++) store<f32>(out + 4 * i, (<f32>(load<u32>(SCRATCH + 4 * i) >> shift) + offset) * unit);
}

/** Two words at `at`, as (word + 1/2) / 2^32 in (0, 1), exact in float64. */
@inline
function openPair(at: usize): v128 {
  const whole = f64x2.convert_low_i32x4_u(v128.load64_zero(at));
  return f64x2.mul(f64x2.add(whole, f64x2.splat(0.5)), f64x2.splat(1.0 / 4294967296.0));
}

/** Copies the first n floats (at most WORDS) from SCRATCH. */
@inline
function copyOut(out: usize, n: i32): void {
  memory.copy(out, SCRATCH, 4 * min<i32>(n, WORDS));
}

/** Replaces the words in SCRATCH by -log(-log u) in float32. */
@inline
function gumbelScratch(): void {
  for (let at = SCRATCH; at < SCRATCH + 4 * WORDS; at += 8) {
    const inner = f64x2.neg(log(openPair(at)));
    v128.store64_lane(at, f32x4.demote_f64x2_zero(f64x2.neg(log(inner))), 0);
  }
}

export function gumbel(out: usize, n: i32, key0: u32, key1: u32, low: u32, high: u32): void {
  for (let done = 0; done < n; done += WORDS) {
    philox(key0, key1, low, high);
    gumbelScratch();
    copyOut(out + 4 * done, n - done);
    low += WORDS / 4;
  }
}

/** Box–Muller: words 2i, 2i + 1 give values 2i = r cos, 2i + 1 = r sin, with r = sqrt(-2 log u), the angle being the second word in turns. */
@inline
function normalScratch(): void {
  for (let at = SCRATCH; at < SCRATCH + 4 * WORDS; at += 16) {
    const words = v128.load(at);
    const u = f64x2.convert_low_i32x4_u(v128.shuffle<u32>(words, words, 0, 2, 0, 2));
    const turns = f64x2.mul(f64x2.convert_low_i32x4_s(v128.shuffle<u32>(words, words, 1, 3, 1, 3)), f64x2.splat(1.0 / 4294967296.0));
    const open = f64x2.mul(f64x2.add(u, f64x2.splat(0.5)), f64x2.splat(1.0 / 4294967296.0));
    const radius = f64x2.sqrt(f64x2.mul(f64x2.splat(-2), log(open)));
    const x = f32x4.demote_f64x2_zero(f64x2.mul(radius, cosTurns(turns)));
    const y = f32x4.demote_f64x2_zero(f64x2.mul(radius, sinTurns(turns)));
    v128.store(at, v128.shuffle<u32>(x, y, 0, 4, 1, 5));
  }
}

export function normal(out: usize, n: i32, key0: u32, key1: u32, low: u32, high: u32): void {
  for (let done = 0; done < n; done += WORDS) {
    philox(key0, key1, low, high);
    normalScratch();
    copyOut(out + 4 * done, n - done);
    low += WORDS / 4;
  }
}
