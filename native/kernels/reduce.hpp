// Reductions over the rows of a tile of columns, and over one row, of one SIMD level. Results are doubles, rounded by the caller.
// The order of all additions and products is the same at every level, so that results have the same bits everywhere.
#pragma once

#include "kernels/across.hpp"
#include "kernels/conversions.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/rows.hpp"
#include "kernels/table.hpp"

namespace {

constexpr std::size_t kRun = 64;  // rows that are added in float32 before the sum goes on in double
constexpr std::size_t kTile = hacl::kColumnTile;
constexpr std::size_t kProducts = 32;  // products of a row that run side by side

template <class T>
HACL_INLINE F load_lanes(const T* p, std::size_t k) { return k == W ? Lanes<T>::load(p) : load_some(p, k); }

// acc = Op(acc, row) over n columns for `rows` (1 or 4) rows, NaNs looked out for; acc has room for a whole last vector.
template <class T, class Op, int rows>
HACL_INLINE void fold_rows(const T* x, std::size_t stride, float* acc, std::size_t n, Unordered* nan) {
  for (std::size_t i = 0; i < n; i += W) {
    F sum = Lanes<float>::load(acc + i), v[rows];
    for (std::size_t r = 0; r < rows; ++r) v[r] = load_lanes(x + r * stride + i, n - i < W ? n - i : W);
    for (int r = 0; nan != nullptr && r < rows; r += 2) nan->look(v[r], v[rows == 1 ? 0 : r + 1]);
    for (int r = 0; r < rows; ++r) sum = Op::run(sum, v[r]);
    Lanes<float>::store(acc + i, sum);
  }
}

// acc = the rows combined, at least one.
template <class T, class Op>
HACL_INLINE void fold_columns(const T* x, std::size_t rows, std::size_t stride, float* acc, std::size_t n, Unordered* nan = nullptr) {
  for (std::size_t i = 0; i < n; i += W) {
    const F v = load_lanes(x + i, n - i < W ? n - i : W);
    if (nan != nullptr) nan->look(v, v);
    Lanes<float>::store(acc + i, v);
  }
  std::size_t r = 1;
  for (; r + 4 <= rows; r += 4) fold_rows<T, Op, 4>(x + r * stride, stride, acc, n, nan);
  for (; r < rows; ++r) fold_rows<T, Op, 1>(x + r * stride, stride, acc, n, nan);
}

template <class T>
void column_sum(const void* x, std::size_t rows, std::size_t stride, std::size_t n, double* out) {
  auto from = static_cast<const T*>(x);
  float acc[kTile + W] = {};
  for (std::size_t j = 0; j < n; ++j) out[j] = 0;
  for (std::size_t start = 0; start < rows; start += kRun) {
    fold_columns<T, Add>(from + start * stride, rows - start < kRun ? rows - start : kRun, stride, acc, n);
    for (std::size_t j = 0; j < n; ++j) out[j] += static_cast<double>(acc[j]);
  }
}

template <class Op>
struct WithoutNan;
template <>
struct WithoutNan<Maximum> { using Ordered = MaximumOrdered; };
template <>
struct WithoutNan<Minimum> { using Ordered = MinimumOrdered; };

template <class T, class Op>
void column_extreme(const void* x, std::size_t rows, std::size_t stride, std::size_t n, double* out) {
  float acc[kTile + W] = {};
  Unordered nan;
  fold_columns<T, typename WithoutNan<Op>::Ordered>(static_cast<const T*>(x), rows, stride, acc, n, &nan);
  if (nan.any()) fold_columns<T, Op>(static_cast<const T*>(x), rows, stride, acc, n);
  for (std::size_t j = 0; j < n; ++j) out[j] = static_cast<double>(acc[j]);
}

HACL_INLINE void multiply_by(F v, D* low, D* high) {
  *low *= low_doubles(v);
  *high *= high_doubles(v);
}
// Half as many elements as lanes of floats, widened as they are loaded: no vector is cut in two.
template <class T>
HACL_INLINE FH load_part(const T* p) {
  if constexpr (std::is_same_v<T, float>) {
    return load_bytes<FH>(p);
#if defined(HACL_AVX512)
  } else if constexpr (std::is_same_v<T, Half>) {
    return (FH)_mm256_cvtph_ps(load_bytes<__m128i>(p));
  } else {
    return (FH)_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_bytes<__m128i>(p)), 16);
#else
  } else {
    FH part;
    const F v = load_some(p, W / 2);
    __builtin_memcpy(&part, &v, sizeof part);
    return part;
#endif
  }
}

