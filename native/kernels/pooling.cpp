#include "kernels/pooling.hpp"

#include "kernels/bands.hpp"

namespace hacl {
namespace {

constexpr std::int64_t kWidest = 1024;      // windows of a line of a unit
constexpr std::int64_t kLines = 48 << 10;   // floats of lines of a unit, at most
constexpr std::int64_t kPadded = 16 << 10;  // and of a line with its padding
constexpr std::int64_t kFewest = 4;          // lines of a unit, if there are so many
constexpr std::int64_t kNarrowest = 16;      // windows of a line of a unit, likewise
constexpr std::int64_t kSlack = kPoolSlack;
static_assert(kLines + kPadded + 2 * kSlack <= kScratch, "a unit fits the memory of a thread");

// How the output is cut: rows x columns places of one plane and depth.
struct Cut {
  Axis high;
  std::int64_t rows = 0, columns = 0, phase_size = 0, plane_size = 0;
  std::int32_t lines[kDepth];

  explicit Cut(const Convolution& c) : high(c.kernel[1], c.stride[1], c.dilation[1]) {
    const std::int64_t reach = (c.kernel[2] - 1) * c.dilation[2], phases = c.kernel[0] * high.phases;
    columns = std::min({c.size[2], kWidest, kLines / (phases * (2 * high.reach + kFewest)), (kPadded - 1 - reach) / c.stride[2] + 1});
    if (columns < std::min(c.size[2], kNarrowest) || reach >= kPadded) return;
    rows = std::min(c.size[1], kLines / (phases * columns) - high.reach);
    phase_size = (rows + high.reach) * columns;
    plane_size = high.phases * phase_size;
    std::int32_t* line = lines;
    for (std::int64_t d = 0; d < c.kernel[0]; ++d) {
      for (std::int64_t h = 0; h < c.kernel[1]; ++h) {
        *line++ = static_cast<std::int32_t>(d * plane_size + high.which[h] * phase_size + high.shift[h] * columns);
      }
    }
  }

  std::int64_t down(const Convolution& c) const { return above(c.size[1], rows); }
  std::int64_t across(const Convolution& c) const { return above(c.size[2], columns); }
  std::int64_t units(const Convolution& c) const { return c.groups * c.size[0] * down(c) * across(c); }
};

// Works on one unit after another in the memory of a thread.
class Pooler {
 public:
  Pooler(const Convolution& conv, const Cut& cut, const float* divisors, float* memory)
      : conv_(conv), cut_(cut), divisors_(divisors), lines_(memory), padded_(memory + kLines + kSlack),
        op_(divisors == nullptr ? kPoolLargest : kPoolMean) {}

  bool run(std::int64_t unit) {
    go_to(unit);
    bool nan = false;
    for (std::int64_t d = 0; d < conv_.kernel[0]; ++d) nan |= read(d);
    return loops_.rows[op_][conv_.out_kind](rows(nan));
  }

 private:
  void go_to(std::int64_t unit) {
    const std::int64_t across = cut_.across(conv_), down = cut_.down(conv_);
    left_ = unit % across * cut_.columns;
    top_ = unit / across % down * cut_.rows;
    deep_ = unit / across / down % conv_.size[0];
    plane_ = unit / across / down / conv_.size[0];
    rows_ = std::min(cut_.rows, conv_.size[1] - top_);
    columns_ = std::min(cut_.columns, conv_.size[2] - left_);
    windows_ = windows();
  }

  LineWindows windows() const {
    const std::int64_t stride = conv_.stride[2], dilation = conv_.dilation[2], start = left_ * stride - conv_.before[2];
    const std::int64_t room = conv_.in[2] - 1 - (conv_.kernel[2] - 1) * dilation - start;  // the last window inside begins so far from the first
    const std::int64_t low = start < 0 ? std::min(columns_, above(-start, stride)) : 0;
    const std::int64_t high = room < 0 ? low : std::max(low, std::min(columns_, room / stride + 1));
    return {static_cast<std::size_t>(conv_.kernel[2]), stride, dilation, start, conv_.in[2], columns_, low, high, padded_};
  }

  // Windows along the lines of one element of the windows' depth, as they lie in the image; true: with a NaN.
  bool read(std::int64_t d) {
    const std::int64_t deep = deep_ * conv_.stride[0] - conv_.before[0] + d * conv_.dilation[0];
    const char* plane = conv_.x + (plane_ * conv_.in[0] + deep) * conv_.in[1] * conv_.in[2] * kKindSize[conv_.kind];
    bool nan = false;
    for (std::int64_t row = 0; row < rows_ + cut_.high.reach; ++row) {
      for (std::int64_t phase = 0; phase < cut_.high.phases; ++phase) {
        const std::int64_t high = (top_ + row) * conv_.stride[1] - conv_.before[1] + cut_.high.phase[phase];
        const bool inside = deep >= 0 && deep < conv_.in[0] && high >= 0 && high < conv_.in[1];
        float* to = lines_ + d * cut_.plane_size + phase * cut_.phase_size + row * cut_.columns;
        if (inside) nan |= loops_.line[op_][conv_.kind](plane + high * conv_.in[2] * kKindSize[conv_.kind], windows_, to);
        else std::fill(to, to + columns_, divisors_ == nullptr ? -__builtin_inff() : 0.0f);
      }
    }
    return nan;
  }

  PooledRows rows(bool nan) const {
    const std::int64_t place = (deep_ * conv_.size[1] + top_) * conv_.size[2] + left_;
    const bool dense = columns_ == conv_.size[2] && columns_ == cut_.columns;  // rows follow one another
    const auto n = static_cast<std::size_t>(columns_), rows = static_cast<std::size_t>(rows_);
    return {lines_, static_cast<std::size_t>(cut_.columns), cut_.lines, static_cast<std::size_t>(conv_.kernel[0] * conv_.kernel[1]),
            dense ? 1 : rows, dense ? rows * n : n, nan, divisors_ != nullptr ? divisors_ + place : nullptr,
            conv_.out + (plane_ * conv_.places() + place) * kKindSize[conv_.out_kind], static_cast<std::size_t>(conv_.size[2])};
  }

  const Convolution& conv_;
  const Cut& cut_;
  const float* divisors_;
  float *lines_, *padded_;
  const PoolingLoops& loops_ = table().pooling;
  const PoolOp op_;
  std::int64_t plane_ = 0, deep_ = 0, top_ = 0, left_ = 0, rows_ = 0, columns_ = 0;
  LineWindows windows_{};
};

}  // namespace

Pooled pool(const Convolution& windows, const float* divisors) {
  const std::int64_t depth = windows.taps();
  if (windows.groups * windows.places() == 0) return Pooled::kDone;
  if (depth < 1 || depth > static_cast<std::int64_t>(kDepth)) return Pooled::kNotHere;
  const Cut cut(windows);
  if (cut.rows < 1) return Pooled::kNotHere;
  std::atomic<bool> failed{false}, finite{true};
  auto body = [&](std::int64_t begin, std::int64_t end) {
    float* memory = scratch();
    if (memory == nullptr) return failed.store(true);
    Pooler pooler(windows, cut, divisors, memory);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      if (!pooler.run(unit)) finite.store(false, std::memory_order_relaxed);
    }
  };
  parallel_for(cut.units(windows), std::max(std::int64_t{1}, kUnitProducts / (depth * cut.rows * cut.columns)), body);
  return failed.load() ? Pooled::kNoMemory : finite.load() ? Pooled::kDone : Pooled::kNotFinite;
}

}  // namespace hacl
