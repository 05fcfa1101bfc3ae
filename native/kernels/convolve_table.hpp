// The loops of convolutions at one SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hacl {

constexpr int kNarrowKinds = 3;           // float16, bfloat16, float32: the kinds whose reductions give doubles
constexpr std::ptrdiff_t kNothing = PTRDIFF_MIN;
constexpr std::size_t kDepth = 256;       // products that are added up before they join the others
constexpr std::size_t kDepthPitch = 272;  // floats between two rows of weights: no power of two, for the cache
constexpr std::size_t kWidestPanel = 32;  // places that are multiplied together, at most
constexpr std::size_t kFewRows = 4;       // filters of a group that read the image without panels, at most
constexpr std::size_t kFewSlack = 64;

// A run of a line of the image, or nothing (zeros), that goes to one place of a panel.
struct Piece {
  std::ptrdiff_t from;  // its first element, counted from the plane's; kNothing: nothing
  std::ptrdiff_t to;
  std::size_t n;
};

// The pieces of `planes` planes, one plane after the other; x lies `stride` elements apart within a piece.
struct Fill {
  const void* x;
  float* out;
  const Piece* pieces;
  std::size_t count;
  std::size_t stride;
  std::size_t planes;
  std::ptrdiff_t plane_from;
  std::ptrdiff_t plane_to;
};

// Rows of `lines` lines of n sums, each with its row's bias where there are any, rounded.
struct Finish {
  const float* sums;
  std::size_t pitch, line_pitch;
  const float* bias;
  std::size_t rows, lines, n;
  void* out;
  std::size_t out_pitch, out_line_pitch;
};

struct ConvolveLoops {
  std::size_t rows;   // filters of one register block
  std::size_t panel;  // and places
  void (*fill[kNarrowKinds])(const Fill& fill);
  // c (+)= weights (rows so many floats apart) times panels of k lines; panels have room for kDepth lines.
  void (*multiply)(const float* weights, std::size_t apart, const float* panels, std::size_t k, std::size_t rows, std::size_t places,
                   float* c, std::size_t pitch, bool add);
  // c = few rows of weights times the k lines that lie lines[i] floats from x. Reads and writes up to kFewSlack places more.
  void (*few)(const float* weights, const float* x, const std::int32_t* lines, std::size_t k, std::size_t rows, std::size_t places,
              float* c, std::size_t pitch);
  double (*dot)(const float* x1, const float* x2, std::size_t n);  // with sums as those of rows
  void (*finish[kNarrowKinds])(const Finish& finish);
};

}  // namespace hacl
