#include "kernels/convolve.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "kernels/pool.hpp"

namespace hacl {
namespace {

constexpr std::int64_t kTile = 256;               // places of the output that share their panels
constexpr std::int64_t kPiecePlaces = 96;         // at least so many of them, and
constexpr std::int64_t kPieceFilters = 48;        // so many filters, when the work is cut for threads
constexpr std::int64_t kSums = 48 << 10;          // floats
constexpr std::int64_t kMostRows = 16;
constexpr std::int64_t kGap = 16;                 // between the rows of sums: no power of two, for the cache
constexpr std::int64_t kCrowded = 1024;           // floats; rows that lie a multiple of these apart meet in a few sets of a cache
constexpr std::int64_t kDepthSteps = kDepth;
constexpr std::int64_t kWeights = kMostRows * kDepthPitch, kPanels = kDepth * rounded_up(kTile, kWidestPanel);
constexpr std::int64_t kWorthThreads = 1 << 20;   // products
static_assert(kWeights + kPanels + kSums <= kScratch, "a unit fits the memory of a thread");
static_assert(3 * kTile <= Pieces::kMost, "each run of places makes three pieces at most");

// A run of output places along one line of one panel, and where in the image the first element of the filter meets the first of them.
struct Run {
  std::ptrdiff_t image;
  std::int64_t at[3];
  std::ptrdiff_t to;
  std::int64_t n;
};

// How the work is cut: into units of some filters of a group at some places, those of all images in one row.
struct Cut {
  std::int64_t places, tile, tiles, rows, blocks, pitch;

  Cut(const Convolution& c, std::int64_t panel, int threads) : places(c.images * c.places()) {
    set(c, panel, above(places, kTile), 1);
    if (threads == 1) return;
    const std::int64_t most = above(4 * threads, c.groups);
    if (tiles < most) set(c, panel, std::min(above(places, kPiecePlaces), most), 1);
    if (tiles > threads && !even(c, threads)) set(c, panel, rounded_up(tiles, threads), 1);
    const std::int64_t wanted = above(2 * threads, c.groups * tiles), most_blocks = above(c.filters, kPieceFilters);
    if (blocks < wanted) set(c, panel, tiles, std::min(most_blocks, wanted));
    if (!even(c, threads)) set(c, panel, tiles, std::min(most_blocks, 2 * blocks));
  }

  // Whether no thread has much more to do than another.
  bool even(const Convolution& c, std::int64_t threads) const {
    const std::int64_t units = c.groups * tiles * blocks;
    return units % threads == 0 || units >= 8 * threads;
  }

  void set(const Convolution& c, std::int64_t panel, std::int64_t wanted_tiles, std::int64_t wanted_blocks) {
    tile = rounded_up(above(places, wanted_tiles), panel / 2);
    tiles = above(places, tile);
    pitch = rounded_up(tile, panel) + kGap;
    rows = above(c.filters, std::max(wanted_blocks, above(c.filters, kSums / pitch)));
    blocks = above(c.filters, rows);
  }
};

// Rows of elements of filters, so many floats apart.
struct Weights {
  const float* first;
  std::size_t apart;
};

// One unit at a time in the memory of a thread.
class Worker {
 public:
  Worker(const Convolution& conv, const Cut& cut, float* memory)
      : conv_(conv), cut_(cut), loops_(table()), panel_(static_cast<std::int64_t>(loops_.convolve.panel)), weights_(memory),
        panels_(memory + kWeights), sums_(memory + kWeights + kPanels) {}

  void run(std::int64_t unit) {
    first_row_ = unit % cut_.blocks * cut_.rows;
    rows_ = std::min(cut_.rows, conv_.filters - first_row_);
    group_ = unit / cut_.blocks % conv_.groups;
    first_ = unit / cut_.blocks / conv_.groups * cut_.tile;
    count_ = std::min(cut_.tile, cut_.places - first_);
    find_runs();
    const std::int64_t taps = conv_.taps(), depth = conv_.depth();
    const std::int64_t step = taps <= kDepthSteps ? kDepthSteps / std::max(taps, std::int64_t{1}) * taps : kDepthSteps;
    for (std::int64_t start = 0; start < depth; start += step) {
      const std::int64_t end = std::min(depth, start + step);
      fill_panels(start, end);
      multiply(start, end);
    }
    if (depth == 0) std::fill_n(sums_, rows_ * cut_.pitch, 0.0f);
    finish();
  }

