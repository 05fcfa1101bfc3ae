// Copies between two arrays of the same shape and any strides: every transpose and change of layout.
#pragma once

#include <cstdint>

namespace hacl {

struct CopyPlan {
  int nd;
  int size;  // 1, 2, 4, 8 or 16
  std::int64_t shape[64];
  std::int64_t from[64];  // byte strides
  std::int64_t to[64];
  const char* x;
  char* out;
};

void copy(CopyPlan plan);  // x and out do not overlap

}  // namespace hacl
