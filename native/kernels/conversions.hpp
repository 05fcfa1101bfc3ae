// Casts of one SIMD level. Wide sources reach a half type through a float32 rounded to odd, which makes the last rounding the only one.
#pragma once

#include <limits>
#include <type_traits>

#include "kernels/vec.hpp"

namespace {

struct Boolean {
  std::uint8_t bits;
};

template <class T>
constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;
template <class T>
constexpr bool fits_float = is_half<T> || std::is_same_v<T, float>;

constexpr std::size_t kBlock = 256;

template <bool saturate, class T>
HACL_INLINE F bounded(F v) {
  if constexpr (!saturate) return v;
  const float top = Lanes<T>::largest;
  v = v != v ? F{} : v;
  v = v > top ? splat(top) : v;
  return v < -top ? splat(-top) : v;
}

template <class From, class To, bool saturate>
HACL_INLINE void convert_lanes(const From* x, To* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + W <= n; i += W) Lanes<To>::store(out + i, bounded<saturate, To>(Lanes<From>::load(x + i)));
  if (i < n) store_some(out + i, n - i, bounded<saturate, To>(load_some(x + i, n - i)));
}

// d cut to a float32 whose last bit tells whether anything was cut off.
HACL_INLINE float to_odd(double d) {
  const float nearest = static_cast<float>(d);
  std::uint32_t bits;
  __builtin_memcpy(&bits, &nearest, 4);
  const double back = static_cast<double>(nearest);
  const std::uint32_t beyond = __builtin_fabs(back) > __builtin_fabs(d);
  const std::uint32_t inexact = (back < d) | (back > d);  // false for a NaN
  bits = (bits - beyond) | inexact;
  float result;
  __builtin_memcpy(&result, &bits, 4);
  return result;
}

template <class Int>
HACL_INLINE double integer_to_odd(Int x) {  // to the 53 bits of a double, likewise
  if constexpr (sizeof(Int) < 8) return static_cast<double>(x);
  else {
    constexpr Int limit = Int{1} << 53;
    bool small = x <= limit;
    if constexpr (std::is_signed_v<Int>) small = small && x >= -limit;
    if (small) return static_cast<double>(x);
    return static_cast<double>((x >> 11) | static_cast<Int>((x & 0x7ff) != 0)) * 2048.0;
  }
}

template <class T>
HACL_INLINE float narrow(T x) {
  if constexpr (std::is_same_v<T, Boolean>) return x.bits != 0 ? 1.0f : 0.0f;
  else if constexpr (std::is_same_v<T, double>) return to_odd(x);
  else return to_odd(integer_to_odd(x));
}

template <class Int, class Real>
HACL_INLINE Int truncate(Real x) {
  using Limits = std::numeric_limits<Int>;
  constexpr Real lowest = static_cast<Real>(Limits::min());
  constexpr Real beyond = static_cast<Real>(Limits::max() / 2 + 1) * 2;
  const bool over = x >= beyond;
  Real inside = x < lowest ? lowest : x;
  inside = over || x != x ? Real{0} : inside;
  if constexpr (sizeof(Int) < 4) return over ? Limits::max() : static_cast<Int>(static_cast<std::int32_t>(inside));
  else return over ? Limits::max() : static_cast<Int>(inside);
}

template <class To, class From>
HACL_INLINE To cast_one(From x) {
  if constexpr (std::is_same_v<From, Boolean>) return static_cast<To>(x.bits != 0);
  else if constexpr (std::is_same_v<To, Boolean>) return Boolean{static_cast<std::uint8_t>(x != 0)};
  else if constexpr (std::is_integral_v<To>) return truncate<To>(x);
  else return static_cast<To>(x);
}

template <class From, class To, bool saturate>
HACL_INLINE void convert_all(const From* x, To* out, std::size_t n) {
  if constexpr (fits_float<From> && fits_float<To>) {
    convert_lanes<From, To, saturate>(x, out, n);
  } else if constexpr (is_half<From> || is_half<To>) {
    float block[kBlock];
    for (std::size_t i = 0; i < n; i += kBlock) {
      const std::size_t k = n - i < kBlock ? n - i : kBlock;
      if constexpr (is_half<From>) {
        convert_lanes<From, float, false>(x + i, block, k);
        for (std::size_t j = 0; j < k; ++j) out[i + j] = cast_one<To>(block[j]);
      } else {
        for (std::size_t j = 0; j < k; ++j) block[j] = narrow(x[i + j]);
        convert_lanes<float, To, saturate>(block, out + i, k);
      }
    }
  } else {
    for (std::size_t i = 0; i < n; ++i) out[i] = cast_one<To>(x[i]);
  }
}

template <class From, class To>
void convert(const void* x, void* out, std::size_t n, bool saturate) {
  auto from = static_cast<const From*>(x);
  auto to = static_cast<To*>(out);
  if constexpr (is_half<To>) {
    if (saturate) return convert_all<From, To, true>(from, to, n);
  }
  convert_all<From, To, false>(from, to, n);
}

}  // namespace
