// Few filters in a group, depthwise above all: panels would cost more than the sums. The lines of the image are split by stride into
// planes in which the places of a band of the output, and of its padding, follow one another: every filter element is then one offset.
#include <algorithm>
#include <atomic>

#include "kernels/convolve.hpp"
#include "kernels/pool.hpp"

namespace hacl {
namespace {

constexpr std::int64_t kWeights = kFewRows * kDepthPitch;
constexpr std::int64_t kSlack = kFewSlack;
constexpr std::int64_t kImage = 48 << 10;         // floats of planes in a unit
constexpr std::int64_t kWidest = 1024;            // places of a line of a unit
constexpr std::int64_t kUnitProducts = 1 << 17;
static_assert(kWeights + kImage + kSlack + kFewRows * (kImage / 3 + kSlack) <= kScratch, "a unit fits the memory of a thread");

// How one axis of the planes is split: each element of the filter meets line or column shift + (its place) of a phase.
struct Axis {
  std::int64_t phase[kDepth];   // which elements a phase takes: its first one
  std::int64_t which[kDepth], shift[kDepth];  // of each element of the filter
  std::int64_t phases = 0, reach = 0;

  Axis(std::int64_t taps, std::int64_t stride, std::int64_t dilation) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t at = tap * dilation, first = at % stride;
      which[tap] = std::find(phase, phase + phases, first) - phase;
      if (which[tap] == phases) phase[phases++] = first;
      shift[tap] = at / stride;
      reach = std::max(reach, shift[tap]);
    }
  }
};

// The planes of one unit: rows x columns places of one image, group and depth.
struct Band {
  Axis high, wide;
  std::int64_t rows = 0, columns = 0, pitch = 0, phase_size = 0, plane_size = 0;
  std::int32_t lines[kDepth];

  explicit Band(const Convolution& c)
      : high(c.kernel[1], c.stride[1], c.dilation[1]), wide(c.kernel[2], c.stride[2], c.dilation[2]) {
    columns = std::min(c.size[2], kWidest);
    pitch = columns + wide.reach;
    const std::int64_t planes = c.channels * c.kernel[0];
    rows = std::min({c.size[1], kImage / (planes * high.phases * wide.phases * pitch) - high.reach, kImage / 3 / pitch});
    phase_size = (rows + high.reach) * pitch;
    plane_size = high.phases * wide.phases * phase_size;
    if (rows < 1) return;
    std::int32_t* line = lines;
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      for (std::int64_t h = 0; h < c.kernel[1]; ++h) {
        for (std::int64_t w = 0; w < c.kernel[2]; ++w) *line++ = static_cast<std::int32_t>(offset(plane, h, w));
      }
    }
  }

  std::int64_t offset(std::int64_t plane, std::int64_t h, std::int64_t w) const {
    const std::int64_t phase = high.which[h] * wide.phases + wide.which[w];
    return plane * plane_size + phase * phase_size + high.shift[h] * pitch + wide.shift[w];
  }
  std::int64_t down(const Convolution& c) const { return above(c.size[1], rows); }
  std::int64_t across(const Convolution& c) const { return above(c.size[2], columns); }
};

class Worker {
 public:
  Worker(const Convolution& conv, const Band& band, float* memory)
      : conv_(conv), band_(band), loops_(table()), weights_(memory), image_(memory + kWeights), sums_(image_ + kImage + kSlack) {}

  void run(std::int64_t unit) {
    const std::int64_t group = unit % conv_.groups;
    unit /= conv_.groups;
    const std::int64_t band = unit % (band_.across(conv_) * band_.down(conv_) * conv_.size[0]);
    const std::int64_t image = unit / (band_.across(conv_) * band_.down(conv_) * conv_.size[0]);
    if (band != place_) go_to(band);
    fill(conv_.x + (image * conv_.groups + group) * conv_.channels * conv_.plane() * kKindSize[conv_.kind]);
    multiply(group);
    finish(group, image);
  }

 private:
  void go_to(std::int64_t band) {
    left_ = band % band_.across(conv_) * band_.columns;
    top_ = band / band_.across(conv_) % band_.down(conv_) * band_.rows;
    deep_ = band / band_.across(conv_) / band_.down(conv_);
    rows_ = std::min(band_.rows, conv_.size[1] - top_);
    columns_ = std::min(band_.columns, conv_.size[2] - left_);
    place_ = band;
    known_ = false;
  }

