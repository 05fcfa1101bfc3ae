#include "kernels/copy.hpp"

#include <cstring>
#include <utility>

#include "kernels/pool.hpp"

namespace hacl {
namespace {

struct Word16 {
  std::uint64_t part[2];
};

// Dimensions in the order of the output's memory, its smallest stride last, and merged where both sides allow.
void normalise(CopyPlan& p) {
  int kept = 0;
  for (int d = 0; d < p.nd; ++d) {
    if (p.shape[d] == 1) continue;
    std::int64_t from = p.from[d], to = p.to[d];
    const std::int64_t n = p.shape[d];
    if (to < 0) {
      p.out += to * (n - 1);
      p.x += from * (n - 1);
      to = -to;
      from = -from;
    }
    int at = kept++;
    for (; at > 0 && p.to[at - 1] < to; --at) {
      p.shape[at] = p.shape[at - 1];
      p.from[at] = p.from[at - 1];
      p.to[at] = p.to[at - 1];
    }
    p.shape[at] = n;
    p.from[at] = from;
    p.to[at] = to;
  }
  int merged = 0;
  for (int d = 0; d < kept; ++d) {
    const bool joins = merged > 0 && p.from[merged - 1] == p.from[d] * p.shape[d] && p.to[merged - 1] == p.to[d] * p.shape[d];
    if (!joins) ++merged;
    p.shape[merged - 1] = joins ? p.shape[merged - 1] * p.shape[d] : p.shape[d];
    p.from[merged - 1] = p.from[d];
    p.to[merged - 1] = p.to[d];
  }
  p.nd = merged;
}

// The dimension that runs fastest in the source.
int fastest_source(const CopyPlan& p) {
  int best = p.nd - 1;
  auto pace = [&](int d) { return p.from[d] < 0 ? -p.from[d] : p.from[d]; };
  for (int d = p.nd - 2; d >= 0; --d) {
    if (pace(d) < pace(best)) best = d;
  }
  return best;
}

template <class Word>
Word read(const char* p) {
  Word w;
  std::memcpy(&w, p, sizeof w);
  return w;
}

template <class Word>
void copy_row(char* out, std::int64_t to, const char* x, std::int64_t from, std::int64_t n) {
  const std::int64_t size = sizeof(Word);
  if (to != size || from != size) {
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(out + i * to, x + i * from, sizeof(Word));
    return;
  }
  switch (n * size) {  // the short rows of the block layouts, without a call
    case 8: std::memcpy(out, x, 8); return;
    case 16: std::memcpy(out, x, 16); return;
    case 32: std::memcpy(out, x, 32); return;
    case 64: std::memcpy(out, x, 64); return;
    default: std::memcpy(out, x, static_cast<std::size_t>(n * size));
  }
}

// A tile of rows x columns: each column of the source becomes a row of the output. It goes through a buffer of its own, so that
// every line of memory is read once and written once however the strides fall into the cache's sets.
template <class Word, int side>
void copy_tile(char* out, std::int64_t to_row, std::int64_t to_column, const char* x, std::int64_t from_row, std::int64_t from_column,
               std::int64_t rows, std::int64_t columns) {
  Word tile[side][side];
  for (std::int64_t c = 0; c < columns; ++c) {
    const char* line = x + c * from_column;
    if (rows == side) {
      for (std::int64_t r = 0; r < side; ++r) tile[r][c] = read<Word>(line + r * from_row);
    } else {
      for (std::int64_t r = 0; r < rows; ++r) tile[r][c] = read<Word>(line + r * from_row);
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    copy_row<Word>(out + r * to_row, to_column, reinterpret_cast<const char*>(tile[r]), sizeof(Word), columns);
  }
}

struct Position {
  const char* x;
  char* out;
};

// Where the n-th combination of the dimensions but `first` and `second` starts.
Position locate(const CopyPlan& p, std::int64_t n, int first, int second) {
  Position at{p.x, p.out};
  for (int d = p.nd - 1; d >= 0; --d) {
    if (d == first || d == second) continue;
    const std::int64_t index = n % p.shape[d];
    n /= p.shape[d];
    at.x += index * p.from[d];
    at.out += index * p.to[d];
  }
  return at;
}

template <class Word>
void copy_rows(const CopyPlan& p, std::int64_t elements) {
  const int j = p.nd - 1;
  const std::int64_t n = p.shape[j];
  constexpr std::int64_t longest = 1 << 16;
  const std::int64_t pieces = (n - 1) / longest + 1;
  auto body = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const Position at = locate(p, unit / pieces, j, j);
      const std::int64_t start = unit % pieces * longest;
      copy_row<Word>(at.out + start * p.to[j], p.to[j], at.x + start * p.from[j], p.from[j], n - start < longest ? n - start : longest);
    }
  };
  split_units(elements / n * pieces, n < longest ? n : longest, body);
}

template <class Word>
void copy_tiles(const CopyPlan& p, int k, std::int64_t elements) {
  constexpr int side = 64 / sizeof(Word);  // a line of memory on either side
  const int j = p.nd - 1;
  const std::int64_t columns = p.shape[j], rows = p.shape[k];
  const std::int64_t bands = (rows - 1) / side + 1;
  auto body = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const Position at = locate(p, unit / bands, j, k);
      const std::int64_t r = unit % bands * side;
      for (std::int64_t c = 0; c < columns; c += side) {
        copy_tile<Word, side>(at.out + r * p.to[k] + c * p.to[j], p.to[k], p.to[j], at.x + r * p.from[k] + c * p.from[j], p.from[k],
                              p.from[j], rows - r < side ? rows - r : side, columns - c < side ? columns - c : side);
      }
    }
  };
  split_units(elements / (columns * rows) * bands, columns * (rows < side ? rows : side), body);
}

template <class Word>
void copy_words(const CopyPlan& p) {
  std::int64_t elements = 1;
  for (int d = 0; d < p.nd; ++d) elements *= p.shape[d];
  if (elements == 0) return;
  if (p.nd == 0) {
    std::memcpy(p.out, p.x, sizeof(Word));
    return;
  }
  const int k = fastest_source(p);
  if (k == p.nd - 1) copy_rows<Word>(p, elements);
  else copy_tiles<Word>(p, k, elements);
}

}  // namespace

void copy(CopyPlan plan) {
  normalise(plan);
  switch (plan.size) {
    case 1: return copy_words<std::uint8_t>(plan);
    case 2: return copy_words<std::uint16_t>(plan);
    case 4: return copy_words<std::uint32_t>(plan);
    case 8: return copy_words<std::uint64_t>(plan);
    default: return copy_words<Word16>(plan);
  }
}

}  // namespace hacl
