// Convolutions of one SIMD level: lines of the image widened into panels, register blocks of products, sums rounded into the output.
// Sums of one output are added in the same order whatever the block, so that they do not depend on how the work is cut.
#pragma once

#include <utility>

#include "kernels/conversions.hpp"
#include "kernels/rows.hpp"
#include "kernels/table.hpp"

namespace {

#if defined(HACL_AVX512) || defined(HACL_NEON)
constexpr std::size_t kBlockRows = 12;  // 24 sums in 32 registers
#else
constexpr std::size_t kBlockRows = 6;  // 12 sums in 16
#endif
constexpr std::size_t kBlockVectors = 2;
constexpr std::size_t kPanel = kBlockVectors * W;
static_assert(kPanel <= hacl::kWidestPanel, "panels of the driver are wide enough");

template <class T>
HACL_INLINE F load_apart(const T* p, std::size_t k, std::size_t stride) {
  T part[W] = {};
  for (std::size_t i = 0; i < k; ++i) part[i] = p[i * stride];
  return Lanes<T>::load(part);
}

// Elements 0, 2, 4, ... of two vectors, the second of which begins at element W - 1.
#if defined(HACL_AVX512)
HACL_INLINE F even(F low, F high) {
  const __m512i which = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
  return (F)_mm512_permutex2var_ps((__m512)low, which, (__m512)high);
}
#elif defined(HACL_AVX2)
HACL_INLINE F even(F low, F high) {
  const __m256d mixed = _mm256_castps_pd(_mm256_shuffle_ps((__m256)low, (__m256)high, 0xd8));
  return (F)_mm256_castpd_ps(_mm256_permute4x64_pd(mixed, 0xd8));
}
#elif defined(HACL_NEON)
HACL_INLINE F even(F low, F high) {
  const float32x4_t a = (float32x4_t)low, b = (float32x4_t)high;
  return (F)vcombine_f32(vget_low_f32(vuzp1q_f32(a, a)), vget_low_f32(vuzp2q_f32(b, b)));
}
#else
HACL_INLINE F even(F low, F high) { return F{low[0], low[2], high[1], high[3]}; }
#endif

template <class T>
HACL_INLINE F load_even(const T* p) {
  return even(Lanes<T>::load(p), Lanes<T>::load(p + W - 1));
}

template <class T>
HACL_INLINE F load_even(const T* p, std::size_t k) {  // 0 < k < W of them
  const std::size_t n = 2 * k - 1;
  return n <= W ? even(load_some(p, n), F{}) : even(Lanes<T>::load(p), load_some(p + W - 1, n - W + 1));
}

// A run of n elements by load(its place), a vector at a time; the last vector of a long run begins where it must to end there.
template <class Load, class Tail>
HACL_INLINE void fill_run(float* out, std::size_t n, Load load, Tail tail) {
  std::size_t i = 0;
  for (; i + W <= n; i += W) Lanes<float>::store(out + i, load(i));
  if (i == n) return;
  if (n >= W) return Lanes<float>::store(out + n - W, load(n - W));
  store_some(out, n, tail(n));
}

template <class T>
HACL_INLINE void fill_piece(const T* x, float* out, std::size_t n, std::size_t stride) {
  if (stride == 1) {
    fill_run(out, n, [=](std::size_t i) HACL_LAMBDA { return Lanes<T>::load(x + i); },
             [=](std::size_t k) HACL_LAMBDA { return load_some(x, k); });
  } else if (stride == 2) {
    fill_run(out, n, [=](std::size_t i) HACL_LAMBDA { return load_even(x + 2 * i); },
             [=](std::size_t k) HACL_LAMBDA { return load_even(x, k); });
  } else {
    fill_run(out, n, [=](std::size_t i) HACL_LAMBDA { return load_apart(x + stride * i, W, stride); },
             [=](std::size_t k) HACL_LAMBDA { return load_apart(x, k, stride); });
  }
}

template <class T>
void conv_fill(const hacl::Fill& fill) {
  const T* x = static_cast<const T*>(fill.x);
  float* out = fill.out;
  for (std::size_t plane = 0; plane < fill.planes; ++plane, x += fill.plane_from, out += fill.plane_to) {
    for (const hacl::Piece* p = fill.pieces; p != fill.pieces + fill.count; ++p) {
      if (p->from != hacl::kNothing) fill_piece(x + p->from, out + p->to, p->n, fill.stride);
      else for (std::size_t i = 0; i < p->n; ++i) out[p->to + static_cast<std::ptrdiff_t>(i)] = 0;
    }
  }
}

// Sums of rows x vectors outputs; rows of weights lie so many floats apart; line(i) is the i-th line of what the weights multiply.
template <std::size_t rows, std::size_t vectors, class Line, std::size_t... each>
HACL_INLINE void block(const float* weights, std::size_t apart, std::size_t k, float* c, std::size_t pitch, bool add, Line line,
                       std::index_sequence<each...>) {
  F sum[rows * vectors] = {};
  for (std::size_t i = 0; i < k; ++i) {
    const float* x = line(i);
    F lane[vectors];
    for (std::size_t v = 0; v < vectors; ++v) lane[v] = Lanes<float>::load(x + v * W);
    ((sum[each] = multiply_add(repeated(weights[each / vectors * apart + i]), lane[each % vectors], sum[each])), ...);
  }
  auto put = [=](float* to, F value) HACL_LAMBDA { Lanes<float>::store(to, add ? Lanes<float>::load(to) + value : value); };
  ((put(c + each / vectors * pitch + each % vectors * W, sum[each])), ...);
}

template <std::size_t rows, std::size_t vectors, class Line>
HACL_INLINE void block(const float* weights, std::size_t apart, std::size_t k, float* c, std::size_t pitch, bool add, Line line) {
  block<rows, vectors>(weights, apart, k, c, pitch, add, line, std::make_index_sequence<rows * vectors>{});
}

template <std::size_t rows>
void multiply_rows(const float* weights, std::size_t apart, const float* panels, std::size_t k, std::size_t places, float* c,
                   std::size_t pitch, bool add) {
  for (std::size_t at = 0; at < places; at += kPanel, panels += hacl::kDepth * kPanel) {
    auto line = [=](std::size_t i) HACL_LAMBDA { return panels + i * kPanel; };
    if (places - at > W) block<rows, kBlockVectors>(weights, apart, k, c + at, pitch, add, line);
    else block<rows, 1>(weights, apart, k, c + at, pitch, add, line);
  }
}

template <std::size_t... less>
HACL_INLINE void multiply_any(const float* weights, std::size_t apart, const float* panels, std::size_t k, std::size_t rows,
                              std::size_t places, float* c, std::size_t pitch, bool add, std::index_sequence<less...>) {
  ((rows == less + 1 ? multiply_rows<less + 1>(weights, apart, panels, k, places, c, pitch, add) : void()), ...);
}

void conv_multiply(const float* weights, std::size_t apart, const float* panels, std::size_t k, std::size_t rows, std::size_t places,
                   float* c, std::size_t pitch, bool add) {
  multiply_any(weights, apart, panels, k, rows, places, c, pitch, add, std::make_index_sequence<kBlockRows>{});
}

// Sums of whole blocks: more than there are places, from what lies behind the lines.
template <std::size_t rows>
void few_rows(const float* weights, const float* x, const std::int32_t* lines, std::size_t k, std::size_t places, float* c,
              std::size_t pitch) {
  constexpr std::size_t vectors = kBlockRows / rows < 4 ? kBlockRows / rows : 4;
  static_assert(vectors * W <= hacl::kFewSlack, "the memory goes on far enough");
  for (std::size_t at = 0; at < places; at += vectors * W) {
    auto line = [=](std::size_t i) HACL_LAMBDA { return x + lines[i] + at; };
    block<rows, vectors>(weights, hacl::kDepthPitch, k, c + at, pitch, false, line);
  }
}

void conv_few(const float* weights, const float* x, const std::int32_t* lines, std::size_t k, std::size_t rows, std::size_t places,
              float* c, std::size_t pitch) {
  constexpr decltype(&few_rows<1>) by_rows[] = {few_rows<1>, few_rows<2>, few_rows<3>, few_rows<4>};
  static_assert(sizeof by_rows / sizeof by_rows[0] == hacl::kFewRows, "one for each number of rows");
  by_rows[rows - 1](weights, x, lines, k, places, c, pitch);
}

double conv_dot(const float* x1, const float* x2, std::size_t n) {
  return blocked_sum(n, [=](std::size_t i, std::size_t k) HACL_LAMBDA { return load_float(x1 + i, k) * load_float(x2 + i, k); });
}

template <class T>
HACL_INLINE void finish_line(const float* c, F more, std::size_t n, T* to) {
  std::size_t i = 0;
  for (; i + W <= n; i += W) Lanes<T>::store(to + i, Lanes<float>::load(c + i) + more);
  if (i == n) return;
  if (n >= W) return Lanes<T>::store(to + n - W, Lanes<float>::load(c + n - W) + more);
  store_some(to, n, Lanes<float>::load(c) + more);  // sums have room for a whole vector
}

template <class T>
void conv_finish(const hacl::Finish& finish) {
  const float* c = finish.sums;
  T* out = static_cast<T*>(finish.out);
  for (std::size_t r = 0; r < finish.rows; ++r, c += finish.pitch, out += finish.out_pitch) {
    const F more = repeated(finish.bias != nullptr ? finish.bias[r] : -0.0f);
    for (std::size_t l = 0; l < finish.lines; ++l) finish_line(c + l * finish.line_pitch, more, finish.n, out + l * finish.out_line_pitch);
  }
}

}  // namespace
