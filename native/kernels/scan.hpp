// Running sums and products of one SIMD level: of half types in float32, of float32 and float64 in float64.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/conversions.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reduce.hpp"
#include "kernels/table.hpp"

namespace {

template <class T>
using Running = std::conditional_t<is_half<T>, float, double>;

template <class Op, class V>
HACL_INLINE V one_more(V a, V b) {
  if constexpr (std::is_same_v<Op, Add>) return a + b;
  else return a * b;
}

template <class Op>
constexpr int kFirst = std::is_same_v<Op, Add> ? 0 : 1;

template <class T, class Op>
HACL_INLINE void run_on(const T* x, T* out, std::size_t n, bool reverse, bool exclusive) {
  double sum = kFirst<Op>;
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t i = reverse ? n - 1 - j : j;
    const double next = one_more<Op>(sum, static_cast<double>(x[i]));
    out[i] = static_cast<T>(exclusive ? sum : next);
    sum = next;
  }
}

constexpr std::size_t kEight = 8;

typedef float E __attribute__((vector_size(kEight * 4)));
#if defined(__clang__) || __GNUC__ >= 12
#define HACL_MOVED(first, x, ...) __builtin_shufflevector(first, x, __VA_ARGS__)
#else
typedef std::int32_t EI __attribute__((vector_size(kEight * 4)));
#define HACL_MOVED(first, x, ...) __builtin_shuffle(first, x, (EI){__VA_ARGS__})
#endif

// x = the running result of each eight elements, in three steps that do not wait for each other's elements, after `sum`.
template <class Op>
HACL_INLINE float run_eight(float* x, float sum) {
  constexpr float first = kFirst<Op>;
  const E fill = {first, first, first, first, first, first, first, first};
  E v = load_bytes<E>(x);
  v = one_more<Op>(HACL_MOVED(fill, v, 0, 8, 9, 10, 11, 12, 13, 14), v);
  v = one_more<Op>(HACL_MOVED(fill, v, 0, 1, 8, 9, 10, 11, 12, 13), v);
  v = one_more<Op>(HACL_MOVED(fill, v, 0, 1, 2, 3, 8, 9, 10, 11), v);
  v = one_more<Op>(E{sum, sum, sum, sum, sum, sum, sum, sum}, v);
  store_bytes(x, v);
  return v[kEight - 1];
}

// A block of up to kBlock floats, in place; gives what it runs on with.
template <class Op>
HACL_INLINE float run_block(float* x, std::size_t n, float sum) {
  for (std::size_t i = n; i % kEight != 0; ++i) x[i] = kFirst<Op>;
  for (std::size_t i = 0; i < n; i += kEight) sum = run_eight<Op>(x + i, sum);
  return sum;
}

HACL_INLINE void turn(float* x, std::size_t n) {
  for (std::size_t i = 0; i < n / 2; ++i) {
    const float kept = x[i];
    x[i] = x[n - 1 - i];
    x[n - 1 - i] = kept;
  }
}

template <class T, class Op>
void scan_row(const void* x, void* out, std::size_t n, bool reverse, bool exclusive) {
  auto from = static_cast<const T*>(x);
  auto to = static_cast<T*>(out);
  if constexpr (!is_half<T>) {
    if (reverse || exclusive) run_on<T, Op>(from, to, n, reverse, exclusive);
    else run_on<T, Op>(from, to, n, false, false);
  } else {
    float block[1 + kBlock];  // what comes before the block stands before it
    block[0] = kFirst<Op>;
    for (std::size_t done = 0; done < n; done += kBlock) {
      const std::size_t k = n - done < kBlock ? n - done : kBlock;
      const std::size_t start = reverse ? n - done - k : done;
      convert_lanes<T, float, false>(from + start, block + 1, k);
      if (reverse) turn(block + 1, k);
      const float sum = run_block<Op>(block + 1, k, block[0]);
      float* results = exclusive ? block : block + 1;
      if (reverse) turn(results, k);
      convert_lanes<float, T, false>(results, to + start, k);
      block[0] = sum;
    }
  }
}

// A row of up to kBlock floats, in place, as scan_row does with halves; whole eights need no room.
template <class Op>
void scan_short(float* x, std::size_t n, bool reverse, bool exclusive) {
  if (n % kEight == 0 && !reverse && !exclusive) {
    run_block<Op>(x, n, kFirst<Op>);
    return;
  }
  float row[1 + kBlock];
  row[0] = kFirst<Op>;
  for (std::size_t i = 0; i < n; ++i) row[1 + i] = x[reverse ? n - 1 - i : i];
  run_block<Op>(row + 1, n, row[0]);
  const float* results = exclusive ? row : row + 1;
  for (std::size_t i = 0; i < n; ++i) x[i] = results[reverse ? n - 1 - i : i];
}

// Rows of a tile of columns, one after the other; stride is negative to run from the last row on.
template <class T, class Op>
void scan_columns(const void* x, void* out, std::size_t rows, std::ptrdiff_t stride, std::size_t n, bool exclusive) {
  auto from = static_cast<const T*>(x);
  auto to = static_cast<T*>(out);
  Running<T> sum[hacl::kColumnTile + W];
  for (auto& one : sum) one = kFirst<Op>;
  for (std::size_t r = 0; r < rows; ++r, from += stride, to += stride) {
    if constexpr (is_half<T>) {
      for (std::size_t i = 0; i < n; i += W) {
        const std::size_t k = n - i < W ? n - i : W;
        const F before = Lanes<float>::load(sum + i), next = one_more<Op>(before, load_lanes(from + i, k));
        Lanes<float>::store(sum + i, next);
        if (k == W) Lanes<T>::store(to + i, exclusive ? before : next);
        else store_some(to + i, k, exclusive ? before : next);
      }
    } else {
      for (std::size_t j = 0; j < n; ++j) {
        const double next = one_more<Op>(sum[j], static_cast<double>(from[j]));
        to[j] = static_cast<T>(exclusive ? sum[j] : next);
        sum[j] = next;
      }
    }
  }
}

}  // namespace
