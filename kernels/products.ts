/**
 * Four rows of a product, for ONNX Runtime's WebAssembly (src/engine/web-products.ts puts them there). Its own kernel takes two rows by 16 columns
 * and two steps of K at once: 18 vectors, where x64 has 16 registers. These take four rows by 8 columns: 15.
 *
 * A [4, K] with rows `lda` apart; B in panels of 16 columns, each [K, 16]; C [4, N] with rows `ldc` apart, N a multiple of 16. Each gives the rows it did.
 */

// @ts-ignore: decorator
@inline
function accumulate(sum: v128, x: v128, y: v128, fused: bool): v128 {
  return fused ? v128.relaxed_madd<f32>(x, y, sum) : f32x4.add(sum, f32x4.mul(x, y));
}

// @ts-ignore: decorator
@inline
function put(c: usize, low: v128, high: v128, alpha: v128, adds: bool): void {
  low = f32x4.mul(low, alpha);
  high = f32x4.mul(high, alpha);
  if (adds) {
    low = f32x4.add(low, v128.load(c));
    high = f32x4.add(high, v128.load(c, 16));
  }
  v128.store(c, low);
  v128.store(c, high, 16);
}

/** Four rows by eight columns. */
// @ts-ignore: decorator
@inline
function tile(a: usize, b: usize, c: usize, k: i32, lda: usize, ldc: usize, alpha: v128, fused: bool, adds: bool): void {
  let a0 = a;
  let a1 = a0 + lda;
  let a2 = a1 + lda;
  let a3 = a2 + lda;
  let low0 = f32x4.splat(0);
  let low1 = low0;
  let low2 = low0;
  let low3 = low0;
  let high0 = low0;
  let high1 = low0;
  let high2 = low0;
  let high3 = low0;
  do {
    const low = v128.load(b);
    const high = v128.load(b, 16);
    let x = v128.load32_splat(a0);
    low0 = accumulate(low0, x, low, fused);
    high0 = accumulate(high0, x, high, fused);
    x = v128.load32_splat(a1);
    low1 = accumulate(low1, x, low, fused);
    high1 = accumulate(high1, x, high, fused);
    x = v128.load32_splat(a2);
    low2 = accumulate(low2, x, low, fused);
    high2 = accumulate(high2, x, high, fused);
    x = v128.load32_splat(a3);
    low3 = accumulate(low3, x, low, fused);
    high3 = accumulate(high3, x, high, fused);
    a0 += 4;
    a1 += 4;
    a2 += 4;
    a3 += 4;
    b += 64;
  } while (--k);
  put(c, low0, high0, alpha, adds);
  put(c + ldc, low1, high1, alpha, adds);
  put(c + 2 * ldc, low2, high2, alpha, adds);
  put(c + 3 * ldc, low3, high3, alpha, adds);
}

// @ts-ignore: decorator
@inline
function rows(a: usize, b: usize, c: usize, k: i32, n: i32, lda: usize, ldc: usize, alpha: f32, fused: bool, adds: bool): i32 {
  const scale = f32x4.splat(alpha);
  lda <<= 2;
  ldc <<= 2;
  const panel = (<usize>k) << 6;
  // Both halves of a panel, then the next one.
  for (let half: usize = 32; n; n -= 8, c += 32) {
    tile(a, b, c, k, lda, ldc, scale, fused, adds);
    b += half;
    half = panel - half;
  }
  return 4;
}

/** C = alpha · A·B. */
export function write(a: usize, b: usize, c: usize, k: i32, m: i32, n: i32, lda: usize, ldc: usize, alpha: f32): i32 {
  return rows(a, b, c, k, n, lda, ldc, alpha, false, false);
}

/** C += alpha · A·B. */
export function add(a: usize, b: usize, c: usize, k: i32, m: i32, n: i32, lda: usize, ldc: usize, alpha: f32): i32 {
  return rows(a, b, c, k, n, lda, ldc, alpha, false, true);
}

/** The same with products and sums in one, where the processor has that. */
export function writeFused(a: usize, b: usize, c: usize, k: i32, m: i32, n: i32, lda: usize, ldc: usize, alpha: f32): i32 {
  return rows(a, b, c, k, n, lda, ldc, alpha, true, false);
}

export function addFused(a: usize, b: usize, c: usize, k: i32, m: i32, n: i32, lda: usize, ldc: usize, alpha: f32): i32 {
  return rows(a, b, c, k, n, lda, ldc, alpha, true, true);
}