 private:
  void find_runs() {
    run_count_ = 0;
    const std::int64_t each = conv_.places(), line = conv_.size[2];
    for (std::int64_t done = 0; done < count_;) {
      const std::int64_t place = (first_ + done) % each, w = place % line;
      Run& run = runs_[run_count_++];
      run.image = (first_ + done) / each * conv_.groups * conv_.channels * conv_.plane();
      const std::int64_t at[3] = {place / line / conv_.size[1], place / line % conv_.size[1], w};
      for (int d = 0; d < 3; ++d) run.at[d] = at[d] * conv_.stride[d] - conv_.before[d];
      run.to = done / panel_ * panel_ * kDepthSteps + done % panel_;
      run.n = std::min({line - w, panel_ - done % panel_, count_ - done});
      done += run.n;
    }
  }

  // The lines start..end of the panels: what each element of a filter meets at each place.
  void fill_panels(std::int64_t start, std::int64_t end) {
    const std::int64_t taps = conv_.taps();
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t first = start > tap ? above(start - tap, taps) : 0;
      const std::int64_t last = end > tap ? above(end - tap, taps) : 0;
      if (first >= last) continue;
      find_pieces(tap);
      const std::int64_t channel = group_ * conv_.channels + first;
      Fill fill{conv_.x + channel * conv_.plane() * kKindSize[conv_.kind], panels_ + (first * taps + tap - start) * panel_,
                pieces_.items(), pieces_.count(), static_cast<std::size_t>(conv_.stride[2]), static_cast<std::size_t>(last - first),
                conv_.plane(), taps * panel_};
      loops_.convolve.fill[conv_.kind](fill);
    }
  }

  void find_pieces(std::int64_t tap) {
    const std::int64_t w = tap % conv_.kernel[2], h = tap / conv_.kernel[2] % conv_.kernel[1];
    const std::int64_t d = tap / conv_.kernel[2] / conv_.kernel[1];
    pieces_.clear();
    for (const Run* run = runs_; run != runs_ + run_count_; ++run) {
      const std::int64_t deep = run->at[0] + d * conv_.dilation[0], high = run->at[1] + h * conv_.dilation[1];
      if (deep < 0 || deep >= conv_.in[0] || high < 0 || high >= conv_.in[1]) {
        pieces_.nothing(run->to, run->n);
        continue;
      }
      pieces_.part_of_line(run->image + (deep * conv_.in[1] + high) * conv_.in[2], conv_.in[2], run->at[2] + w * conv_.dilation[2],
                           conv_.stride[2], run->to, run->n);
    }
  }

  void multiply(std::int64_t start, std::int64_t end) {
    const std::int64_t k = end - start, most = static_cast<std::int64_t>(loops_.convolve.rows);
    for (std::int64_t row = 0, rows = 0; row < rows_; row += rows) {
      rows = above(rows_ - row, above(rows_ - row, most));  // evenly: few rows keep few units busy
      const Weights weights = weights_of(group_ * conv_.filters + first_row_ + row, rows, start, k);
      loops_.convolve.multiply(weights.first, weights.apart, panels_, static_cast<std::size_t>(k), static_cast<std::size_t>(rows),
                           static_cast<std::size_t>(count_), sums_ + row * cut_.pitch, static_cast<std::size_t>(cut_.pitch), start > 0);
    }
  }

  // Elements of so many filters: where they lie, or widened; copied when they lie where a cache has too few places for all.
  Weights weights_of(std::int64_t filter, std::int64_t rows, std::int64_t start, std::int64_t k) const {
    const std::int64_t depth = conv_.depth();
    const char* first = conv_.filter + (filter * depth + start) * kKindSize[conv_.kind];
    if (conv_.kind == kFloat && depth % kCrowded != 0) return {reinterpret_cast<const float*>(first), static_cast<std::size_t>(depth)};
    for (std::int64_t r = 0; r < rows; ++r) {
      loops_.convert[conv_.kind][kFloat](first + r * depth * kKindSize[conv_.kind], weights_ + r * static_cast<std::int64_t>(kDepthPitch),
                                         static_cast<std::size_t>(k), false);
    }
    return {weights_, kDepthPitch};
  }

