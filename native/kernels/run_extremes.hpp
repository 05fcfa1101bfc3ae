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

// Lanes in which what is here takes the place of the best: not worse, or the first NaN and those after it.
template <class Worse>
HACL_INLINE I takes_over(F here, F best) { return ~(I)Worse::run(here, best) & ((I)(best == best) | (I)(here != here)); }

template <class T>
struct Best {
  float value;
  T kept;
  std::int64_t place = 0;
};

template <class T, class Worse>
HACL_INLINE void run_some(const T* x, const float* wide, std::size_t n, std::int64_t first, Best<T>* best, T* to, std::int64_t* places) {
  for (std::size_t i = 0; i < n; ++i) {
    const float here = wide[i];
    if (__builtin_expect(!Worse::run(here, best->value), 0) && (best->value == best->value || here != here)) {
      *best = {here, x[i], first + static_cast<std::int64_t>(i)};
    }
    to[i] = best->kept;
    places[i] = best->place;
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

// Places of a vector: `before`, or where lane is not negative first + lane.
HACL_INLINE void store_places_from(std::int64_t* out, I lane, std::int64_t before, std::int64_t first) {
  typedef std::int32_t Few __attribute__((vector_size(W * 2)));
  Few part[2];
  __builtin_memcpy(part, &lane, sizeof part);
  for (std::size_t v = 0; v < 2; ++v) {
    const L wide = __builtin_convertvector(part[v], L);
    store_bytes(out + v * W / 2, wide < 0 ? L{} + before : wide + first);
  }
}

// Lanes moved up by `step`; those below it keep what they have.
template <int step>
HACL_INLINE I moved_up(I v) {
#if defined(HACL_AVX512)
  const I all = (I)_mm512_alignr_epi32((__m512i)v, (__m512i)v, static_cast<int>(W) - step);
#elif defined(HACL_AVX2)
  const I all = (I)_mm256_permutevar8x32_epi32((__m256i)v, (__m256i)(lane_numbers() - step));
#else
  I all = v;
  for (int i = step; i < static_cast<int>(W); ++i) all[i] = v[i - step];
#endif
  return lane_numbers() >= step ? all : v;
}

// One step towards the extreme so far of each lane, and the lane of its last occurrence.
template <class Worse, int step>
HACL_INLINE void run_lanes(F* v, I* lane) {
  if constexpr (step < static_cast<int>(W)) {
    const F earlier = (F)moved_up<step>((I)*v);
    const I lost = (I)Worse::run(*v, earlier);
    *v = lost ? earlier : *v;
    *lane = lost ? moved_up<step>(*lane) : *lane;
    run_lanes<Worse, step * 2>(v, lane);
  }
}

// A vector at a time, unless there is a NaN; in a long row, most have nothing that takes over.
template <class T, class Worse>
void run_row(const void* x, void* values, std::int64_t* places, std::size_t n) {
  auto from = static_cast<const T*>(x);
  auto to = static_cast<T*>(values);
  float room[W];
  Best<T> best{load_lanes(from, n < W ? n : W)[0], from[0]};
  for (std::size_t i = 0; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    const std::int64_t first = static_cast<std::int64_t>(i);
    const F here = load_lanes(from + i, k), before = repeated(best.value);
    if (k < W || lane_bits((I)(here != here) | (I)(before != before)) != 0) {
      Lanes<float>::store(room, here);
      run_some<T, Worse>(from + i, room, k, first, &best, to + i, places + i);
      continue;
    }
    F now = before;
    I lane = I{} - 1;
    if (lane_bits((I)Worse::run(here, before)) != (1u << W) - 1) {
      now = here;
      lane = lane_numbers();
      run_lanes<Worse, 1>(&now, &lane);
      const I lost = (I)Worse::run(now, before);
      now = lost ? before : now;
      lane = lost ? I{} - 1 : lane;
    }
    Lanes<T>::store(to + i, now);
    store_places_from(places + i, lane, best.place, first);
    const std::int32_t last = lane[W - 1];
    if (last >= 0) best = {now[W - 1], from[first + last], first + last};
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
      const I better = takes_over<Worse>(here, before);
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
