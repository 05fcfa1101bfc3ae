// e to the x in float32, within 1 ulp, without fused multiply-add (so that every level gives the same bits).
#pragma once

#include "kernels/vec.hpp"

namespace {

// y times 2 to the n, an integer that `shifted` holds in its low bits.
#if defined(HACL_AVX512)
HACL_INLINE F times_power_of_two(F y, F n, F) { return (F)_mm512_scalef_ps((__m512)y, (__m512)n); }
#else
HACL_INLINE F power_of_two(I n) { return (F)((n + 127) << 23); }
HACL_INLINE F times_power_of_two(F y, F, F shifted) {
  const I whole = (I)shifted - 0x4b400000;
  const I half = whole >> 1;  // two factors, for results that are subnormal or near overflow
  return y * power_of_two(half) * power_of_two(whole - half);
}
#endif

HACL_INLINE F exponential(F x) {
  F c = x > 89.0f ? splat(89.0f) : x;
  c = c > -104.0f ? c : splat(-104.0f);  // also where x is NaN
  const F shifted = c * 1.44269504088896341f + 12582912.0f;  // 1.5 * 2^23 leaves the nearest integer in the low bits
  const F n = shifted - 12582912.0f;
  const F r = (c - n * 0.693359375f) - n * -2.12194440e-4f;  // ln 2 in two parts: the first product and difference are exact
  F p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const F y = (p * (r * r) + r) + 1.0f;
  const F result = times_power_of_two(y, n, shifted);
  return x != x ? x : result;
}

// The same for x <= 0 or NaN in half the time: fused multiply-adds in a short chain, whose last bits differ from scalar code's.
HACL_INLINE F exponential_below(F x) {
  const F c = larger(x, splat(-104.0f));  // x where it is NaN
  const F shifted = multiply_add(c, splat(1.44269504088896341f), splat(12582912.0f));
  const F n = shifted - 12582912.0f;
  const F r = multiply_add(n, splat(2.12194440e-4f), multiply_add(n, splat(-0.693359375f), c));
  const F square = r * r;
  const F first = multiply_add(splat(1.6666665459e-1f), r, splat(5.0000001201e-1f));
  const F second = multiply_add(splat(8.3334519073e-3f), r, splat(4.1665795894e-2f));
  const F third = multiply_add(splat(1.9875691500e-4f), r, splat(1.3981999507e-3f));
  const F p = multiply_add(multiply_add(third, square, second), square, first);
  return times_power_of_two(multiply_add(p, square, r) + 1.0f, n, shifted);
}

}  // namespace
