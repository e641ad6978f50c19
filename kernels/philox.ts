/** Philox4x32-10, eight blocks at a time: the words of `philoxBlock` in src/base/random.ts, in the same order. */

@inline const MULTIPLIER_0: u32 = 0xd2511f53;
@inline const MULTIPLIER_1: u32 = 0xcd9e8d57;
@inline const WEYL_0: u32 = 0x9e3779b9;
@inline const WEYL_1: u32 = 0xbb67ae85;
@inline const ROUNDS: i32 = 10;

/** Words that one call of `philox` writes. */
@inline export const WORDS: i32 = 32;
/** Where kernels put them: the first 128 bytes of the arena hold no tensor. */
@inline export const SCRATCH: usize = 0;

/** Lower halves of the four 64-bit products in p and q. */
@inline
function lows(p: v128, q: v128): v128 {
  return v128.shuffle<u32>(p, q, 0, 2, 4, 6);
}

@inline
function highs(p: v128, q: v128): v128 {
  return v128.shuffle<u32>(p, q, 1, 3, 5, 7);
}

/** Four blocks, given as one vector per word, to memory: block after block. */
@inline
function storeBlocks(c0: v128, c1: v128, c2: v128, c3: v128, at: usize): void {
  const a = v128.shuffle<u32>(c0, c1, 0, 4, 1, 5);
  const b = v128.shuffle<u32>(c2, c3, 0, 4, 1, 5);
  const c = v128.shuffle<u32>(c0, c1, 2, 6, 3, 7);
  const d = v128.shuffle<u32>(c2, c3, 2, 6, 3, 7);
  v128.store(at, v128.shuffle<u64>(a, b, 0, 2));
  v128.store(at, v128.shuffle<u64>(a, b, 1, 3), 16);
  v128.store(at, v128.shuffle<u64>(c, d, 0, 2), 32);
  v128.store(at, v128.shuffle<u64>(c, d, 1, 3), 48);
}

/**
 * Writes the 32 words of blocks low … low + 7 to SCRATCH; `high` is the upper half of all eight indices.
 * Two groups of four blocks (c and d) hide each other's multiplication latency. The first two rounds are written out: words 2 and 3 of a
 * counter are 0 and word 1 is the same for all blocks, so half of their products are known.
 */
export function philox(key0: u32, key1: u32, low: u32, high: u32): void {
  const m0 = i32x4.splat(MULTIPLIER_0);
  const m1 = i32x4.splat(MULTIPLIER_1);
  const first = i32x4.add(i32x4.splat(low), i32x4(0, 1, 2, 3));
  const second = i32x4.add(first, i32x4.splat(4));

  // Round 1: c0 = high ^ key0 in every block, c1 = 0.
  let k1 = i32x4.splat(key1);
  let p = i64x2.extmul_low_i32x4_u(first, m0);
  let q = i64x2.extmul_high_i32x4_u(first, m0);
  let c2 = v128.xor(highs(p, q), k1);
  let c3 = lows(p, q);
  p = i64x2.extmul_low_i32x4_u(second, m0);
  q = i64x2.extmul_high_i32x4_u(second, m0);
  let d2 = v128.xor(highs(p, q), k1);
  let d3 = lows(p, q);

  // Round 2: the product with c0 is one number.
  const known = <u64>(high ^ key0) * <u64>MULTIPLIER_0;
  let k0 = i32x4.splat(key0 + WEYL_0);
  k1 = i32x4.splat((key1 + WEYL_1) ^ <u32>(known >> 32));
  let s = i64x2.extmul_low_i32x4_u(c2, m1);
  let t = i64x2.extmul_high_i32x4_u(c2, m1);
  let c0 = v128.xor(highs(s, t), k0);
  let c1 = lows(s, t);
  c2 = v128.xor(c3, k1);
  s = i64x2.extmul_low_i32x4_u(d2, m1);
  t = i64x2.extmul_high_i32x4_u(d2, m1);
  let d0 = v128.xor(highs(s, t), k0);
  let d1 = lows(s, t);
  d2 = v128.xor(d3, k1);
  c3 = i32x4.splat(<u32>known);
  d3 = c3;

  k1 = i32x4.splat(key1 + WEYL_1);
  for (let round = 2; round < ROUNDS; round++) {
    k0 = i32x4.add(k0, i32x4.splat(WEYL_0));
    k1 = i32x4.add(k1, i32x4.splat(WEYL_1));
    p = i64x2.extmul_low_i32x4_u(c0, m0);
    q = i64x2.extmul_high_i32x4_u(c0, m0);
    s = i64x2.extmul_low_i32x4_u(c2, m1);
    t = i64x2.extmul_high_i32x4_u(c2, m1);
    c0 = v128.xor(v128.xor(highs(s, t), c1), k0);
    c1 = lows(s, t);
    c2 = v128.xor(v128.xor(highs(p, q), c3), k1);
    c3 = lows(p, q);
    p = i64x2.extmul_low_i32x4_u(d0, m0);
    q = i64x2.extmul_high_i32x4_u(d0, m0);
    s = i64x2.extmul_low_i32x4_u(d2, m1);
    t = i64x2.extmul_high_i32x4_u(d2, m1);
    d0 = v128.xor(v128.xor(highs(s, t), d1), k0);
    d1 = lows(s, t);
    d2 = v128.xor(v128.xor(highs(p, q), d3), k1);
    d3 = lows(p, q);
  }
  storeBlocks(c0, c1, c2, c3, SCRATCH);
  storeBlocks(d0, d1, d2, d3, SCRATCH + 64);
}
