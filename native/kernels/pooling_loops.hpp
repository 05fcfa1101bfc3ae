// Pooling of one SIMD level: windows along a line of the image, read where it lies, and lines of them put together. Padding is written
// down only around the windows at the ends of a line.
#pragma once

#include "kernels/convolve_loops.hpp"

namespace {

constexpr std::ptrdiff_t kFewTaps = 16;  // of windows that are worth no copy

// Whether a NaN was among what it was shown, or infinities of both signs: their sum tells, at a third of the cost of comparisons.
struct Nans {
  F sum[2] = {};
  HACL_INLINE void see(F v) { sum[0] += v; }
  HACL_INLINE void see(F a, F b) {
    sum[0] += a;
    sum[1] += b;
  }
  HACL_INLINE bool any() const {
    const F all = sum[0] + sum[1];
#if defined(HACL_AVX512)
    return _mm512_cmp_ps_mask((__m512)all, (__m512)all, _CMP_UNORD_Q) != 0;
#elif defined(HACL_AVX2)
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)all, (__m256)all, _CMP_UNORD_Q)) != 0;
#else
    const F across = all - all;  // NaN, too, of an infinity, which costs no more than time
    return across[0] + across[1] + across[2] + across[3] != 0;
#endif
  }
};

// How elements are put together: the largest, of equal ones the first, of which a NaN makes nothing that counts; ...
struct LargestNumber : MaximumOrdered {
  Nans nans;
  static constexpr float nothing = -__builtin_inff();
  HACL_INLINE void see(F v) { nans.see(v); }
  HACL_INLINE void see(F a, F b) { nans.see(a, b); }
  HACL_INLINE bool odd() const { return nans.any(); }
};
// ... a NaN where there is one; ...
struct Largest : Maximum {
  static constexpr float nothing = LargestNumber::nothing;
  HACL_INLINE void see(F) {}
  HACL_INLINE void see(F, F) {}
  HACL_INLINE bool odd() const { return false; }
};
// ... the sum.
struct Total : Add {
  static constexpr float nothing = 0.0f;
  HACL_INLINE void see(F) {}
  HACL_INLINE void see(F, F) {}
  HACL_INLINE bool odd() const { return false; }
};

// Elements 0, 2, 4, ... of two vectors, and elements 1, 3, 5, ...
struct Halves {
  F even, odd;
};
#if defined(HACL_AVX512)
HACL_INLINE Halves halves(F a, F b) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
  return {(F)_mm512_permutex2var_ps((__m512)a, even, (__m512)b), (F)_mm512_permutex2var_ps((__m512)a, odd, (__m512)b)};
}
#elif defined(HACL_AVX2)
HACL_INLINE Halves halves(F a, F b) {
  const __m256d even = _mm256_castps_pd(_mm256_shuffle_ps((__m256)a, (__m256)b, 0x88));
  const __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps((__m256)a, (__m256)b, 0xdd));
  return {(F)_mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xd8)), (F)_mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xd8))};
}
#elif defined(HACL_NEON)
HACL_INLINE Halves halves(F a, F b) {
  return {(F)vuzp1q_f32((float32x4_t)a, (float32x4_t)b), (F)vuzp2q_f32((float32x4_t)a, (float32x4_t)b)};
}
#else
HACL_INLINE Halves halves(F a, F b) { return {F{a[0], a[2], b[0], b[2]}, F{a[1], a[3], b[1], b[3]}}; }
#endif

// Elements 1, 2, 3, ... of a vector and then the first of another.
#if defined(HACL_AVX512)
HACL_INLINE F shifted(F v, F next) { return (F)_mm512_alignr_epi32((__m512i)next, (__m512i)v, 1); }
#elif defined(HACL_AVX2)
HACL_INLINE F shifted(F v, F next) {
  const __m256 turned = _mm256_permutevar8x32_ps((__m256)v, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0));
  return (F)_mm256_blend_ps(turned, _mm256_permutevar8x32_ps((__m256)next, _mm256_setzero_si256()), 0x80);
}
#elif defined(HACL_NEON)
HACL_INLINE F shifted(F v, F next) { return (F)vextq_f32((float32x4_t)v, (float32x4_t)next, 1); }
#else
HACL_INLINE F shifted(F v, F next) { return F{v[1], v[2], v[3], next[0]}; }
#endif

// A vector of windows that begin `stride` elements apart, each of `taps` elements so far apart from p[0] on.
template <class Op, class Load>
HACL_INLINE F folded(Op& op, std::size_t taps, Load load) {
  F value = load(0);
  op.see(value);
  for (std::size_t tap = 1; tap < taps; ++tap) {
    const F next = load(tap);
    op.see(next);
    value = Op::run(value, next);
  }
  return value;
}

