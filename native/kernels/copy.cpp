#include "kernels/copy.hpp"

#include <cstring>
#include <utility>

#include "kernels/pool.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace hacl {
namespace {

constexpr std::int64_t kBandLines = 8;  // tiles side by side in the source before the next ones below

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

#if defined(__x86_64__) || defined(__aarch64__)
#define HACL_MICRO_TILES 1
#if defined(__x86_64__)
using Lane16 = __m128i;
template <int size>
Lane16 zip_low(Lane16 a, Lane16 b) {
  if constexpr (size == 1) return _mm_unpacklo_epi8(a, b);
  else if constexpr (size == 2) return _mm_unpacklo_epi16(a, b);
  else if constexpr (size == 4) return _mm_unpacklo_epi32(a, b);
  else return _mm_unpacklo_epi64(a, b);
}
template <int size>
Lane16 zip_high(Lane16 a, Lane16 b) {
  if constexpr (size == 1) return _mm_unpackhi_epi8(a, b);
  else if constexpr (size == 2) return _mm_unpackhi_epi16(a, b);
  else if constexpr (size == 4) return _mm_unpackhi_epi32(a, b);
  else return _mm_unpackhi_epi64(a, b);
}
#else
using Lane16 = uint8x16_t;
template <int size>
Lane16 zip_low(Lane16 a, Lane16 b) {
  if constexpr (size == 1) return vzip1q_u8(a, b);
  else if constexpr (size == 2) return (Lane16)vzip1q_u16((uint16x8_t)a, (uint16x8_t)b);
  else if constexpr (size == 4) return (Lane16)vzip1q_u32((uint32x4_t)a, (uint32x4_t)b);
  else return (Lane16)vzip1q_u64((uint64x2_t)a, (uint64x2_t)b);
}
template <int size>
Lane16 zip_high(Lane16 a, Lane16 b) {
  if constexpr (size == 1) return vzip2q_u8(a, b);
  else if constexpr (size == 2) return (Lane16)vzip2q_u16((uint16x8_t)a, (uint16x8_t)b);
  else if constexpr (size == 4) return (Lane16)vzip2q_u32((uint32x4_t)a, (uint32x4_t)b);
  else return (Lane16)vzip2q_u64((uint64x2_t)a, (uint64x2_t)b);
}
#endif

// A square of registers transposed: zipping line i with line i + half, once for each power of two, moves every element there.
template <int size>
void transpose_micro(char* out, std::int64_t to_row, const char* x, std::int64_t from_column) {
  constexpr int side = 16 / size;
  Lane16 lines[side], next[side];
  for (int c = 0; c < side; ++c) std::memcpy(&lines[c], x + c * from_column, 16);
  for (int step = 1; step < side; step *= 2) {
    for (int i = 0; i < side / 2; ++i) {
      next[2 * i] = zip_low<size>(lines[i], lines[i + side / 2]);
      next[2 * i + 1] = zip_high<size>(lines[i], lines[i + side / 2]);
    }
    std::memcpy(lines, next, sizeof lines);
  }
  for (int r = 0; r < side; ++r) std::memcpy(out + r * to_row, &lines[r], 16);
}
#endif

// rows x columns of single elements: rows along the source's fast dimension, which is the inner loop when it is the longer one.
template <class Word>
void copy_grid(char* out, std::int64_t to_row, std::int64_t to_column, const char* x, std::int64_t from_row, std::int64_t from_column,
               std::int64_t rows, std::int64_t columns) {
  if (rows < columns) {
    std::swap(rows, columns);
    std::swap(to_row, to_column);
    std::swap(from_row, from_column);
  }
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) std::memcpy(out + r * to_row + c * to_column, x + r * from_row + c * from_column, sizeof(Word));
  }
}

