// So few places that a vector of them would be mostly empty: each sum is a dot product of its filter with what lies under it.
#include <algorithm>
#include <atomic>

#include "kernels/convolve.hpp"
#include "kernels/pool.hpp"

namespace hacl {
namespace {

constexpr std::int64_t kMostPlaces = 4;
constexpr std::int64_t kColumns = 96 << 10;       // floats: what lies under the filter at each place
constexpr std::int64_t kPart = 1024;              // of a filter, widened at once
constexpr std::int64_t kRows = 1024;              // filters whose sums wait together
constexpr std::int64_t kSumsPitch = 16;
constexpr std::int64_t kWorthThreads = 1 << 18;   // products
static_assert(kColumns + kPart + kRows * kSumsPitch <= kScratch, "a unit fits the memory of a thread");

class Worker {
 public:
  Worker(const Convolution& conv, float* memory)
      : conv_(conv), loops_(table()), depth_(conv.depth()), columns_(memory), part_(memory + kColumns), sums_(part_ + kPart) {}

  void run(std::int64_t group, std::int64_t first, std::int64_t last) {
    const std::int64_t places = conv_.images * conv_.places();
    if (group != group_) {
      for (std::int64_t place = 0; place < places; ++place) gather(group, place);
    }
    group_ = group;
    for (; first < last; first += kRows) {
      const std::int64_t rows = std::min(kRows, last - first);
      for (std::int64_t row = 0; row < rows; ++row) multiply(group * conv_.filters + first + row, places, sums_ + row * kSumsPitch);
      finish(group * conv_.filters + first, rows);
    }
  }

 private:
  void gather(std::int64_t group, std::int64_t place) {
    const std::int64_t image = place / conv_.places(), at = place % conv_.places(), taps = conv_.taps();
    const std::int64_t along[3] = {at / conv_.size[2] / conv_.size[1], at / conv_.size[2] % conv_.size[1], at % conv_.size[2]};
    const char* x = conv_.x + (image * conv_.groups + group) * conv_.channels * conv_.plane() * kKindSize[conv_.kind];
    Fill fill{x, columns_ + place * depth_, pieces_.items(), 0, 1, static_cast<std::size_t>(conv_.channels), conv_.plane(), taps};
    pieces_.clear();
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      if (pieces_.full()) flush(fill);
      const std::int64_t which[3] = {tap / conv_.kernel[2] / conv_.kernel[1], tap / conv_.kernel[2] % conv_.kernel[1], tap % conv_.kernel[2]};
      std::int64_t from[3];
      for (int d = 0; d < 3; ++d) from[d] = along[d] * conv_.stride[d] - conv_.before[d] + which[d] * conv_.dilation[d];
      if (from[0] < 0 || from[0] >= conv_.in[0] || from[1] < 0 || from[1] >= conv_.in[1]) pieces_.nothing(tap, 1);
      else pieces_.part_of_line((from[0] * conv_.in[1] + from[1]) * conv_.in[2], conv_.in[2], from[2], 1, tap, 1);
    }
    flush(fill);
  }

  void flush(Fill& fill) {
    fill.count = pieces_.count();
    loops_.convolve.fill[conv_.kind](fill);
    pieces_.clear();
  }

  void multiply(std::int64_t filter, std::int64_t places, float* sums) {
    double totals[kMostPlaces] = {};
    for (std::int64_t start = 0; start < depth_; start += kPart) {
      const std::size_t n = static_cast<std::size_t>(std::min(kPart, depth_ - start));
      const char* weights = conv_.filter + (filter * depth_ + start) * kKindSize[conv_.kind];
      if (conv_.kind != kFloat) loops_.convert[conv_.kind][kFloat](weights, part_, n, false);
      const float* wide = conv_.kind != kFloat ? part_ : reinterpret_cast<const float*>(weights);
      for (std::int64_t place = 0; place < places; ++place) totals[place] += loops_.convolve.dot(wide, columns_ + place * depth_ + start, n);
    }
    for (std::int64_t place = 0; place < places; ++place) sums[place] = static_cast<float>(totals[place]);
  }

  void finish(std::int64_t filter, std::int64_t rows) const {
    const std::int64_t each = conv_.places();
    for (std::int64_t image = 0; image < conv_.images; ++image) {
      char* out = conv_.out + (image * conv_.groups * conv_.filters + filter) * each * kKindSize[conv_.out_kind];
      const Finish sums{sums_ + image * each, kSumsPitch, 0, conv_.bias != nullptr ? conv_.bias + filter : nullptr,
                        static_cast<std::size_t>(rows), 1, static_cast<std::size_t>(each), out, static_cast<std::size_t>(each), 0};
      loops_.convolve.finish[conv_.out_kind](sums);
    }
  }

  const Convolution& conv_;
  const Table& loops_;
  const std::int64_t depth_;
  float *columns_, *part_, *sums_;
  std::int64_t group_ = -1;
  Pieces pieces_;
};

}  // namespace

bool dots_are_enough(const Convolution& conv) {
  const std::int64_t places = conv.images * conv.places();
  return places <= kMostPlaces && conv.filters > static_cast<std::int64_t>(kFewRows) && conv.depth() * places <= kColumns;
}

bool convolve_by_dots(const Convolution& conv) {
  const bool large = conv.images * conv.places() * conv.groups * conv.filters * conv.depth() >= kWorthThreads;
  const std::int64_t parts = large ? std::min<std::int64_t>(conv.filters, above(2 * thread_count(), conv.groups)) : 1;
  const std::int64_t rows = above(conv.filters, parts);
  std::atomic<bool> failed{false};
  auto body = [&](std::int64_t begin, std::int64_t end) {
    float* memory = scratch();
    if (memory == nullptr) return failed.store(true);
    Worker worker(conv, memory);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t first = unit % parts * rows;
      worker.run(unit / parts, first, std::min(conv.filters, first + rows));
    }
  };
  if (large) parallel_for(conv.groups * parts, 1, body);
  else body(std::int64_t{0}, conv.groups * parts);
  return !failed.load();
}

}  // namespace hacl
