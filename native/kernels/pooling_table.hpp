// The loops of pooling at one SIMD level: windows along a line of the image, then such lines put together.
#pragma once

#include "kernels/convolve_table.hpp"

namespace hacl {

enum PoolOp { kPoolLargest, kPoolMean, kPoolOps };

constexpr std::size_t kPoolSlack = 64;  // floats that may be read behind the lines

// Windows along one axis of a line of `width` elements, the first of which begins `start` elements from the line's first.
struct LineWindows {
  std::size_t taps;
  std::ptrdiff_t stride, dilation;
  std::ptrdiff_t start, width;
  std::ptrdiff_t n;          // windows
  std::ptrdiff_t low, high;  // those from low on and before high, if there are any, lie inside the line
  float* padded;             // room for all elements from the first window's to the last one's, and some more
};

// Each result is put together from the k lines that lie lines[i] floats from x: `rows` rows of n results.
struct PooledRows {
  const float* x;
  std::size_t pitch;
  const std::int32_t* lines;
  std::size_t k, rows, n;
  bool nan;               // there may be one
  const float* divisors;  // of means, as out
  void* out;
  std::size_t out_pitch;
};

struct PoolingLoops {
  bool (*line[kPoolOps][kNarrowKinds])(const void* x, const LineWindows& windows, float* out);  // true: there may be a NaN
  bool (*rows[kPoolOps][kNarrowKinds])(const PooledRows& rows);                                 // false: a sum is not finite
};

}  // namespace hacl
