// Lines along the middle of three axes.
#pragma once

#include "module/kernels_array.hpp"

namespace hacl::module {

constexpr std::int64_t kTile = static_cast<std::int64_t>(kColumnTile);
constexpr std::int64_t kShort = 64, kWide = 4096;  // a short row, and how many elements of such are widened together

// The dims of x = (outer, length, inner).
struct Lines {
  std::int64_t outer, length, inner;
  std::int64_t tiles() const { return inner == 1 ? 1 : (inner + kTile - 1) / kTile; }
  std::int64_t width(std::int64_t tile) const { return inner - tile * kTile < kTile ? inner - tile * kTile : kTile; }
};

inline bool view_lines(PyObject* object, Argument argument, int kinds, View* x, Lines* lines, Owned* held) {
  constexpr const char* floats = "float16, bfloat16, float32, float64";
  constexpr const char* narrows = "float16, bfloat16, float32";
  if (!view(object, argument, x)) return false;
  if (x->kind >= kinds) return refuse_dtype(*x, argument, kinds == kFloatKinds ? floats : narrows);
  if (x->nd != 3) return refuse_shape(*x, argument, "three axes: before, along, after");
  *lines = {x->shape[0], x->shape[1], x->shape[2]};
  return x->dense || replace_by_copy(x, argument, held);
}

// Splits the tiles of columns among threads: body(begin, end) of tiles.
template <class Body>
void split_tiles(const Lines& lines, Body& body) {
  split_units(lines.outer * lines.tiles(), lines.length * (lines.inner < kTile ? lines.inner : kTile), body);
}

}  // namespace hacl::module