struct Adjacent {
  template <class T> static HACL_INLINE F load(const T* p, std::size_t) { return Lanes<T>::load(p); }
  template <class T> static HACL_INLINE F some(const T* p, std::size_t, std::size_t k) { return load_some(p, k); }
};

struct EverySecond {
  template <class T> static HACL_INLINE F load(const T* p, std::size_t) { return load_even(p); }
  template <class T> static HACL_INLINE F some(const T* p, std::size_t, std::size_t k) { return load_even(p, k); }
};

struct Apart {
  template <class T> static HACL_INLINE F load(const T* p, std::size_t stride) { return load_apart(p, W, stride); }
  template <class T> static HACL_INLINE F some(const T* p, std::size_t stride, std::size_t k) { return load_apart(p, k, stride); }
};

// Two windows' beginnings lie two elements apart, and neighbours of a window next to each other: two taps are read at once.
template <class Op, class T>
HACL_INLINE F folded_pairs(Op& op, const T* p, std::size_t taps) {
  F value{}, even{};
  std::size_t tap = 0;
  for (; tap + 1 < taps; tap += 2) {
    F a = Lanes<T>::load(p + tap), b = Lanes<T>::load(p + tap + W);
#if defined(HACL_AVX512)
    asm("" : "+v"(a), "+v"(b));  // else they are read from memory for every use
#endif
    op.see(a, b);
    const Halves two = halves(a, b);
    value = Op::run(tap == 0 ? two.even : Op::run(value, two.even), two.odd);
    even = two.even;
  }
  if (tap == taps) return value;
  const F last = shifted(even, load_all(p + tap + 2 * (W - 1)));
  op.see(last);
  return Op::run(value, last);
}

// `most` taps, known when it is compiled, or as many as there are. True: some element is odd. A function of its own: one with all of
// these has too few registers.
template <class Op, std::size_t most, bool pairs, class Reader, class T>
__attribute__((noinline)) bool window_run(const T* x, const hacl::LineWindows& w, std::size_t n, float* out) {
  Op op;
  const auto dilation = static_cast<std::size_t>(w.dilation), stride = static_cast<std::size_t>(w.stride);
  const std::size_t taps = most > 0 ? most : w.taps;
  auto some = [&](std::size_t k) HACL_LAMBDA {
    return folded(op, taps, [=](std::size_t tap) HACL_LAMBDA { return Reader::some(x + tap * dilation, stride, k); });
  };
  auto whole = [&](std::size_t i) HACL_LAMBDA {
    if constexpr (pairs) return folded_pairs(op, x + 2 * i, taps);
    return folded(op, taps, [=](std::size_t tap) HACL_LAMBDA { return Reader::load(x + i * stride + tap * dilation, stride); });
  };
  fill_run(out, n, whole, some);
  return op.odd();
}

template <class Op, bool pairs, class Reader, class T>
HACL_INLINE bool taps_run(const T* x, const hacl::LineWindows& w, std::size_t n, float* out) {
  if (w.taps == 2) return window_run<Op, 2, pairs, Reader>(x, w, n, out);
  if (w.taps == 3) return window_run<Op, 3, pairs, Reader>(x, w, n, out);
  return window_run<Op, 0, pairs, Reader>(x, w, n, out);
}

template <class Op, class T>
HACL_INLINE bool line_run(const T* x, const hacl::LineWindows& w, std::ptrdiff_t n, float* out) {
  const auto count = static_cast<std::size_t>(n);
  if (w.stride == 1) return taps_run<Op, false, Adjacent>(x, w, count, out);
  if (w.stride == 2 && w.dilation == 1 && w.taps > 1) return taps_run<Op, true, EverySecond>(x, w, count, out);
  if (w.stride == 2) return window_run<Op, 0, false, EverySecond>(x, w, count, out);
  return window_run<Op, 0, false, Apart>(x, w, count, out);
}

// Windows some of which reach beyond the line: from a copy of their elements, ...
template <class Op, class T>
__attribute__((noinline)) bool padded_run(const T* x, const hacl::LineWindows& w, std::ptrdiff_t first, std::ptrdiff_t n, float* out) {
  const std::ptrdiff_t at = w.start + first * w.stride;
  const std::ptrdiff_t length = (n - 1) * w.stride + static_cast<std::ptrdiff_t>(w.taps - 1) * w.dilation + 1;
  const std::ptrdiff_t low = at < 0 ? (-at < length ? -at : length) : 0;
  const std::ptrdiff_t end = w.width - at < length ? w.width - at : length, high = end > low ? end : low;
  for (std::ptrdiff_t i = 0; i < low; ++i) w.padded[i] = Op::nothing;
  if (high > low) convert_lanes<T, float, false>(x + at + low, w.padded + low, static_cast<std::size_t>(high - low));
  for (std::ptrdiff_t i = high; i < length; ++i) w.padded[i] = Op::nothing;
  return line_run<Op>(static_cast<const float*>(w.padded), w, n, out + first);
}