// A tile of rows x columns: each column of the source becomes a row of the output. It goes through a buffer of its own, so that
// every line of memory is read once and written once however the strides fall into the cache's sets.
template <class Word, int side>
void copy_tile(char* out, std::int64_t to_row, std::int64_t to_column, const char* x, std::int64_t from_row, std::int64_t from_column,
               std::int64_t rows, std::int64_t columns) {
  constexpr int size = sizeof(Word);
  alignas(64) Word tile[side][side];
  char* room = reinterpret_cast<char*>(tile);
  std::int64_t whole_rows = 0, whole_columns = 0;  // what the registers do
#if defined(HACL_MICRO_TILES)
  if constexpr (size < 16) {
    constexpr int micro = 16 / size;
    if (from_row == size) {
      whole_rows = rows / micro * micro;
      whole_columns = columns / micro * micro;
    }
    for (std::int64_t c = 0; c < whole_columns; c += micro) {
      for (std::int64_t r = 0; r < whole_rows; r += micro) {
        transpose_micro<size>(room + r * side * size + c * size, side * size, x + r * from_row + c * from_column, from_column);
      }
    }
  }
#endif
  copy_grid<Word>(room + whole_columns * size, side * size, size, x + whole_columns * from_column, from_row, from_column, rows,
                  columns - whole_columns);
  copy_grid<Word>(room + whole_rows * side * size, side * size, size, x + whole_rows * from_row, from_row, from_column, rows - whole_rows,
                  whole_columns);
  for (std::int64_t r = 0; r < rows; ++r) copy_row<Word>(out + r * to_row, to_column, room + r * side * size, size, columns);
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

// Rows that run the same way on both sides: the last dimension, many of it along the dimension before it.
template <class Word>
void copy_rows(const CopyPlan& p, std::int64_t elements) {
  constexpr std::int64_t longest = 1 << 15;
  const int j = p.nd - 1, above = p.nd > 1 ? j - 1 : j;
  const std::int64_t n = p.shape[j], repeats = p.nd > 1 ? p.shape[above] : 1;
  const std::int64_t length = n < longest ? n : longest, pieces = (n - 1) / longest + 1;
  const std::int64_t band = longest / length < repeats ? longest / length : repeats, bands = (repeats - 1) / band + 1;
  auto body = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const Position at = locate(p, unit / (pieces * bands), j, above);
      const std::int64_t first = unit / pieces % bands * band, start = unit % pieces * longest;
      const std::int64_t last = repeats - first < band ? repeats : first + band;
      const std::int64_t k = n - start < longest ? n - start : longest;
      for (std::int64_t r = first; r < last; ++r) {
        copy_row<Word>(at.out + r * p.to[above] * (p.nd > 1) + start * p.to[j], p.to[j],
                       at.x + r * p.from[above] * (p.nd > 1) + start * p.from[j], p.from[j], k);
      }
    }
  };
  split_units(elements / (n * repeats) * bands * pieces, length * band, body);
}

template <class Word>
void copy_tiles(const CopyPlan& p, int k, std::int64_t elements) {
  constexpr int side = 64 / sizeof(Word);  // a line of memory on either side
  constexpr std::int64_t narrow = 16 / sizeof(Word);
  const int j = p.nd - 1;
  const std::int64_t columns = p.shape[j], rows = p.shape[k];
  const bool thin = columns < narrow || rows < narrow;  // no squares: the long dimension in stretches that stay in the cache
  const std::int64_t high = thin ? 1024 : side, wide = thin ? 1024 : side;
  const std::int64_t band = thin ? high : kBandLines * side, bands = (rows - 1) / band + 1;
  const auto tile = thin ? copy_grid<Word> : copy_tile<Word, side>;
  auto body = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const Position at = locate(p, unit / bands, j, k);
      const std::int64_t first = unit % bands * band, last = rows - first < band ? rows : first + band;
      for (std::int64_t c = 0; c < columns; c += wide) {
        for (std::int64_t r = first; r < last; r += high) {  // neighbouring lines of the source, one after the other
          tile(at.out + r * p.to[k] + c * p.to[j], p.to[k], p.to[j], at.x + r * p.from[k] + c * p.from[j], p.from[k], p.from[j],
               last - r < high ? last - r : high, columns - c < wide ? columns - c : wide);
        }
      }
    }
  };
  split_units(elements / (columns * rows) * bands, columns * (rows < band ? rows : band), body);
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
