// Remainders of divisions, exact: the fused a - q * b loses nothing while the quotient is small, and fmod serves the others.
#pragma once

#include <cmath>

#include "kernels/across.hpp"
#include "kernels/vec.hpp"

namespace {

template <class V>
HACL_INLINE V fmod_lanes(V a, V b) {
  for (std::size_t i = 0; i < sizeof a / sizeof a[0]; ++i) a[i] = std::fmod(a[i], b[i]);
  return a;
}

#if defined(HACL_AVX512) || defined(HACL_AVX2) || defined(HACL_NEON)
HACL_INLINE F remainder_of(F a, F b) {
  const I sign = I{} + static_cast<std::int32_t>(0x80000000u);
  const F quotient = whole<kToZero>(a / b), size = (F)((I)quotient & ~sign), above = (F)((I)b & ~sign);
  const I small = (I)(size < 0x1p22f) & (I)(above <= 0x1.fffffep127f);
  if (lane_bits(~small) != 0) return fmod_lanes(a, b);
  F rest = multiply_add(-quotient, b, a);  // of the quotient, or of one more where a / b was rounded up to a whole number
  const I other = ((I)rest ^ (I)a) & sign & (I)(rest != 0);
  rest = other != 0 ? rest + (F)((I)above | ((I)a & sign)) : rest;
  return (F)(((I)rest & ~sign) | ((I)a & sign));
}
#else
HACL_INLINE F remainder_of(F a, F b) { return fmod_lanes(a, b); }
#endif
HACL_INLINE D remainder_of(D a, D b) { return fmod_lanes(a, b); }

// With the sign of a, and of a division rounded down, with that of b.
struct Remainder {
  template <class V> static HACL_INLINE V run(V a, V b) { return remainder_of(a, b); }
};
struct FloorRemainder {
  template <class V> static HACL_INLINE V run(V a, V b) {
    const V rest = remainder_of(a, b), moved = rest + b, zero = b < 0 ? V{} * -1.0f : V{};
    return rest == 0 ? zero : (rest < 0) != (b < 0) ? moved : rest;  // NaN stays NaN
  }
};

}  // namespace
