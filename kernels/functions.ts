/** Logarithm, sine and cosine of two float64 lanes, by series whose error lies far below a float32's rounding (under 1e-14). */

@inline
function step(sum: v128, x: v128, coefficient: f64): v128 {
  return f64x2.add(f64x2.mul(sum, x), f64x2.splat(coefficient));
}

/** log x for normal x > 0: x = 2^k m with m in [sqrt(1/2), sqrt(2)), log m = 2 (s + s^3/3 + s^5/5 + …), s = (m - 1) / (m + 1). */
@inline
export function log(x: v128): v128 {
  const ROOT_HALF: u64 = 0x3fe6a09e667f3bcd;
  const MANTISSA: u64 = 0x000fffffffffffff;
  // Counting the exponent from sqrt(1/2) instead of 1 puts m into its interval.
  const shifted = i64x2.sub(x, i64x2.splat(ROOT_HALF));
  const exponent = i64x2.shr_s(shifted, 52);
  const m = i64x2.add(v128.and(shifted, i64x2.splat(MANTISSA)), i64x2.splat(ROOT_HALF));
  const k = f64x2.convert_low_i32x4_s(v128.shuffle<u32>(exponent, exponent, 0, 2, 0, 2));
  const s = f64x2.div(f64x2.sub(m, f64x2.splat(1)), f64x2.add(m, f64x2.splat(1)));
  const z = f64x2.mul(s, s);
  let sum = f64x2.splat(2.0 / 19.0);
  sum = step(sum, z, 2.0 / 17.0);
  sum = step(sum, z, 2.0 / 15.0);
  sum = step(sum, z, 2.0 / 13.0);
  sum = step(sum, z, 2.0 / 11.0);
  sum = step(sum, z, 2.0 / 9.0);
  sum = step(sum, z, 2.0 / 7.0);
  sum = step(sum, z, 2.0 / 5.0);
  sum = step(sum, z, 2.0 / 3.0);
  sum = step(sum, z, 2.0);
  return f64x2.add(f64x2.mul(k, f64x2.splat(0.6931471805599453)), f64x2.mul(sum, s));
}

/** Half turns in t, as -1, 0 or 1 (t in [-1/2, 1/2]). */
@inline
function halfTurns(t: v128): v128 {
  return f64x2.nearest(f64x2.add(t, t));
}

/** 2 pi (t - h/2), in [-pi/2, pi/2]. */
@inline
function restAngle(t: v128, h: v128): v128 {
  return f64x2.mul(f64x2.sub(t, f64x2.mul(h, f64x2.splat(0.5))), f64x2.splat(6.283185307179586));
}

/** Changes the sign where the number of half turns is odd. */
@inline
function withSign(value: v128, h: v128): v128 {
  return v128.xor(value, v128.and(f64x2.ne(h, f64x2.splat(0)), f64x2.splat(-0.0)));
}

/** cos(2 pi t) for t in [-1/2, 1/2]. */
@inline
export function cosTurns(t: v128): v128 {
  const h = halfTurns(t);
  const x = restAngle(t, h);
  const z = f64x2.mul(x, x);
  let sum = f64x2.splat(1.0 / 2432902008176640000.0);
  sum = step(sum, z, -1.0 / 6402373705728000.0);
  sum = step(sum, z, 1.0 / 20922789888000.0);
  sum = step(sum, z, -1.0 / 87178291200.0);
  sum = step(sum, z, 1.0 / 479001600.0);
  sum = step(sum, z, -1.0 / 3628800.0);
  sum = step(sum, z, 1.0 / 40320.0);
  sum = step(sum, z, -1.0 / 720.0);
  sum = step(sum, z, 1.0 / 24.0);
  sum = step(sum, z, -0.5);
  return withSign(step(sum, z, 1), h);
}

/** sin(2 pi t) for t in [-1/2, 1/2]. */
@inline
export function sinTurns(t: v128): v128 {
  const h = halfTurns(t);
  const x = restAngle(t, h);
  const z = f64x2.mul(x, x);
  let sum = f64x2.splat(-1.0 / 121645100408832000.0);
  sum = step(sum, z, 1.0 / 355687428096000.0);
  sum = step(sum, z, -1.0 / 1307674368000.0);
  sum = step(sum, z, 1.0 / 6227020800.0);
  sum = step(sum, z, -1.0 / 39916800.0);
  sum = step(sum, z, 1.0 / 362880.0);
  sum = step(sum, z, -1.0 / 5040.0);
  sum = step(sum, z, 1.0 / 120.0);
  sum = step(sum, z, -1.0 / 6.0);
  return withSign(f64x2.mul(step(sum, z, 1), x), h);
}
