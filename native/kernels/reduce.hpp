// Reductions over the rows of a tile of columns, and over one row, of one SIMD level. Results are doubles, rounded by the caller.
// The order of all additions and products is the same at every level, so that results have the same bits everywhere.
#pragma once

#include "kernels/conversions.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/rows.hpp"
#include "kernels/table.hpp"

namespace {

constexpr std::size_t kRun = 64;  // rows that are added in float32 before the sum goes on in double
constexpr std::size_t kTile = hacl::kColumnTile;
constexpr std::size_t kProducts = 32;  // products of a row that run side by side

// acc = Op(acc, row) over n columns for `rows` (1, 2 or 4) rows; acc has room for a whole last vector.
template <class T, class Op, int rows>
HACL_INLINE void fold_rows(const T* x, std::size_t stride, float* acc, std::size_t n) {
  std::size_t i = 0;
  for (; i + W <= n; i += W) {
    F sum = Lanes<float>::load(acc + i);
    for (int r = 0; r < rows; ++r) sum = Op::run(sum, Lanes<T>::load(x + static_cast<std::size_t>(r) * stride + i));
    Lanes<float>::store(acc + i, sum);
  }
  if (i == n) return;
  F sum = Lanes<float>::load(acc + i);
  for (int r = 0; r < rows; ++r) sum = Op::run(sum, load_some(x + static_cast<std::size_t>(r) * stride + i, n - i));
  Lanes<float>::store(acc + i, sum);
}

// acc = the rows combined, at least one.
template <class T, class Op>
HACL_INLINE void fold_columns(const T* x, std::size_t rows, std::size_t stride, float* acc, std::size_t n) {
  convert_lanes<T, float, false>(x, acc, n);
  std::size_t r = 1;
  for (; r + 4 <= rows; r += 4) fold_rows<T, Op, 4>(x + r * stride, stride, acc, n);
  for (; r < rows; ++r) fold_rows<T, Op, 1>(x + r * stride, stride, acc, n);
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

template <class T, class Op>
void column_extreme(const void* x, std::size_t rows, std::size_t stride, std::size_t n, double* out) {
  float acc[kTile + W] = {};
  fold_columns<T, Op>(static_cast<const T*>(x), rows, stride, acc, n);
  for (std::size_t j = 0; j < n; ++j) out[j] = static_cast<double>(acc[j]);
}

template <class T>
HACL_INLINE F load_lanes(const T* p, std::size_t k) { return k == W ? Lanes<T>::load(p) : load_some(p, k); }

// out *= each of `rows` (1 or 4) rows, halves in pairs, whose product float32 holds exactly; out has room for a whole last vector.
template <class T, int rows>
HACL_INLINE void multiply_rows(const T* x, std::size_t stride, double* out, std::size_t n) {
  constexpr int pairs = rows == 4 && std::is_same_v<T, Half> ? 2 : 1;
  for (std::size_t i = 0; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    D low = Lanes<double>::load(out + i), high = Lanes<double>::load(out + i + W / 2);
    for (int r = 0; r < rows; r += pairs) {
      const T* at = x + static_cast<std::size_t>(r) * stride + i;
      F v = load_lanes(at, k);
      if constexpr (pairs == 2) v *= load_lanes(at + stride, k);
      low *= low_doubles(v);
      high *= high_doubles(v);
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
  for (; r + 4 <= rows; r += 4) multiply_rows<T, 4>(from + r * stride, stride, product, n);
  for (; r < rows; ++r) multiply_rows<T, 1>(from + r * stride, stride, product, n);
  __builtin_memcpy(out, product, n * sizeof(double));
}

template <class T>
double sum_of(const void* x, std::size_t n) {
  auto from = static_cast<const T*>(x);
  if (n >= kLanes) return blocked_sum(n, [=](std::size_t i, std::size_t k) HACL_LAMBDA { return load_lanes(from + i, k); });
  Sum sum = {};
  for (std::size_t v = 0, i = 0; i < n; ++v, i += W) sum.lane[v] = load_lanes(from + i, n - i < W ? n - i : W);
  return sum.total();
}

// A short row as floats: itself, or widened into `room`.
template <class T>
HACL_INLINE const float* as_floats(const T* x, std::size_t n, float* room) {
  if constexpr (std::is_same_v<T, float>) return x;
  convert_lanes<T, float, false>(x, room, n);
  return room;
}

template <class T, class Op>
double extreme_of(const void* x, std::size_t n) {  // of at least one element
  auto from = static_cast<const T*>(x);
  float all[W] = {};
  if (n < W) {
    const float* few = as_floats(from, n, all);
    float result = few[0];
    for (std::size_t i = 1; i < n; ++i) result = Op::run(result, few[i]);
    return static_cast<double>(result);
  }
  F best[4];
  for (std::size_t v = 0; v < 4; ++v) best[v] = Lanes<T>::load(from + (n < 4 * W ? 0 : v * W));
  std::size_t i = n < 4 * W ? W : 4 * W;
  for (; i + 4 * W <= n; i += 4 * W) {
    for (std::size_t v = 0; v < 4; ++v) best[v] = Op::run(best[v], Lanes<T>::load(from + i + v * W));
  }
  for (; i + W <= n; i += W) best[0] = Op::run(best[0], Lanes<T>::load(from + i));
  if (i < n) best[1] = Op::run(best[1], Lanes<T>::load(from + n - W));  // again some that were seen
  Lanes<float>::store(all, Op::run(Op::run(best[0], best[1]), Op::run(best[2], best[3])));
  for (std::size_t half = W / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) all[j] = Op::run(all[j], all[j + half]);
  }
  return static_cast<double>(all[0]);
}

constexpr std::size_t kFew = 4;  // products of a short row that run side by side

// kProducts elements, or as many pairs: two halves have an exact float32 product.
template <class T, bool pairs>
HACL_INLINE void multiply_lanes(const T* x, double* lane) {
  for (std::size_t j = 0; j < kProducts; j += W) {
    F v = Lanes<T>::load(x + j);
    if constexpr (pairs) v *= Lanes<T>::load(x + kProducts + j);
    Lanes<double>::store(lane + j, Lanes<double>::load(lane + j) * low_doubles(v));
    Lanes<double>::store(lane + j + W / 2, Lanes<double>::load(lane + j + W / 2) * high_doubles(v));
  }
}

template <std::size_t lanes>
HACL_INLINE double product_of_lanes(double* lane) {
  for (std::size_t half = lanes / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) lane[j] *= lane[j + half];
  }
  return lane[0];
}

template <class T>
double product_of(const void* x, std::size_t n) {
  constexpr bool pairs = std::is_same_v<T, Half>;
  auto from = static_cast<const T*>(x);
  double lane[kProducts];
  for (double& one : lane) one = 1;
  std::size_t i = 0;
  for (; pairs && i + 2 * kProducts <= n; i += 2 * kProducts) multiply_lanes<T, pairs>(from + i, lane);
  for (; i + kProducts <= n; i += kProducts) multiply_lanes<T, false>(from + i, lane);
  float rest[kProducts];
  const float* few = as_floats(from + i, n - i, rest);
  for (std::size_t j = 0; j < n - i; ++j) lane[j % kFew] *= static_cast<double>(few[j]);
  return n < kProducts ? product_of_lanes<kFew>(lane) : product_of_lanes<kProducts>(lane);
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
  const float wanted = static_cast<float>(extreme_of<T, Op>(x, n));
  const F all = splat(wanted);
  std::size_t i = 0;
  for (; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    const F here = load_lanes(from + i, k);
    const I found = wanted == wanted ? (I)(here == all) : (I)(here != here);
    for (std::size_t lane = 0; lane < k; ++lane) {
      if (found[lane] != 0) return static_cast<std::int64_t>(i + lane);
    }
  }
  return 0;
}

}  // namespace