// W elements, of which the first k are there.
template <class T>
HACL_INLINE void multiply_by(const T* x, std::size_t k, D* low, D* high) {
#if defined(HACL_AVX512)
  constexpr bool whole = true;
#else
  constexpr bool whole = std::is_same_v<T, float>;
#endif
  if (!whole || k < W) return multiply_by(load_lanes(x, k), low, high);
  *low *= to_doubles(load_part(x));
  *high *= to_doubles(load_part(x + W / 2));
}

// The same by the products of k pairs of halves, which float32 holds exactly.
HACL_INLINE void multiply_by_pairs(const Half* x, const Half* y, std::size_t k, D* low, D* high) {
#if defined(HACL_AVX512)
  if (k == W) {
    *low *= to_doubles(load_part(x) * load_part(y));
    *high *= to_doubles(load_part(x + W / 2) * load_part(y + W / 2));
    return;
  }
#endif
  multiply_by(load_lanes(x, k) * load_lanes(y, k), low, high);
}

// out *= each of `rows` (1 or 8) rows, halves in pairs, whose product float32 holds exactly; out has room for a whole last vector.
template <class T, int rows>
HACL_INLINE void multiply_rows(const T* x, std::size_t stride, double* out, std::size_t n) {
  constexpr int pairs = rows > 1 && std::is_same_v<T, Half> ? 2 : 1;
  for (std::size_t i = 0; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    D low = Lanes<double>::load(out + i), high = Lanes<double>::load(out + i + W / 2);
    for (int r = 0; r < rows; r += pairs) {
      const T* at = x + static_cast<std::size_t>(r) * stride + i;
      if constexpr (pairs == 2) multiply_by_pairs(at, at + stride, k, &low, &high);
      else multiply_by(at, k, &low, &high);
    }
    Lanes<double>::store(out + i, low);
    Lanes<double>::store(out + i + W / 2, high);
  }
}

template <class T>
void column_product(const void* x, std::size_t rows, std::size_t stride, std::size_t n, double* out) {
  auto from = static_cast<const T*>(x);
  double product[kTile + W];
  for (double& one : product) one = 1;
  std::size_t r = 0;
  for (; r + 8 <= rows; r += 8) multiply_rows<T, 8>(from + r * stride, stride, product, n);
  for (; r < rows; ++r) multiply_rows<T, 1>(from + r * stride, stride, product, n);
  __builtin_memcpy(out, product, n * sizeof(double));
}

template <class T>
double sum_of(const void* x, std::size_t n) {
  auto from = static_cast<const T*>(x);
  if (n >= kLanes) return blocked_sum(n, [=](std::size_t i, std::size_t k) HACL_LAMBDA { return load_lanes(from + i, k); });
  if (n <= W) return static_cast<double>(across<Add>(load_lanes(from, n)) + 0.0f);  // as with the empty lanes: -0 is +0
  Sum sum = {};
  for (std::size_t v = 0, i = 0; i < n; ++v, i += W) sum.lane[v] = load_lanes(from + i, n - i < W ? n - i : W);
  return sum.total();
}

// Exp where hardly anything is above 0, in half the time; its last bits differ between the levels, which no half shows.
struct ExpBelow {
  static HACL_INLINE F run(F x, double) { return lane_bits((I)(x > 0)) != 0 ? exponential(x) : exponential_below(x); }
};

