// Lines of the image, split by stride into planes in which the places of a band of the output, and of its padding, follow one another:
// every element of the filter is then one offset. For few filters in a group, depthwise ones above all.
#pragma once

#include <algorithm>
#include <atomic>

#include "kernels/convolve.hpp"
#include "kernels/pool.hpp"

namespace hacl {

constexpr std::int64_t kBandImage = 48 << 10;  // floats of planes in a unit
constexpr std::int64_t kBandSums = kBandImage / 3;
constexpr std::int64_t kUnitProducts = 1 << 17;

// How one axis of the planes is split: each element of the filter meets line or column shift + (its place) of a phase.
struct Axis {
  std::int64_t phase[kDepth];  // the first element of each
  std::int64_t which[kDepth], shift[kDepth];
  std::int64_t phases = 0, reach = 0;

  Axis(std::int64_t taps, std::int64_t stride, std::int64_t dilation);
};

// The planes of one unit: rows x columns places of one image, group and depth.
struct Band {
  Axis high, wide;
  std::int64_t rows = 0, columns = 0, pitch = 0, phase_size = 0, plane_size = 0;
  std::int32_t lines[kDepth];

  explicit Band(const Convolution& c);  // of up to kDepth products
  std::int64_t offset(std::int64_t plane, std::int64_t h, std::int64_t w) const;
  std::int64_t down(const Convolution& c) const { return above(c.size[1], rows); }
  std::int64_t across(const Convolution& c) const { return above(c.size[2], columns); }
  std::int64_t units(const Convolution& c) const { return c.images * c.groups * c.size[0] * down(c) * across(c); }
  std::size_t sums_pitch() const { return static_cast<std::size_t>(rows * pitch) + kFewSlack; }
  bool fits(const Convolution& c) const { return rows >= std::min(c.size[1], std::int64_t{4}); }
};

// Reads the planes of one unit after another into the memory of a thread.
class BandReader {
 public:
  BandReader(const Convolution& conv, const Band& band, float* image)
      : conv_(conv), band_(band), image_(image) {}

  void read(std::int64_t unit);  // groups one after the other, then bands, then images
  const float* planes() const { return image_; }
  std::int64_t group() const { return group_; }
  Finish finish(const float* sums) const;  // where the sums of this unit go

 private:
  std::int64_t place() const { return (deep_ * conv_.size[1] + top_) * conv_.size[2] + left_; }  // the first, in a plane of the output
  void go_to(std::int64_t band);
  void fill(const char* x);
  void fill_phase(Fill& fill, std::int64_t deep, std::int64_t h, std::int64_t w);
  void flush(Fill& fill);

  const Convolution& conv_;
  const Band& band_;
  float* image_;
  std::int64_t place_ = -1, left_ = 0, top_ = 0, deep_ = 0, rows_ = 0, columns_ = 0, group_ = 0, image_number_ = 0;
  bool known_ = false, whole_ = false;  // the pieces are those of the last unit; they are all there
  Pieces pieces_;
};

// Calls work(begin, end, memory) over all units on several threads; false: no memory.
template <class Work>
bool over_bands(const Convolution& conv, const Band& band, Work work) {
  std::atomic<bool> failed{false};
  auto body = [&](std::int64_t begin, std::int64_t end) {
    float* memory = scratch();
    if (memory == nullptr) return failed.store(true);
    work(begin, end, memory);
  };
  const std::int64_t products = conv.filters * conv.depth() * band.rows * band.columns;
  parallel_for(band.units(conv), std::max(std::int64_t{1}, kUnitProducts / products), body);
  return !failed.load();
}

}  // namespace hacl
