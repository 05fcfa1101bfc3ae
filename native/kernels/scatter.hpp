// Rows of updates, widened, combined one after the other with the rows of a float32 target that numbers name, of one SIMD level.
#pragma once

#include "kernels/elementwise.hpp"
#include "kernels/reduce.hpp"

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

}  // namespace
