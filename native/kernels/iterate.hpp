// One loop over several arrays of any strides: broadcast, merged into as few dimensions as possible, run row by row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/pool.hpp"

namespace hacl {

constexpr int kMaxDims = 64;
constexpr int kMaxOperands = 4;
constexpr std::int64_t kPiece = 1 << 15;  // elements of a row done at once
constexpr std::int64_t kStage = 512;      // elements gathered at once where strides are not plain

struct Operand {
  char* data;
  int nd;
  int size;  // bytes an element
  const std::int64_t* shape;
  const std::int64_t* strides;
};

// The last operand is the output: its shape is the loop's.
struct Nest {
  int count = 0;
  int nd = 0;
  std::int64_t elements = 1;
  std::int64_t shape[kMaxDims];
  std::int64_t stride[kMaxOperands][kMaxDims];
  char* data[kMaxOperands];
  int size[kMaxOperands];

  // False when an input does not broadcast to the output.
  bool set(const Operand* operands, int n);
  void locate(std::int64_t row, char** at) const;  // the first elements of a row of the last dimension

 private:
  void merge();
};

void gather(char* out, const char* x, std::int64_t stride, int size, std::int64_t n);
void scatter(char* out, std::int64_t stride, const char* x, int size, std::int64_t n);

// Calls loop(data, steps, n): each data[k] is dense (step 1) or, for an input and where may_repeat says so, one element (step 0).
template <class Loop>
void run_piece(const Nest& nest, char* const* at, std::int64_t n, bool may_repeat, Loop& loop) {
  const int last = nest.count - 1;
  char* data[kMaxOperands];
  bool steps[kMaxOperands] = {true, true, true, true};
  bool staged[kMaxOperands] = {};
  bool any = false;
  for (int k = 0; k <= last; ++k) {
    const std::int64_t stride = nest.stride[k][nest.nd - 1];
    data[k] = at[k];
    if (stride == nest.size[k]) continue;
    if (stride == 0 && k < last && may_repeat) steps[k] = false;
    else any = staged[k] = true;
  }
  if (!any) return loop(data, steps, n);
  alignas(64) char stage[kMaxOperands][kStage * 16];
  for (std::int64_t start = 0; start < n; start += kStage) {
    const std::int64_t k = n - start < kStage ? n - start : kStage;
    for (int o = 0; o <= last; ++o) {
      const std::int64_t stride = nest.stride[o][nest.nd - 1];
      data[o] = staged[o] ? stage[o] : at[o] + start * stride;
      if (staged[o] && o < last) gather(stage[o], at[o] + start * stride, stride, nest.size[o], k);
    }
    loop(data, steps, k);
    const std::int64_t stride = nest.stride[last][nest.nd - 1];
    if (staged[last]) scatter(at[last] + start * stride, stride, stage[last], nest.size[last], k);
  }
}

template <class Loop>
void run(const Nest& nest, bool may_repeat, Loop loop) {
  if (nest.elements == 0) return;
  const std::int64_t inner = nest.shape[nest.nd - 1];
  const std::int64_t pieces = (inner - 1) / kPiece + 1;
  auto body = [&](std::int64_t begin, std::int64_t end) {
    char* at[kMaxOperands];
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t start = unit % pieces * kPiece;
      nest.locate(unit / pieces, at);
      for (int k = 0; k < nest.count; ++k) at[k] += start * nest.stride[k][nest.nd - 1];
      run_piece(nest, at, inner - start < kPiece ? inner - start : kPiece, may_repeat, loop);
    }
  };
  const std::int64_t rows = nest.elements / inner;
  split_units(rows * pieces, inner < kPiece ? inner : kPiece, body);
}

}  // namespace hacl
