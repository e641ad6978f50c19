/** Optimiser updates of weight w by gradient g, moments being changed in the same pass. Constants are worked out by src/engine/kernels.ts. */
import { addSquares } from "./arithmetic";
import { load4, store4 } from "./part";

/** Below this a float32 is subnormal: arithmetic slows down, and a decaying moment would never reach 0. */
@inline const SMALLEST_NORMAL: f32 = 1.1754943508222875e-38;

/** Subnormal values become 0; NaN stays. */
@inline
function flush(x: v128): v128 {
  return v128.andnot(x, f32x4.lt(f32x4.abs(x), f32x4.splat(SMALLEST_NORMAL)));
}

/** beta * old + rest * x, flushed. */
@inline
function moment(old: v128, beta: f32, rest: f32, x: v128): v128 {
  return flush(f32x4.add(f32x4.mul(f32x4.splat(beta), old), f32x4.mul(f32x4.splat(rest), x)));
}

/** g * scale + l2 * w. */
@inline
function slopeOf(g: v128, w: v128, scale: f32, l2: f32): v128 {
  return f32x4.add(f32x4.mul(g, f32x4.splat(scale)), f32x4.mul(f32x4.splat(l2), w));
}

/** m / (sqrt(v) * root + epsilon). */
@inline
function quotient(m: v128, v: v128, root: f32, epsilon: f32): v128 {
  return f32x4.div(m, f32x4.add(f32x4.mul(f32x4.sqrt(v), f32x4.splat(root)), f32x4.splat(epsilon)));
}

/** a * x + b * y. */
@inline
function blend(a: f32, x: v128, b: f32, y: v128): v128 {
  return f32x4.add(f32x4.mul(f32x4.splat(a), x), f32x4.mul(f32x4.splat(b), y));
}

/** `adam` of four weights, or of the n < 4 that are left. */
@inline
function adamFour(
  w: usize, g: usize, m: usize, v: usize, n: i32, scale: f32, l2: f32, beta1: f32, rest1: f32, beta2: f32, rest2: f32,
  root: f32, epsilon: f32, rate: f32, decay: f32, decays: bool,
): void {
  const weight = load4(w, n);
  const gradient = load4(g, n);
  const slope = decays ? slopeOf(gradient, weight, scale, l2) : f32x4.mul(gradient, f32x4.splat(scale));
  const first = moment(load4(m, n), beta1, rest1, slope);
  const second = moment(load4(v, n), beta2, rest2, f32x4.mul(slope, slope));
  store4(m, first, n);
  store4(v, second, n);
  const way = quotient(first, second, root, epsilon);
  const change = decays ? blend(rate, way, decay, weight) : f32x4.mul(f32x4.splat(rate), way);
  store4(w, f32x4.sub(weight, change), n);
}

/** w -= rate * m / (sqrt(v) * root + epsilon) + decay * w, after m and v have taken in g * scale + l2 * w. */
export function adam(
  w: usize, g: usize, m: usize, v: usize, n: i32, scale: f32, l2: f32, beta1: f32, rest1: f32, beta2: f32, rest2: f32,
  root: f32, epsilon: f32, rate: f32, decay: f32,
): void {
  if (l2 == 0 && decay == 0) {
    // Nothing decays: four operations fewer.
    for (; n >= 4; n -= 4, w += 16, g += 16, m += 16, v += 16)
      adamFour(w, g, m, v, 4, scale, 0, beta1, rest1, beta2, rest2, root, epsilon, rate, 0, false);
  }
  for (; n >= 4; n -= 4, w += 16, g += 16, m += 16, v += 16)
    adamFour(w, g, m, v, 4, scale, l2, beta1, rest1, beta2, rest2, root, epsilon, rate, decay, true);
  if (n > 0) adamFour(w, g, m, v, n, scale, l2, beta1, rest1, beta2, rest2, root, epsilon, rate, decay, true);
}

/** b = momentum * b + slope, w -= rate * b; Nesterov moves along slope + momentum * b. */
export function sgd(w: usize, g: usize, b: usize, n: i32, scale: f32, l2: f32, momentum: f32, rate: f32, nesterov: i32): void {
  for (; n > 0; n -= 4, w += 16, g += 16, b += 16) {
    const weight = load4(w, n);
    const slope = slopeOf(load4(g, n), weight, scale, l2);
    const velocity = moment(load4(b, n), momentum, 1, slope);
    store4(b, velocity, n);
    const way = nesterov ? f32x4.add(slope, f32x4.mul(f32x4.splat(momentum), velocity)) : velocity;
    store4(w, f32x4.sub(weight, f32x4.mul(f32x4.splat(rate), way)), n);
  }
}

/** Square root of the sum of the four lanes. */
@inline
function norm(lower: v128, upper: v128): f64 {
  const lanes = f64x2.add(lower, upper);
  return sqrt<f64>(f64x2.extract_lane(lanes, 0) + f64x2.extract_lane(lanes, 1));
}

@inline
function upperHalf(x: v128): v128 {
  return v128.shuffle<u64>(x, x, 1, 1);
}

/**
 * LAMB: r = correction * m / (sqrt(v) * root + epsilon) + decay * w, ratio = |w| / |r| where both are positive and `adapt` is set, else 1;
 * w -= rate * ratio * r. The first pass changes the moments and measures, the second works r out again and moves. Returns the ratio.
 */
export function lamb(
  w: usize, g: usize, m: usize, v: usize, n: i32, scale: f32, beta1: f32, rest1: f32, beta2: f32, rest2: f32,
  correction: f32, root: f32, epsilon: f32, decay: f32, rate: f64, adapt: i32,
): f64 {
  let w0 = f64x2.splat(0);
  let w1 = w0;
  let r0 = w0;
  let r1 = w0;
  for (let i = 0; i < n; i += 4) {
    const at = 4 * i;
    const left = n - i;
    const weight = load4(w + at, left);
    const slope = f32x4.mul(load4(g + at, left), f32x4.splat(scale));
    const first = moment(load4(m + at, left), beta1, rest1, slope);
    const second = moment(load4(v + at, left), beta2, rest2, f32x4.mul(slope, slope));
    store4(m + at, first, left);
    store4(v + at, second, left);
    const r = blend(correction, quotient(first, second, root, epsilon), decay, weight);
    w0 = addSquares(w0, weight);
    w1 = addSquares(w1, upperHalf(weight));
    r0 = addSquares(r0, r);
    r1 = addSquares(r1, upperHalf(r));
  }
  const weightNorm = norm(w0, w1);
  const wayNorm = norm(r0, r1);
  const ratio = adapt && weightNorm > 0 && wayNorm > 0 ? weightNorm / wayNorm : 1.0;
  const step = <f32>(rate * ratio);
  for (; n > 0; n -= 4, w += 16, m += 16, v += 16) {
    const weight = load4(w, n);
    const r = blend(correction, quotient(load4(m, n), load4(v, n), root, epsilon), decay, weight);
    store4(w, f32x4.sub(weight, f32x4.mul(f32x4.splat(step), r)), n);
  }
  return ratio;
}
