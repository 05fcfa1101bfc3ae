// From the lanes of a vector to one value. Lane i always meets lane i + half, at every level.
#pragma once

#include <utility>

#include "kernels/vec.hpp"

namespace {

#if defined(__clang__) || __GNUC__ >= 12
#define HACL_PICKED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define HACL_PICKED(a, b, ...) __builtin_shuffle(a, b, decltype(a == b){__VA_ARGS__})
#endif

template <std::size_t bytes, class T>
struct Part {
  typedef T V __attribute__((vector_size(bytes)));
};

// Op over all lanes, the upper half joined to the lower one until one is left.
template <class Op, class T, std::size_t bytes>
HACL_INLINE T across_bytes(typename Part<bytes, T>::V v) {
  if constexpr (bytes == 2 * sizeof(T)) {
    return Op::run(static_cast<T>(v[0]), static_cast<T>(v[1]));
  } else {
    typename Part<bytes / 2, T>::V low, high;
    __builtin_memcpy(&low, &v, bytes / 2);
    __builtin_memcpy(&high, reinterpret_cast<const char*>(&v) + bytes / 2, bytes / 2);
    return across_bytes<Op, T, bytes / 2>(Op::run(low, high));
  }
}
template <class Op>
HACL_INLINE float across(F v) { return across_bytes<Op, float, sizeof(F)>(v); }
template <class Op>
HACL_INLINE double across(D v) { return across_bytes<Op, double, sizeof(D)>(v); }

HACL_INLINE I lane_numbers() {
  I v = {};
  for (std::size_t i = 0; i < W; ++i) v[i] = static_cast<std::int32_t>(i);
  return v;
}

// v[from[i]] in lane i.
HACL_INLINE F permuted(F v, I from) {
#if defined(HACL_AVX512)
  return (F)_mm512_permutexvar_ps((__m512i)from, (__m512)v);
#elif defined(HACL_AVX2)
  return (F)_mm256_permutevar8x32_ps((__m256)v, (__m256i)from);
#else
  F all = v;
  for (std::size_t i = 0; i < W; ++i) all[i] = v[from[i]];
  return all;
#endif
}

// A bit for each lane of a mask.
#if defined(HACL_AVX512)
HACL_INLINE unsigned lane_bits(I mask) { return _mm512_movepi32_mask((__m512i)mask); }
#elif defined(HACL_AVX2)
HACL_INLINE unsigned lane_bits(I mask) { return static_cast<unsigned>(_mm256_movemask_ps((__m256)mask)); }
#else
HACL_INLINE unsigned lane_bits(I mask) {
  unsigned bits = 0;
  for (std::size_t i = 0; i < W; ++i) bits |= (static_cast<unsigned>(mask[i]) & 1u) << i;
  return bits;
}
#endif

#if defined(HACL_AVX512)
HACL_INLINE bool any_above(I a, I b) { return _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b) != 0; }
#else
HACL_INLINE bool any_above(I a, I b) { return lane_bits((I)(a > b)) != 0; }
#endif

// The first (side 0) or last halves of two vectors, one lane of each in turn.
template <std::size_t side, std::size_t... j>
HACL_INLINE F in_turn(F a, F b, std::index_sequence<j...>) {
  return HACL_PICKED(a, b, static_cast<int>(j / 2 + j % 2 * W + side * W / 2)...);
}

// Lane j of vector i to lane i of vector j: each step is a perfect shuffle of all lanes.
template <std::size_t steps = W, std::size_t... i>
HACL_INLINE void transpose(F (&v)[W], std::index_sequence<i...> all) {
  constexpr std::make_index_sequence<W> lanes;
  const F next[W] = {in_turn<i % 2>(v[i / 2], v[i / 2 + W / 2], lanes)...};
  ((v[i] = next[i]), ...);
  if constexpr (steps > 2) transpose<steps / 2>(v, all);
}
HACL_INLINE void transpose(F (&v)[W]) { transpose<>(v, std::make_index_sequence<W>{}); }

// Whether there was a NaN among many vectors, two of which are looked at together.
#if defined(HACL_AVX512)
struct Unordered {
  __mmask16 found = 0;
  HACL_INLINE void look(F a, F b) { found = static_cast<__mmask16>(found | _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q)); }
  HACL_INLINE bool any() const { return found != 0; }
};
#else
struct Unordered {
  I found = {};
#if defined(HACL_AVX2)
  HACL_INLINE void look(F a, F b) { found |= (I)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q); }
#else
  HACL_INLINE void look(F a, F b) { found |= (I)(a != a) | (I)(b != b); }
#endif
  HACL_INLINE bool any() const { return lane_bits(found) != 0; }
};
#endif

}  // namespace
