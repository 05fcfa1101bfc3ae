#include "kernels/bands.hpp"

namespace hacl {
namespace {

constexpr std::int64_t kWidest = 1024;  // places of a line of a unit

}  // namespace

Axis::Axis(std::int64_t taps, std::int64_t stride, std::int64_t dilation) {
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const std::int64_t at = tap * dilation, first = at % stride;
    which[tap] = std::find(phase, phase + phases, first) - phase;
    if (which[tap] == phases) phase[phases++] = first;
    shift[tap] = at / stride;
    reach = std::max(reach, shift[tap]);
  }
}

Band::Band(const Convolution& c) : high(c.kernel[1], c.stride[1], c.dilation[1]), wide(c.kernel[2], c.stride[2], c.dilation[2]) {
  columns = std::min(c.size[2], kWidest);
  pitch = columns + wide.reach;
  const std::int64_t planes = c.channels * c.kernel[0];
  rows = std::min({c.size[1], kBandImage / (planes * high.phases * wide.phases * pitch) - high.reach, kBandSums / pitch});
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

std::int64_t Band::offset(std::int64_t plane, std::int64_t h, std::int64_t w) const {
  const std::int64_t phase = high.which[h] * wide.phases + wide.which[w];
  return plane * plane_size + phase * phase_size + high.shift[h] * pitch + wide.shift[w];
}

void BandReader::read(std::int64_t unit) {
  const std::int64_t bands = band_.across(conv_) * band_.down(conv_) * conv_.size[0];
  group_ = unit % conv_.groups;
  const std::int64_t band = unit / conv_.groups % bands;
  image_number_ = unit / conv_.groups / bands;
  if (band != place_) go_to(band);
  fill(conv_.x + (image_number_ * conv_.groups + group_) * conv_.channels * conv_.plane() * kKindSize[conv_.kind]);
}

void BandReader::go_to(std::int64_t band) {
  left_ = band % band_.across(conv_) * band_.columns;
  top_ = band / band_.across(conv_) % band_.down(conv_) * band_.rows;
  deep_ = band / band_.across(conv_) / band_.down(conv_);
  rows_ = std::min(band_.rows, conv_.size[1] - top_);
  columns_ = std::min(band_.columns, conv_.size[2] - left_);
  place_ = band;
  known_ = false;
}

void BandReader::fill(const char* x) {
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
    if (whole_) pieces_.drop_empty();  // the next image has the others at the same places, and nothing is where nothing was
    known_ = whole_;
  }
}

void BandReader::fill_phase(Fill& fill, std::int64_t deep, std::int64_t h, std::int64_t w) {
  const std::int64_t first = left_ * conv_.stride[2] - conv_.before[2] + band_.wide.phase[w];
  for (std::int64_t row = 0; row < rows_ + band_.high.reach; ++row) {
    const std::int64_t high = (top_ + row) * conv_.stride[1] - conv_.before[1] + band_.high.phase[h];
    const std::int64_t to = (h * band_.wide.phases + w) * band_.phase_size + row * band_.pitch;
    if (pieces_.full()) {
      flush(fill);
      pieces_.clear();
      whole_ = false;
    }
    if (deep < 0 || deep >= conv_.in[0] || high < 0 || high >= conv_.in[1]) pieces_.nothing(to, band_.pitch);
    else pieces_.part_of_line((deep * conv_.in[1] + high) * conv_.in[2], conv_.in[2], first, conv_.stride[2], to, band_.pitch);
  }
}

void BandReader::flush(Fill& fill) {
  fill.count = pieces_.count();
  table().convolve.fill[conv_.kind](fill);
}

Finish BandReader::finish(const float* sums) const {
  const std::int64_t filter = group_ * conv_.filters;
  const std::int64_t first = (image_number_ * conv_.groups * conv_.filters + filter) * conv_.places() + place();
  return {sums, band_.sums_pitch(), static_cast<std::size_t>(band_.pitch), conv_.bias != nullptr ? conv_.bias + filter : nullptr,
          static_cast<std::size_t>(conv_.filters), static_cast<std::size_t>(rows_), static_cast<std::size_t>(columns_),
          conv_.out + first * kKindSize[conv_.out_kind], static_cast<std::size_t>(conv_.places()),
          static_cast<std::size_t>(conv_.size[2])};
}

}  // namespace hacl
