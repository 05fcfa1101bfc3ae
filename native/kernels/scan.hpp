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

// x = the running result of each eight elements, in three steps that do not wait for each other's elements.
template <class Op>
HACL_INLINE void run_eight(float* x) {
  float once[kEight], twice[kEight];
  once[0] = x[0];
  for (std::size_t i = 1; i < kEight; ++i) once[i] = one_more<Op>(x[i - 1], x[i]);
  for (std::size_t i = 0; i < 2; ++i) twice[i] = once[i];
  for (std::size_t i = 2; i < kEight; ++i) twice[i] = one_more<Op>(once[i - 2], once[i]);
  for (std::size_t i = 0; i < 4; ++i) x[i] = twice[i];
  for (std::size_t i = 4; i < kEight; ++i) x[i] = one_more<Op>(twice[i - 4], twice[i]);
}

// A block of up to kBlock floats, in place; gives what it runs on with.
template <class Op>
HACL_INLINE float run_block(float* x, std::size_t n, float sum) {
  for (std::size_t i = n; i % kEight != 0; ++i) x[i] = kFirst<Op>;
  for (std::size_t i = 0; i < n; i += kEight) {
    run_eight<Op>(x + i);
    for (std::size_t j = 0; j < kEight; ++j) x[i + j] = one_more<Op>(sum, x[i + j]);
    sum = x[i + kEight - 1];
  }
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