// The sum of what Step makes of each x - centre; squares of halves by multiply-adds, likewise.
template <class T, class Step>
double centred_sum(const void* x, float centre, std::size_t n) {
  auto from = static_cast<const T*>(x);
  return blocked(n, [=](F* lane, std::size_t i, std::size_t k) HACL_LAMBDA {
    const F d = load_lanes(from + i, k) - centre;
    if constexpr (is_half<T> && std::is_same_v<Step, Square>) {
      const F there = first_lanes(d, k);
      *lane = multiply_add(there, there, *lane);
    } else {
      *lane += first_lanes(Step::run(d, 0), k);
    }
  });
}

// out = what Step makes of each x - centre, for one centre or, with `each`, one for each.
template <class T, class Step>
void centred_steps(const void* x, const float* centre, bool each, float* out, std::size_t n) {
  auto from = static_cast<const T*>(x);
  for (std::size_t i = 0; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    const F middle = each ? load_float(centre + i, k) : repeated(*centre);
    store_float(out + i, k, Step::run(load_lanes(from + i, k) - middle, 0));
  }
}

// A short row as floats: itself, or widened into `room`, which has room for whole vectors.
template <class T>
HACL_INLINE const float* as_floats(const T* x, std::size_t n, float* room) {
  if constexpr (std::is_same_v<T, float>) return x;
  for (std::size_t i = 0; i < n; i += W) Lanes<float>::store(room + i, load_lanes(x + i, n - i < W ? n - i : W));
  return room;
}

// The extreme of a row of W elements or more; a NaN, if there is one, when Op heeds it.
template <class T, class Op>
HACL_INLINE F extreme_lanes(const T* x, std::size_t n, Unordered* nan) {
  F best[4];
  for (std::size_t v = 0; v < 4; ++v) best[v] = Lanes<T>::load(x + (n < 4 * W ? 0 : v * W));
  nan->look(best[0], best[1]);
  nan->look(best[2], best[3]);
  std::size_t i = n < 4 * W ? W : 4 * W;
  for (; i + 4 * W <= n; i += 4 * W) {
    F v[4];
    for (std::size_t k = 0; k < 4; ++k) v[k] = Lanes<T>::load(x + i + k * W);
    nan->look(v[0], v[1]);
    nan->look(v[2], v[3]);
    for (std::size_t k = 0; k < 4; ++k) best[k] = Op::run(best[k], v[k]);
  }
  for (; i < n; i += W) {
    const F v = Lanes<T>::load(x + (i + W <= n ? i : n - W));  // the last ones again, with some that were seen
    nan->look(v, v);
    best[0] = Op::run(best[0], v);
  }
  return Op::run(Op::run(best[0], best[1]), Op::run(best[2], best[3]));
}

template <class T, class Op>
HACL_INLINE float extreme(const T* x, std::size_t n) {  // of at least one element
  using Ordered = typename WithoutNan<Op>::Ordered;
  Unordered nan;
  if (n < W) {
    const F few = load_some(x, n), all = lane_numbers() < static_cast<std::int32_t>(n) ? few : splat(few[0]);
    nan.look(all, all);
    return nan.any() ? across<Op>(all) : across<Ordered>(all);
  }
  const F best = extreme_lanes<T, Ordered>(x, n, &nan);
  return nan.any() ? across<Op>(extreme_lanes<T, Op>(x, n, &nan)) : across<Ordered>(best);
}

template <class T, class Op>
double extreme_of(const void* x, std::size_t n) {
  return static_cast<double>(extreme<T, Op>(static_cast<const T*>(x), n));
}

constexpr std::size_t kFew = 4;  // products of a short row that run side by side
typedef float FewFloats __attribute__((vector_size(kFew * 4)));
typedef double FewDoubles __attribute__((vector_size(kFew * 8)));