  void fill(const char* x) {
    for (std::int64_t d = 0; d < conv_.kernel[0]; ++d) {
      const std::int64_t at = deep_ * conv_.stride[0] - conv_.before[0] + d * conv_.dilation[0];
      Fill to{x, image_ + d * band_.plane_size, pieces_.items(), 0, static_cast<std::size_t>(conv_.stride[2]),
              static_cast<std::size_t>(conv_.channels), conv_.plane(), conv_.kernel[0] * band_.plane_size};
      if (known_) {
        flush(to);
        continue;
      }
      pieces_.clear();
      whole_ = conv_.kernel[0] == 1;
      for (std::int64_t h = 0; h < band_.high.phases; ++h) {
        for (std::int64_t w = 0; w < band_.wide.phases; ++w) fill_phase(to, at, h, w);
      }
      flush(to);
      if (whole_) pieces_.drop_zeros();  // the next image has the others at the same places, and zeros are there
      known_ = whole_;
    }
  }

  void fill_phase(Fill& fill, std::int64_t deep, std::int64_t h, std::int64_t w) {
    const std::int64_t first = left_ * conv_.stride[2] - conv_.before[2] + band_.wide.phase[w];
    for (std::int64_t row = 0; row < rows_ + band_.high.reach; ++row) {
      const std::int64_t high = (top_ + row) * conv_.stride[1] - conv_.before[1] + band_.high.phase[h];
      const std::int64_t to = (h * band_.wide.phases + w) * band_.phase_size + row * band_.pitch;
      if (pieces_.full()) {
        flush(fill);
        pieces_.clear();
        whole_ = false;
      }
      if (deep < 0 || deep >= conv_.in[0] || high < 0 || high >= conv_.in[1]) pieces_.zeros(to, band_.pitch);
      else pieces_.part_of_line((deep * conv_.in[1] + high) * conv_.in[2], conv_.in[2], first, conv_.stride[2], to, band_.pitch);
    }
  }

  void flush(Fill& fill) {
    fill.count = pieces_.count();
    loops_.convolve.fill[conv_.kind](fill);
  }

  void multiply(std::int64_t group) {
    const std::int64_t depth = conv_.depth();
    for (std::int64_t r = 0; r < conv_.filters; ++r) {
      loops_.convert[conv_.kind][kFloat](conv_.filter + (group * conv_.filters + r) * depth * kKindSize[conv_.kind],
                                         weights_ + r * static_cast<std::int64_t>(kDepthPitch), static_cast<std::size_t>(depth), false);
    }
    loops_.convolve.few(weights_, image_, band_.lines, static_cast<std::size_t>(depth), static_cast<std::size_t>(conv_.filters),
                    static_cast<std::size_t>((rows_ - 1) * band_.pitch + columns_), sums_, sums_pitch());
  }

  void finish(std::int64_t group, std::int64_t image) const {
    const std::int64_t filter = group * conv_.filters, each = conv_.places();
    const std::int64_t first = ((image * conv_.groups * conv_.filters + filter) * conv_.size[0] + deep_) * conv_.size[1] + top_;
    const Finish sums{sums_, sums_pitch(), static_cast<std::size_t>(band_.pitch), conv_.bias != nullptr ? conv_.bias + filter : nullptr,
                      static_cast<std::size_t>(conv_.filters), static_cast<std::size_t>(rows_), static_cast<std::size_t>(columns_),
                      conv_.out + (first * conv_.size[2] + left_) * kKindSize[conv_.out_kind], static_cast<std::size_t>(each),
                      static_cast<std::size_t>(conv_.size[2])};
    loops_.convolve.finish[conv_.out_kind](sums);
  }

  std::size_t sums_pitch() const { return static_cast<std::size_t>(band_.rows * band_.pitch + kSlack); }

  const Convolution& conv_;
  const Band& band_;
  const Table& loops_;
  float *weights_, *image_, *sums_;
  std::int64_t place_ = -1, left_ = 0, top_ = 0, deep_ = 0, rows_ = 0, columns_ = 0;
  bool known_ = false, whole_ = false;  // the pieces are those of the last unit; they are all there
  Pieces pieces_;
};

}  // namespace

bool few_are_enough(const Convolution& conv) {
  if (conv.filters > static_cast<std::int64_t>(kFewRows) || conv.depth() < 1 || conv.depth() > static_cast<std::int64_t>(kDepth)) return false;
  return Band(conv).rows >= std::min(conv.size[1], std::int64_t{4});
}

bool convolve_few(const Convolution& conv) {
  const Band band(conv);
  std::atomic<bool> failed{false};
  auto body = [&](std::int64_t begin, std::int64_t end) {
    float* memory = scratch();
    if (memory == nullptr) return failed.store(true);
    Worker worker(conv, band, memory);
    for (std::int64_t unit = begin; unit < end; ++unit) worker.run(unit);
  };
  const std::int64_t units = conv.images * conv.groups * conv.size[0] * band.down(conv) * band.across(conv);
  const std::int64_t products = conv.filters * conv.depth() * band.rows * band.columns;
  parallel_for(units, std::max(std::int64_t{1}, kUnitProducts / products), body);
  return !failed.load();
}

}  // namespace hacl
