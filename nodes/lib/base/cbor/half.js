'use strict';
// Floats of 16 bits (RFC 8949 appendix D).

/** @param {number} bits of a float of 16 bits @returns {number} */
function halfOf(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

const single = new DataView(new ArrayBuffer(4));

/** @param {number} value @returns {number} the bits of a float of 16 bits, -1 if it cannot hold the value exactly */
function halfBits(value) {
  if (Number.isNaN(value)) return 0x7e00;
  single.setFloat32(0, value);
  if (single.getFloat32(0) !== value) return -1;
  const bits = single.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const exponent = (bits >>> 23) & 255;
  const fraction = bits & 0x7fffff;
  if (exponent === 255) return sign | 0x7c00;
  if (value === 0) return sign;
  if (exponent >= 113 && exponent <= 142)
    return fraction & 0x1fff ? -1 : sign | ((exponent - 112) << 10) | (fraction >> 13);
  if (exponent < 103 || exponent > 142) return -1;
  // A subnormal float of 16 bits: its bits are the value in units of 2^-24.
  const shift = 126 - exponent;
  const whole = fraction | 0x800000;
  return whole & ((1 << shift) - 1) ? -1 : sign | (whole >> shift);
}

module.exports = { halfOf, halfBits };
