/** Four floats, or the n < 4 that a tensor has left, so that its tail takes the same path as its body. */

@inline
export function load4(x: usize, n: i32): v128 {
  return n >= 4 ? v128.load(x) : loadPart(x, n);
}

@inline
export function store4(x: usize, value: v128, n: i32): void {
  if (n >= 4) v128.store(x, value);
  else storePart(x, value, n);
}

/** The lanes past the end are 0. */
function loadPart(x: usize, n: i32): v128 {
  let part = v128.load32_zero(x);
  if (n > 1) part = f32x4.replace_lane(part, 1, load<f32>(x, 4));
  if (n > 2) part = f32x4.replace_lane(part, 2, load<f32>(x, 8));
  return part;
}

function storePart(x: usize, part: v128, n: i32): void {
  store<f32>(x, f32x4.extract_lane(part, 0));
  if (n > 1) store<f32>(x, f32x4.extract_lane(part, 1), 4);
  if (n > 2) store<f32>(x, f32x4.extract_lane(part, 2), 8);
}
