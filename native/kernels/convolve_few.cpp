// Few filters in a group: panels would cost more than the sums, which read the image in bands instead.
#include "kernels/bands.hpp"

namespace hacl {
namespace {

constexpr std::int64_t kWeights = kFewRows * kDepthPitch;
constexpr std::int64_t kSlack = kFewSlack;
static_assert(kWeights + kBandImage + kSlack + kFewRows * (kBandSums + kSlack) <= kScratch, "a unit fits the memory of a thread");

}  // namespace

bool few_are_enough(const Convolution& conv) {
  const bool few = conv.filters <= static_cast<std::int64_t>(kFewRows) && conv.depth() >= 1 && conv.depth() <= static_cast<std::int64_t>(kDepth);
  return few && Band(conv).fits(conv);
}

bool convolve_few(const Convolution& conv) {
  const Band band(conv);
  const Table& loops = table();
  const std::int64_t depth = conv.depth();
  return over_bands(conv, band, [&](std::int64_t begin, std::int64_t end, float* weights) {
    float* sums = weights + kWeights + kBandImage + kSlack;
    BandReader reader(conv, band, weights + kWeights);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      reader.read(unit);
      for (std::int64_t r = 0; r < conv.filters; ++r) {
        const char* filter = conv.filter + (reader.group() * conv.filters + r) * depth * kKindSize[conv.kind];
        loops.convert[conv.kind][kFloat](filter, weights + r * static_cast<std::int64_t>(kDepthPitch), static_cast<std::size_t>(depth), false);
      }
      const Finish finish = reader.finish(sums);
      const std::size_t places = (finish.lines - 1) * finish.line_pitch + finish.n;
      loops.convolve.few(weights, reader.planes(), band.lines, static_cast<std::size_t>(depth), finish.rows, places, sums, finish.pitch);
      loops.convolve.finish[conv.out_kind](finish);
    }
  });
}

}  // namespace hacl
