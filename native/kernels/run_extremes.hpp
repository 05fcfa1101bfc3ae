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

HACL_INLINE void store_places(std::int64_t* out, I place) {
  store_bytes(out, low_longs(place));
  store_bytes(out + W / 2, high_longs(place));
}
HACL_INLINE void store_places(std::int64_t* out, std::size_t k, I place) {
  if (k == W) return store_places(out, place);
#if defined(HACL_AVX512)
  const unsigned there = (1u << k) - 1;
  _mm512_mask_storeu_epi64(out, static_cast<__mmask8>(there), (__m512i)low_longs(place));
  _mm512_mask_storeu_epi64(out + W / 2, static_cast<__mmask8>(there >> W / 2), (__m512i)high_longs(place));
#else
  for (std::size_t i = 0; i < k; ++i) out[i] = place[i];
#endif
}

// Places of a vector: `before`, or where lane is not negative first + lane.
HACL_INLINE void store_places_from(std::int64_t* out, I lane, std::int64_t before, std::int64_t first) {
  const L low = low_longs(lane), high = high_longs(lane);
  store_bytes(out, low < 0 ? L{} + before : low + first);
  store_bytes(out + W / 2, high < 0 ? L{} + before : high + first);
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

// From element i on, a vector at a time, unless there is a NaN; in a long row, most have nothing that takes over.
template <class T, class Worse>
HACL_INLINE void run_from(const T* from, T* to, std::int64_t* places, std::size_t i, std::size_t n, Best<T> best) {
  float room[W];
  for (; i < n; i += W) {
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

// A half type in the upper half of an integer, the lower one 0: in order of value, -0 as +0; the extreme is the largest.
template <class Worse, class V>
HACL_INLINE V ranked(V bits) {
  const V sign = bits >> 31, rank = ((bits & 0x7fffffff) ^ sign) - sign;
  return std::is_same_v<Worse, Smaller> ? rank : -rank;
}
template <class T>
constexpr std::int32_t kInfinite = std::is_same_v<T, Half> ? 0x7c000000 : 0x7f800000;

HACL_INLINE I larger(I a, I b) { return a > b ? a : b; }
template <int step>
HACL_INLINE I largest_so_far(I v) {
  if constexpr (step < static_cast<int>(W)) return largest_so_far<step * 2>(larger(v, moved_up<step>(v)));
  else return v;
}

HACL_INLINE I last_of(I v) { return (I)permuted((F)v, I{} + static_cast<std::int32_t>(W - 1)); }

constexpr std::size_t kRestless = 64;  // elements of a row among which most vectors have one that takes over

// A row of halves so far. Its rank, and in the lowest bit its sign; in between is room for one more than the lane, of which the last wins
// where ranks are the same, and 0 for what came before.
template <class T, class Worse>
struct RankedRow {
  I best, place = {};

  static HACL_INLINE I joined(I bits) { return ranked<Worse>(bits) | ((I)((U)bits >> 31)); }
  static HACL_INLINE U half_of(I rank) {
    const I size = rank >> 16;
    return (U)(size < 0 ? -size : size) | ((U)rank & 1u) << 15;
  }

  // k elements from x[first] on; false, and nothing done, when one is a NaN.
  template <bool whole>
  HACL_INLINE bool run(const T* x, std::size_t first, std::size_t k, T* to, std::int64_t* places) {
    const I bits = (I)(load_half_bits(x + first, whole ? W : k) << 16), lanes = lane_numbers();
    if (any_above(bits & 0x7fffffff, I{} + kInfinite<T>)) return false;
    I now = joined(bits) | (lanes + 1) * 2;
    if (whole && first >= kRestless && !any_above(now, best)) {
      store_half_bits(to + first, W, half_of(best));
      store_places(places + first, place);
      return true;
    }
    now = larger(largest_so_far<1>(now), best);
    const I lane = ((now & 0xffff) >> 1) - 1;
    place = lane < 0 ? place : lane + static_cast<std::int32_t>(first);
    store_half_bits(to + first, whole ? W : k, half_of(now));
    if constexpr (whole) {
      store_places(places + first, place);
      best = last_of(now) & ~0xfffe;
      place = last_of(place);
    } else {
      store_places(places + first, k, place);
    }
    return true;
  }
};

template <class T, class Worse>
HACL_INLINE void run_half_row(const T* from, T* to, std::int64_t* places, std::size_t n) {
  using Row = RankedRow<T, Worse>;
  const I first = I{} + static_cast<std::int32_t>(std::uint32_t{from[0].bits} << 16);
  Row row{Row::joined(first)};
  std::size_t i = 0;
  bool ordered = n <= INT32_MAX && lane_bits((first & 0x7fffffff) > kInfinite<T>) == 0;
  while (ordered && i + W <= n) {
    ordered = row.template run<true>(from, i, W, to, places);
    i += ordered ? W : 0;
  }
  if (ordered && (i == n || row.template run<false>(from, i, n - i, to, places))) return;
  const T kept = i == 0 ? from[0] : T{static_cast<std::uint16_t>(Row::half_of(row.best)[0])};
  run_from<T, Worse>(from, to, places, i, n, {load_some(&kept, 1)[0], kept, row.place[0]});
}

template <class T, class Worse>
void run_row(const void* x, void* values, std::int64_t* places, std::size_t n) {
  auto from = static_cast<const T*>(x);
  auto to = static_cast<T*>(values);
  if constexpr (is_half<T>) run_half_row<T, Worse>(from, to, places, n);
  else run_from<T, Worse>(from, to, places, 0, n, {from[0], from[0]});
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
