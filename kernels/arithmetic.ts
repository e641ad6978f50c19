/** Passes over one or two tensors of n floats: norms, clipping, accumulation, the search for what is not finite, and rows that are cleared or added to. */
import { load4, store4 } from "./part";

/** Adds the squares of the lower two floats of `pair` to two lanes of float64. */
@inline
export function addSquares(sum: v128, pair: v128): v128 {
  const wide = f64x2.promote_low_f32x4(pair);
  return f64x2.add(sum, f64x2.mul(wide, wide));
}

/** Sum of squares in float64: eight running sums, sum j taking values j, j + 8, …; then ((0+2)+(4+6)) + ((1+3)+(5+7)); then the rest in order. */
export function sumOfSquares(x: usize, n: i32): f64 {
  let a = f64x2.splat(0);
  let b = a;
  let c = a;
  let d = a;
  for (; n >= 8; n -= 8, x += 32) {
    a = addSquares(a, v128.load64_zero(x));
    b = addSquares(b, v128.load64_zero(x, 8));
    c = addSquares(c, v128.load64_zero(x, 16));
    d = addSquares(d, v128.load64_zero(x, 24));
  }
  const lanes = f64x2.add(f64x2.add(a, b), f64x2.add(c, d));
  let sum = f64x2.extract_lane(lanes, 0) + f64x2.extract_lane(lanes, 1);
  for (; n > 0; n--, x += 4) {
    const value = <f64>load<f32>(x);
    sum += value * value;
  }
  return sum;
}

/** x *= scale. */
export function scaleInPlace(x: usize, n: i32, scale: f32): void {
  for (; n > 0; n -= 4, x += 16) store4(x, f32x4.mul(load4(x, n), f32x4.splat(scale)), n);
}

/** min(max(x, -limit), limit); x comes first so that NaN stays NaN. */
@inline
function clip(x: v128, limit: f32): v128 {
  return f32x4.pmin(f32x4.pmax(x, f32x4.splat(-limit)), f32x4.splat(limit));
}

export function clipByValue(x: usize, n: i32, limit: f32): void {
  for (; n > 0; n -= 4, x += 16) store4(x, clip(load4(x, n), limit), n);
}

/** target += source * scale. */
export function addScaled(target: usize, source: usize, n: i32, scale: f32): void {
  for (; n > 0; n -= 4, target += 16, source += 16)
    store4(target, f32x4.add(load4(target, n), f32x4.mul(load4(source, n), f32x4.splat(scale))), n);
}

export function fill(x: usize, n: i32, value: f32): void {
  for (; n > 0; n -= 4, x += 16) store4(x, f32x4.splat(value), n);
}

@inline const EXPONENT = 0x7f800000;

/** All ones in lanes that hold an infinity or NaN: every bit of the exponent is set. */
@inline
function notFinite(x: v128): v128 {
  return i32x4.eq(v128.and(x, i32x4.splat(EXPONENT)), i32x4.splat(EXPONENT));
}

/** Index of the first value that is infinite or NaN, or -1. */
export function firstNonFinite(x: usize, n: i32): i32 {
  let i = 0;
  for (; i < n; i += 4) if (v128.any_true(notFinite(load4(x + 4 * i, n - i)))) break;
  for (; i < n; i++) if ((load<i32>(x + 4 * i) & EXPONENT) == EXPONENT) return i;
  return -1;
}

/** Index of the first id that is negative or >= rows, or -1. */
export function firstBadId(ids: usize, n: i32, rows: u32): i32 {
  for (let i = 0; i < n; i++) if (load<u32>(ids + 4 * i) >= rows) return i;
  return -1;
}

/** target[id] = 0. */
export function clearRows(target: usize, ids: usize, n: i32, columns: i32): void {
  for (; n > 0; n--, ids += 4) memory.fill(target + 4 * load<u32>(ids) * columns, 0, 4 * columns);
}

/** target[id] += clip(row * scale), row after row, so that repeated ids add up in the order of ids. An infinite limit clips nothing. */
export function addRows(target: usize, ids: usize, rows: usize, n: i32, columns: i32, scale: f32, limit: f32): void {
  for (; n > 0; n--, ids += 4, rows += 4 * columns) {
    const to = target + 4 * load<u32>(ids) * columns;
    for (let i = 0; i < columns; i += 4) {
      const row = clip(f32x4.mul(load4(rows + 4 * i, columns - i), f32x4.splat(scale)), limit);
      store4(to + 4 * i, f32x4.add(load4(to + 4 * i, columns - i), row), columns - i);
    }
  }
}