  void finish() const {
    const std::int64_t each = conv_.places(), filter = group_ * conv_.filters + first_row_;
    for (std::int64_t done = 0, n = 0; done < count_; done += n) {
      const std::int64_t image = (first_ + done) / each, place = (first_ + done) % each;
      n = std::min(each - place, count_ - done);
      char* out = conv_.out + ((image * conv_.groups * conv_.filters + filter) * each + place) * kKindSize[conv_.out_kind];
      const Finish sums{sums_ + done, static_cast<std::size_t>(cut_.pitch), 0, conv_.bias != nullptr ? conv_.bias + filter : nullptr,
                        static_cast<std::size_t>(rows_), 1, static_cast<std::size_t>(n), out, static_cast<std::size_t>(each), 0};
      loops_.convolve.finish[conv_.out_kind](sums);
    }
  }

  const Convolution& conv_;
  const Cut& cut_;
  const Table& loops_;
  const std::int64_t panel_;
  float *weights_, *panels_, *sums_;
  std::int64_t first_row_ = 0, rows_ = 0, group_ = 0, first_ = 0, count_ = 0;
  std::int64_t run_count_ = 0;
  Run runs_[kTile];
  Pieces pieces_;
};

bool convolve_by_panels(const Convolution& conv) {
  const bool large = conv.images * conv.groups * conv.filters * conv.places() * conv.depth() >= kWorthThreads;
  const Cut cut(conv, static_cast<std::int64_t>(table().convolve.panel), large ? thread_count() : 1);
  std::atomic<bool> failed{false};
  auto body = [&](std::int64_t begin, std::int64_t end) {
    float* memory = scratch();
    if (memory == nullptr) return failed.store(true);
    Worker worker(conv, cut, memory);
    for (std::int64_t unit = begin; unit < end; ++unit) worker.run(unit);
  };
  const std::int64_t units = cut.tiles * conv.groups * cut.blocks;
  if (large) parallel_for(units, 1, body);
  else body(std::int64_t{0}, units);
  return !failed.load();
}

// Axes along which a filter of one element goes from place to place without a gap are one line.
void join_axes(Convolution& c) {
  auto plain = [&](int d) { return c.kernel[d] == 1 && c.stride[d] == 1 && c.in[d] == c.size[d] && c.before[d] == 0; };
  for (int d = 1; d >= 0 && plain(d) && plain(2); --d) {
    c.in[2] = c.size[2] *= c.size[d];
    c.in[d] = c.size[d] = 1;
  }
}

}  // namespace

void Pieces::part_of_line(std::ptrdiff_t line, std::int64_t width, std::int64_t first, std::int64_t step, std::ptrdiff_t to, std::int64_t n) {
  std::int64_t low = 0, high = n;
  if (first < 0) low = std::min(n, step == 1 ? -first : above(-first, step));
  if (first + (n - 1) * step >= width) high = first >= width ? 0 : std::min(n, above(width - first, step));
  if (low >= high) return nothing(to, n);
  nothing(to, low);
  items_[count_++] = {line + first + low * step, to + low, static_cast<std::size_t>(high - low)};
  nothing(to + high, n - high);
}

void Pieces::drop_empty() {
  count_ = static_cast<std::size_t>(std::remove_if(items_, items_ + count_, [](const Piece& p) { return p.from == kNothing; }) - items_);
}

float* scratch() {
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  thread_local std::unique_ptr<float, Free> memory;
  if (memory == nullptr) memory.reset(static_cast<float*>(std::aligned_alloc(64, kScratch * sizeof(float))));
  return memory.get();
}

bool convolve(Convolution conv) {
  if (conv.images * conv.groups * conv.filters * conv.places() == 0) return true;
  join_axes(conv);
  if (dots_are_enough(conv)) return convolve_by_dots(conv);
  return few_are_enough(conv) ? convolve_few(conv) : convolve_by_panels(conv);
}

}  // namespace hacl