// ... or one by one, in vectors of the same element: comparisons of scalars are branches, which are guessed wrong.
template <class Op, class T>
HACL_INLINE bool cut_windows(const T* x, const hacl::LineWindows& w, std::ptrdiff_t first, std::ptrdiff_t end, float* out) {
  Op op;
  for (std::ptrdiff_t place = first; place < end; ++place) {
    F value = repeated(Op::nothing);
    std::ptrdiff_t at = w.start + place * w.stride;
    for (std::size_t tap = 0; tap < w.taps; ++tap, at += w.dilation) {
      if (at < 0 || at >= w.width) continue;
      const F next = load_all(x + at);
      op.see(next);
      value = Op::run(value, next);
    }
    out[place] = value[0];
  }
  return op.odd();
}

template <class Op, class T>
HACL_INLINE bool whole_line(const T* x, const hacl::LineWindows& w, float* out) {
  const std::ptrdiff_t inside = w.high - w.low, cut = w.n - inside;
  const bool few = cut * static_cast<std::ptrdiff_t>(w.taps) <= kFewTaps;
  if (!few && (inside < static_cast<std::ptrdiff_t>(W) || cut > inside)) return padded_run<Op>(x, w, 0, w.n, out);
  bool odd = inside > 0 && line_run<Op>(x + w.start + w.low * w.stride, w, inside, out + w.low);
  if (w.low > 0) odd |= few ? cut_windows<Op>(x, w, 0, w.low, out) : padded_run<Op>(x, w, 0, w.low, out);
  if (w.high < w.n) odd |= few ? cut_windows<Op>(x, w, w.high, w.n, out) : padded_run<Op>(x, w, w.high, w.n - w.high, out);
  return odd;
}

template <class T>
bool line_largest(const void* x, const hacl::LineWindows& w, float* out) {
  const T* line = static_cast<const T*>(x);
  if (!whole_line<LargestNumber>(line, w, out)) return false;
  whole_line<Largest>(line, w, out);
  return true;
}

template <class T>
bool line_sum(const void* x, const hacl::LineWindows& w, float* out) {
  return whole_line<Total>(static_cast<const T*>(x), w, out);
}

template <class Op, std::size_t most>
HACL_INLINE F put_together(const float* x, const std::int32_t* lines, std::size_t k) {
  F value = Lanes<float>::load(x + lines[0]);
  for (std::size_t line = 1; line < (most > 0 ? most : k); ++line) value = Op::run(value, Lanes<float>::load(x + lines[line]));
  return value;
}

template <class Op, std::size_t most, class T>
void largest_rows(const hacl::PooledRows& rows) {
  const std::size_t n = rows.n, k = rows.k;
  const std::int32_t* lines = rows.lines;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const float* x = rows.x + row * rows.pitch;
    T* out = static_cast<T*>(rows.out) + row * rows.out_pitch;
    std::size_t i = 0;
    for (; i + W <= n; i += W) Lanes<T>::store(out + i, put_together<Op, most>(x + i, lines, k));
    if (i < n && n >= W) Lanes<T>::store(out + n - W, put_together<Op, most>(x + n - W, lines, k));
    else if (i < n) store_some(out, n, put_together<Op, most>(x, lines, k));  // lines have room for a whole vector
  }
}

template <class T>
bool rows_largest(const hacl::PooledRows& rows) {
  if (rows.nan) largest_rows<Largest, 0, T>(rows);
  else if (rows.k == 2) largest_rows<LargestNumber, 2, T>(rows);
  else if (rows.k == 3) largest_rows<LargestNumber, 3, T>(rows);
  else largest_rows<LargestNumber, 0, T>(rows);
  return true;
}

template <class T>
bool rows_mean(const hacl::PooledRows& rows) {
  Nans odd;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const float *x = rows.x + row * rows.pitch, *divisors = rows.divisors + row * rows.out_pitch;
    T* out = static_cast<T*>(rows.out) + row * rows.out_pitch;
    for (std::size_t i = 0; i < rows.n; i += W) {
      const std::size_t k = rows.n - i < W ? rows.n - i : W;
      F sum = load_float(x + rows.lines[0] + i, k);
      for (std::size_t line = 1; line < rows.k; ++line) sum += load_float(x + rows.lines[line] + i, k);
      odd.see(sum - sum);
      const F mean = sum / load_float(divisors + i, k);
      if (k == W) Lanes<T>::store(out + i, mean);
      else store_some(out + i, k, mean);
    }
  }
  return !odd.any();
}

}  // namespace
