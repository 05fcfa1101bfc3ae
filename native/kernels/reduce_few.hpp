// Reductions over a few long rows, of one SIMD level: each result in a register until it is rounded and written.
#pragma once

#include "kernels/reduce.hpp"

namespace {

HACL_INLINE bool any_lane(I mask) { return lane_bits(mask) != 0; }
HACL_INLINE F joined(FH low, FH high) {
#if defined(HACL_AVX512)
  return (F)_mm512_insertf32x8(_mm512_castps256_ps512((__m256)low), (__m256)high, 1);
#elif defined(HACL_AVX2)
  return (F)_mm256_set_m128((__m128)high, (__m128)low);
#else
  F v;
  __builtin_memcpy(&v, &low, sizeof low);
  __builtin_memcpy(reinterpret_cast<char*>(&v) + sizeof low, &high, sizeof high);
  return v;
#endif
}

// A double on its way to a half: its last 29 bits, which no float has, become one. Both roundings together are then one, as a
// half has far fewer bits, unless the float is subnormal.
HACL_INLINE FH lanes_to_odd(D d) {
  constexpr std::int64_t below = 0x1fffffff;
  const L bits = (L)d;
  const L any = (L)((bits & below) != 0) & (below + 1);
  return to_floats((D)((bits & ~below) | any));
}

// Doubles in a form that the store of T rounds rightly: a second rounding is wrong only where the first one ended between two halves.
template <class T>
HACL_INLINE F ready(D low, D high) {
  const F nearest = joined(to_floats(low), to_floats(high));
  if constexpr (is_half<T>) {
    if (any_lane((I)(((I)nearest & 0xfff) == 0))) return joined(lanes_to_odd(low), lanes_to_odd(high));
  }
  return nearest;
}

template <class T>
HACL_INLINE void store_lanes(T* p, std::size_t k, F v) { k == W ? Lanes<T>::store(p, v) : store_some(p, k, v); }

HACL_INLINE I not_finite(F v) { return (I)(v - v != 0); }

template <class T>
HACL_INLINE I subnormal(F v) {  // where that matters: other halves are 0 there
  if constexpr (!std::is_same_v<T, Bfloat16>) return I{};
  else return (I)(v < 0x1p-126f) & (I)(v > -0x1p-126f) & (I)(v != 0);
}

// sum / divisor, rounded as the store of T needs it.
template <class T>
HACL_INLINE F divided(F sum, double divisor, float reciprocal) {
  if (reciprocal != 0) return sum * reciprocal;
  if constexpr (!is_half<T>) return sum / static_cast<float>(divisor);  // as exact as the one in float64, rounded
  return ready<T>(low_doubles(sum) / divisor, high_doubles(sum) / divisor);
}

// 1 / divisor where that is exact, else 0.
HACL_INLINE float exact_reciprocal(double divisor) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &divisor, sizeof bits);
  return (bits & 0xfffffffffffff) == 0 && divisor >= 1 && divisor < 0x1p100 ? static_cast<float>(1 / divisor) : 0.0f;
}

// False, as in all of these: one of the results needs care (it may have left the range on the way only).
template <class T>
bool few_sums(const void* x, std::size_t rows, std::size_t stride, std::size_t n, double divisor, void* out) {
  const float reciprocal = exact_reciprocal(divisor);
  if (static_cast<double>(static_cast<float>(divisor)) != divisor) return false;
  I doubt = {};
  for (std::size_t i = 0; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    auto from = static_cast<const T*>(x) + i;
    F sum = load_lanes(from, k);
    for (std::size_t r = 1; r < rows; ++r) sum += load_lanes(from + r * stride, k);
    doubt |= not_finite(sum);
    sum = divided<T>(sum + 0.0f, divisor, reciprocal);  // -0 is +0
    doubt |= subnormal<T>(sum);
    store_lanes(static_cast<T*>(out) + i, k, sum);
  }
  return !any_lane(doubt);
}

template <class T>
bool few_products(const void* x, std::size_t rows, std::size_t stride, std::size_t n, double, void* out) {
  I doubt = {};
  for (std::size_t i = 0; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    auto from = static_cast<const T*>(x) + i;
    D low = D{} + 1, high = D{} + 1;
    std::size_t r = 0;
    if constexpr (std::is_same_v<T, Half>) {
      for (; r + 2 <= rows; r += 2) multiply_by_pairs(from + r * stride, from + (r + 1) * stride, k, &low, &high);
    }
    for (; r < rows; ++r) multiply_by(from + r * stride, k, &low, &high);
    const F product = ready<T>(low, high);
    doubt |= not_finite(product) | subnormal<T>(product) | ((I)(product == 0) & (lane_numbers() < static_cast<std::int32_t>(k)));
    store_lanes(static_cast<T*>(out) + i, k, product);
  }
  return !any_lane(doubt);
}

template <class T, class Op>
HACL_INLINE bool few_extremes_by(const T* x, std::size_t rows, std::size_t stride, std::size_t n, T* out) {
  Unordered nan;
  for (std::size_t i = 0; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    F best = load_lanes(x + i, k);
    nan.look(best, best);
    for (std::size_t r = 1; r < rows; ++r) {
      const F v = load_lanes(x + r * stride + i, k);
      nan.look(v, v);
      best = Op::run(best, v);
    }
    store_lanes(out + i, k, best);
  }
  return !nan.any();
}

template <class T, class Op>
bool few_extremes(const void* x, std::size_t rows, std::size_t stride, std::size_t n, double, void* out) {
  auto from = static_cast<const T*>(x);
  auto to = static_cast<T*>(out);
  if (!few_extremes_by<T, typename WithoutNan<Op>::Ordered>(from, rows, stride, n, to)) few_extremes_by<T, Op>(from, rows, stride, n, to);
  return true;
}

}  // namespace
