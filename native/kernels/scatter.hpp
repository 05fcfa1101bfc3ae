// Rows of updates combined one after the other with the rows of a target that numbers name, of one SIMD level: widened into a
// float32 target, or row by row of the target, each rounded once.
#pragma once

#include "kernels/conversions.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reduce.hpp"
#include "kernels/table.hpp"

namespace {

template <class T, class Op>
HACL_INLINE void scatter_row(float* row, const T* x, std::size_t width) {
  std::size_t j = 0;
  for (; j + W <= width; j += W) Lanes<float>::store(row + j, Op::run(Lanes<float>::load(row + j), Lanes<T>::load(x + j)));
  const std::size_t k = width - j;
  if (k > 0) store_some(row + j, k, Op::run(load_some(row + j, k), load_some(x + j, k)));
}

template <class T, class Op>
void scatter_rows(float* target, const std::int64_t* rows, const void* updates, std::size_t count, std::size_t width) {
  auto from = static_cast<const T*>(updates);
  for (std::size_t i = 0; width != 1 && i < count; ++i) {
    scatter_row<T, Op>(target + static_cast<std::size_t>(rows[i]) * width, from + i * width, width);
  }
  float block[kBlock];
  for (std::size_t start = 0; width == 1 && start < count; start += kBlock) {
    const std::size_t n = count - start < kBlock ? count - start : kBlock;
    const float* few = as_floats(from + start, n, block);
    for (std::size_t i = 0; i < n; ++i) {
      float* at = target + rows[start + i];
      *at = Op::run(*at, few[i]);
    }
  }
}

// Up to W vectors of k elements, `step` elements from one to the next; zeros where there is none.
template <class T>
HACL_INLINE void load_across(const T* x, std::size_t step, std::size_t vectors, std::size_t k, F (&v)[W]) {
  for (std::size_t r = 0; r < W; ++r) v[r] = r < vectors ? load_lanes(x + r * step, k) : F{};
  transpose(v);
}

// Up to W targets of `length` elements, all changed at the same places, side by side in the lanes of vectors.
template <class T, class Op>
HACL_INLINE void scatter_few(const hacl::Alike& a, std::size_t first, std::size_t few) {
  auto target = static_cast<const T*>(a.target) + first * a.length, updates = static_cast<const T*>(a.updates) + first * a.count;
  T* out = static_cast<T*>(a.out) + first * a.length;
  float room[hacl::kAlikeLength * W];
  F v[W];
  for (std::size_t i = 0; i < a.length; i += W) {
    load_across(target + i, a.length, few, a.length - i < W ? a.length - i : W, v);
    for (std::size_t j = 0; j < W; ++j) Lanes<float>::store(room + (i + j) * W, v[j]);
  }
  for (std::size_t i = 0; i < a.count; i += W) {
    const std::size_t k = a.count - i < W ? a.count - i : W;
    load_across(updates + i, a.count, few, k, v);
    for (std::size_t j = 0; j < k; ++j) {
      float* at = room + static_cast<std::size_t>(a.places[i + j]) * W;
      Lanes<float>::store(at, Op::run(Lanes<float>::load(at), v[j]));
    }
  }
  for (std::size_t i = 0; i < a.length; i += W) {
    for (std::size_t j = 0; j < W; ++j) v[j] = Lanes<float>::load(room + (i + j) * W);
    transpose(v);
    for (std::size_t r = 0; r < few; ++r) {
      const std::size_t k = a.length - i < W ? a.length - i : W;
      if (k == W) Lanes<T>::store(out + r * a.length + i, v[r]);
      else store_some(out + r * a.length + i, k, v[r]);
    }
  }
}

template <class T, class Op>
void scatter_alike(const hacl::Alike& a, std::size_t first, std::size_t last) {
  for (; first < last; first += W) scatter_few<T, Op>(a, first, last - first < W ? last - first : W);
}

constexpr std::size_t kAtOnce = 4;   // vectors of a row that are kept while its updates pass
constexpr std::size_t kAhead = 6;    // updates whose rows are asked for before they are needed

// `vectors` whole vectors of a row, or its last k elements.
template <class T, class Op, std::size_t vectors>
HACL_INLINE void group_lanes(const T* row, const T* updates, const std::uint32_t* which, std::size_t n, std::size_t width, T* out,
                             std::size_t k) {
  F sum[vectors];
  for (std::size_t v = 0; v < vectors; ++v) sum[v] = load_lanes(row + v * W, k);
  for (std::size_t i = 0; i < n; ++i) {
    const T* update = updates + which[i] * width;
    for (std::size_t v = 0; v < vectors; ++v) sum[v] = Op::run(sum[v], load_lanes(update + v * W, k));
  }
  for (std::size_t v = 0; v < vectors; ++v) {
    if (k == W) Lanes<T>::store(out + v * W, sum[v]);
    else store_some(out + v * W, k, sum[v]);
  }
}

template <class T, class Op>
HACL_INLINE void group_row(const T* row, const T* updates, const std::uint32_t* which, std::size_t n, std::size_t width, T* out) {
  std::size_t j = 0;
  for (; j + kAtOnce * W <= width; j += kAtOnce * W) group_lanes<T, Op, kAtOnce>(row + j, updates + j, which, n, width, out + j, W);
  for (; j + W <= width; j += W) group_lanes<T, Op, 1>(row + j, updates + j, which, n, width, out + j, W);
  if (j < width) group_lanes<T, Op, 1>(row + j, updates + j, which, n, width, out + j, width - j);
}

// The same where many meet: updates are added in double. A row stays as it is, a zero with its sign, where they come to 0.
template <class T, class Op>
HACL_INLINE void crowded_row(const T* row, const T* updates, const std::uint32_t* which, std::size_t n, std::size_t width, T* out) {
  float few[kBlock];
  double sum[kBlock];
  for (std::size_t start = 0; start < width; start += kBlock) {
    const std::size_t k = width - start < kBlock ? width - start : kBlock;
    for (std::size_t j = 0; j < k; ++j) sum[j] = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const float* update = as_floats(updates + which[i] * width + start, k, few);
      for (std::size_t j = 0; j < k; ++j) sum[j] += static_cast<double>(update[j]);
    }
    const float* before = as_floats(row + start, k, few);
    for (std::size_t j = 0; j < k; ++j) {
      const double result = Op::run(static_cast<double>(before[j]), sum[j]);
      few[j] = sum[j] == 0 ? before[j] : is_half<T> ? to_odd(result) : static_cast<float>(result);
    }
    convert_lanes<float, T, false>(few, out + start, k);
  }
}

