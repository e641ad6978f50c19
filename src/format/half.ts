/** 16-bit floats, widened to float32: IEEE half and bfloat16. */

/** bfloat16 is the upper half of a float32. */
export function widenBfloat16(bits: Uint16Array): Float32Array {
  const wide = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) wide[i] = bits[i]! << 16;
  return new Float32Array(wide.buffer);
}

/** IEEE half: 1 sign bit, 5 of exponent (bias 15), 10 of mantissa. */
export function widenHalf(bits: Uint16Array): Float32Array {
  const wide = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) wide[i] = halfValue(bits[i]!);
  return wide;
}

function halfValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const mantissa = bits & 1023;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  if (exponent === 31) return mantissa ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}
