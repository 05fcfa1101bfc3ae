#include "kernels/pooling.hpp"

#include "kernels/bands.hpp"

namespace hacl {

Pooled pool(const Convolution& windows, const float* divisors) {
  const std::int64_t depth = windows.taps();
  if (windows.groups * windows.places() == 0) return Pooled::kDone;
  if (depth < 1 || depth > static_cast<std::int64_t>(kDepth)) return Pooled::kNotHere;
  const Band band(windows);
  if (!band.fits(windows)) return Pooled::kNotHere;
  const ConvolveLoops& loops = table().convolve;
  const std::size_t extent = static_cast<std::size_t>(windows.kernel[0] * band.plane_size);
  std::atomic<bool> finite{true};
  const bool done = over_bands(windows, band, [&](std::int64_t begin, std::int64_t end, float* image) {
    float* results = image + kBandImage + kFewSlack;
    BandReader reader(windows, band, divisors == nullptr ? -__builtin_inff() : 0.0f, image);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      reader.read(unit);
      Finish finish = reader.finish(results);
      const std::size_t places = (finish.lines - 1) * finish.line_pitch + finish.n;
      if (divisors == nullptr) {
        loops.largest(reader.planes(), extent, band.lines, static_cast<std::size_t>(depth), places, results);
        loops.finish[windows.out_kind](finish);
      } else {
        loops.sum(reader.planes(), band.lines, static_cast<std::size_t>(depth), places, results);
        finish.divisors = divisors + reader.place();
        if (!loops.divide[windows.out_kind](finish)) finite.store(false, std::memory_order_relaxed);
      }
    }
  });
  return !done ? Pooled::kNoMemory : finite.load() ? Pooled::kDone : Pooled::kNotFinite;
}

}  // namespace hacl