template <class T, class Op>
void group_rows(const hacl::Grouped& g, std::size_t first, std::size_t last) {
  auto target = static_cast<const T*>(g.target), updates = static_cast<const T*>(g.updates);
  auto out = static_cast<T*>(g.out);
  const std::size_t width = g.width;
  const std::uint32_t end = g.ends[last - 1];
  for (std::size_t row = first; row < last; ++row) {
    const std::uint32_t begin = row == 0 ? 0 : g.ends[row - 1];
    const std::size_t n = g.ends[row] - begin, at = row * width;
    for (std::uint32_t i = begin + kAhead; i < g.ends[row] + kAhead && i < end; ++i) {
      for (std::size_t j = 0; j < width && j < 256; j += 64 / sizeof(T)) __builtin_prefetch(updates + g.order[i] * width + j);
    }
    if (n == 0) {
      if (out != target) __builtin_memcpy(out + at, target + at, width * sizeof(T));
    } else if (n <= g.many) {
      group_row<T, Op>(target + at, updates, g.order + begin, n, width, out + at);
    } else if constexpr (std::is_same_v<Op, Add> || std::is_same_v<Op, Subtract>) {
      crowded_row<T, Op>(target + at, updates, g.order + begin, n, width, out + at);
    }
  }
}

}  // namespace
