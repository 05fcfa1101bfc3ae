// Grouped cross-correlation over depth, height and width, by register blocks over panels that are read from the padded image piece by
// piece: no matrix of columns is made. Half types are widened on the way in and rounded once on the way out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/table.hpp"

namespace hacl {

// Dense images (images, groups * channels, in), filters (groups * filters, channels, kernel), out (images, groups * filters, size).
struct Convolution {
  Kind kind;  // of x and filter: one of the narrow kinds
  Kind out_kind;
  const char* x;
  const char* filter;
  const float* bias;  // one for each filter, or nullptr
  char* out;
  std::int64_t images, groups, channels, filters;
  std::int64_t in[3], kernel[3], size[3], stride[3], dilation[3], before[3];

  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t depth() const { return channels * taps(); }  // products in a sum
  std::int64_t plane() const { return in[0] * in[1] * in[2]; }
  std::int64_t places() const { return size[0] * size[1] * size[2]; }
};

bool convolve(Convolution convolution);  // false: no memory

bool dots_are_enough(const Convolution& convolution);
bool convolve_by_dots(const Convolution& convolution);
bool few_are_enough(const Convolution& convolution);
bool convolve_few(const Convolution& convolution);

// Where the elements of a line go; what lies outside the image is nothing.
class Pieces {
 public:
  static constexpr std::size_t kMost = 1024;

  const Piece* items() const { return items_; }
  std::size_t count() const { return count_; }
  bool full() const { return count_ + 3 > kMost; }
  void clear() { count_ = 0; }
  void drop_empty();
  void nothing(std::ptrdiff_t to, std::int64_t n) {
    if (n > 0) items_[count_++] = {kNothing, to, static_cast<std::size_t>(n)};
  }
  // n elements from `first` on, `step` apart, of a line of `width` elements that begins at `line`.
  void part_of_line(std::ptrdiff_t line, std::int64_t width, std::int64_t first, std::int64_t step, std::ptrdiff_t to, std::int64_t n);

 private:
  Piece items_[kMost];
  std::size_t count_ = 0;
};

// Memory that a thread keeps for the next convolution; nullptr when there is none.
constexpr std::int64_t kScratch = 128 << 10;  // floats
float* scratch();

constexpr std::int64_t above(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t rounded_up(std::int64_t a, std::int64_t unit) { return above(a, unit) * unit; }

}  // namespace hacl
