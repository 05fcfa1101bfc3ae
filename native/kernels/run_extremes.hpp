// The extreme so far and the place of its last occurrence, along a row or row by row, of one SIMD level. From a NaN on: NaN.
#pragma once

#include "kernels/reduce.hpp"

namespace {

// Whether what is here is no better than the best; false where one of them is a NaN.
struct Smaller {
  template <class V> static HACL_INLINE auto run(V here, V best) { return here < best; }
};
struct Larger {
  template <class V> static HACL_INLINE auto run(V here, V best) { return here > best; }
};

template <class T, class Worse>
void run_row(const void* x, void* values, std::int64_t* places, std::size_t n) {
  auto from = static_cast<const T*>(x);
  auto to = static_cast<T*>(values);
  float room[kBlock], best = load_lanes(from, n < W ? n : W)[0];
  T kept = from[0];
  std::int64_t place = 0;
  for (std::size_t start = 0; start < n; start += kBlock) {
    const std::size_t k = n - start < kBlock ? n - start : kBlock;
    const float* few = as_floats(from + start, k, room);
    for (std::size_t i = 0; i < k; ++i) {
      const float here = few[i];
      if (__builtin_expect(!Worse::run(here, best), 0) && (best == best || here != here)) {
        best = here;
        kept = from[start + i];
        place = static_cast<std::int64_t>(start + i);
      }
      to[start + i] = kept;
      places[start + i] = place;
    }
  }
}

HACL_INLINE void store_places(std::int64_t* out, std::size_t k, I place) {
  if (k == W) {
    typedef std::int32_t Few __attribute__((vector_size(W * 2)));
    Few low, high;
    __builtin_memcpy(&low, &place, sizeof low);
    __builtin_memcpy(&high, reinterpret_cast<const char*>(&place) + sizeof low, sizeof high);
    store_bytes(out, __builtin_convertvector(low, L));
    store_bytes(out + W / 2, __builtin_convertvector(high, L));
  } else {
    for (std::size_t i = 0; i < k; ++i) out[i] = place[i];
  }
}

template <class T, class Worse>
void run_columns(const void* x, void* values, std::int64_t* places, std::size_t rows, std::size_t stride, std::size_t n) {
  float best[kTile + W];
  std::int32_t found[kTile + W] = {};
  for (std::size_t r = 0; r < rows; ++r) {
    auto from = static_cast<const T*>(x) + r * stride;
    auto to = static_cast<T*>(values) + r * stride;
    for (std::size_t i = 0; i < n; i += W) {
      const std::size_t k = n - i < W ? n - i : W;
      const F here = load_lanes(from + i, k), before = r == 0 ? here : Lanes<float>::load(best + i);
      const I better = ~(I)Worse::run(here, before) & ((I)(before == before) | (I)(here != here));
      const F now = better ? here : before;
      const I place = better ? I{} + static_cast<std::int32_t>(r) : load_bytes<I>(found + i);
      Lanes<float>::store(best + i, now);
      store_bytes(found + i, place);
      if (k == W) Lanes<T>::store(to + i, now);
      else store_some(to + i, k, now);
      store_places(places + r * stride + i, k, place);
    }
  }
}

}  // namespace