// kProducts elements; of halves as pairs, whose float32 product is exact, over half as many lanes.
template <class T>
HACL_INLINE void multiply_lanes(const T* x, D* lanes) {
  constexpr bool pairs = std::is_same_v<T, Half>;
  for (std::size_t j = 0; j < (pairs ? kProducts / 2 : kProducts); j += W, lanes += 2) {
    if constexpr (pairs) multiply_by_pairs(x + j, x + kProducts / 2 + j, W, lanes, lanes + 1);
    else multiply_by(x + j, W, lanes, lanes + 1);
  }
}

// The last elements of a row, fewer than kProducts, over four lanes.
template <class T>
HACL_INLINE FewDoubles multiply_few(const T* x, std::size_t n, FewDoubles product) {
  for (std::size_t i = 0; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    const F all = load_lanes(x + i, k), v = lane_numbers() < static_cast<std::int32_t>(k) ? all : splat(1);
    for (std::size_t j = 0; j < k; j += kFew) {
      FewFloats part;
      __builtin_memcpy(&part, reinterpret_cast<const float*>(&v) + j, sizeof part);
      product *= __builtin_convertvector(part, FewDoubles);
    }
  }
  return product;
}

template <class T>
double product_of(const void* x, std::size_t n) {
  constexpr std::size_t vectors = (std::is_same_v<T, Half> ? 1 : 2) * kProducts / W;
  const FewDoubles ones = {1, 1, 1, 1};
  auto from = static_cast<const T*>(x);
  if (n < kProducts) return across_bytes<Multiply, double, sizeof ones>(multiply_few(from, n, ones));
  D lanes[vectors];
  for (D& one : lanes) one = D{} + 1;
  std::size_t i = 0;
  for (; i + kProducts <= n; i += kProducts) multiply_lanes(from + i, lanes);
  for (std::size_t half = vectors / 2; half > 0; half /= 2) {
    for (std::size_t v = 0; v < half; ++v) lanes[v] *= lanes[v + half];
  }
  const double rest = across_bytes<Multiply, double, sizeof ones>(multiply_few(from + i, n - i, ones));
  return across<Multiply>(lanes[0]) * rest;
}

// The place of the first largest (or, by Less, smallest) element of each column of a tile; a NaN counts as the extreme.
template <class T, class Before>
void column_place(const void* x, std::size_t rows, std::size_t stride, std::size_t n, std::int32_t* place) {
  auto from = static_cast<const T*>(x);
  for (std::size_t j = 0; j < n; j += W) {
    const std::size_t k = n - j < W ? n - j : W;
    F best = load_lanes(from + j, k);
    I found = {};
    for (std::size_t r = 1; r < rows; ++r) {
      const F here = load_lanes(from + r * stride + j, k);
      const I better = (I)Before::run(best, here) | ((here != here) & (best == best));
      best = better ? here : best;
      found = better ? I{} + static_cast<std::int32_t>(r) : found;
    }
    __builtin_memcpy(place + j, &found, k * sizeof(std::int32_t));
  }
}

struct LargerLater {
  static HACL_INLINE I run(F best, F here) { return here > best; }
};
struct SmallerLater {
  static HACL_INLINE I run(F best, F here) { return here < best; }
};

// The same of one row: the extreme first, then where it is.
template <class T, class Op>
std::int64_t place_of(const void* x, std::size_t n) {
  auto from = static_cast<const T*>(x);
  const float wanted = extreme<T, Op>(from, n);
  const F all = splat(wanted);
  for (std::size_t i = 0; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    const F here = load_lanes(from + i, k);
    const unsigned found = lane_bits(wanted == wanted ? (I)(here == all) : (I)(here != here)) & static_cast<unsigned>((1ull << k) - 1);
    if (found != 0) return static_cast<std::int64_t>(i) + __builtin_ctz(found);
  }
  return 0;
}

}  // namespace
