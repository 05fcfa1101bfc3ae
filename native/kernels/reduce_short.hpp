// Reductions of many short rows, of one SIMD level: vectors of whole rows are folded together until each lane has a row of its own.
// Lane i of a row always meets lane i + half, as in across.hpp.
#pragma once

#include "kernels/reduce_few.hpp"

namespace {

constexpr std::size_t kShortRow = 64;         // elements of the longest one

// The first (side 0) or second halves of the rows of two vectors, 2 * half lanes each.
template <std::size_t half, std::size_t side, class V, std::size_t... j>
HACL_INLINE V picked(V a, V b, std::index_sequence<j...>) {
  return HACL_PICKED(a, b, static_cast<int>(j / half * 2 * half + j % half + side * half)...);
}

// The rows of both, half as many lanes each.
template <class Op, std::size_t half, class V>
HACL_INLINE V merged(V a, V b) {
  constexpr std::make_index_sequence<sizeof(V) / sizeof(a[0])> lanes;
  return Op::run(picked<half, 0>(a, b, lanes), picked<half, 1>(a, b, lanes));
}

// Rows of n elements, spread over `lanes` (a power of two) each; the others are filled. What is read for a vector goes beyond its rows.
template <class T, std::size_t lanes, bool whole>
struct Rows {
  static constexpr std::size_t vectors = lanes > W ? lanes / W : 1;
  static constexpr std::size_t have = lanes < W ? lanes : W;  // of a row in load()
  const T* x;
  std::size_t n;
  I there[vectors], fill[vectors], spread;

  HACL_INLINE Rows(std::size_t length, float filler) : x(nullptr), n(length) {
    for (std::size_t i = 0; i < vectors * W; ++i) {
      const bool real = i % lanes < n;
      there[i / W][i % W] = real ? -1 : 0;
      fill[i / W][i % W] = real ? 0 : ((I)repeated(filler))[0];
      spread[i % W] = static_cast<std::int32_t>(i % W / have * n + i % W % have);
    }
  }

  HACL_INLINE F vector(std::size_t row, std::size_t v) const {
    F all = Lanes<T>::load(x + row * n + v * W);
    if constexpr (whole) return all;
    if constexpr (lanes < W) all = permuted(all, spread);
    return (F)(((I)all & there[v]) | fill[v]);
  }

  // W / have rows from `row` on.
  template <class Op, class Look>
  HACL_INLINE F load(std::size_t row, Look look) const {
    F v[vectors];
    for (std::size_t i = 0; i < vectors; ++i) v[i] = look(vector(row, i));
    for (std::size_t half = vectors / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) v[i] = Op::run(v[i], v[i + half]);
    }
    return v[0];
  }

  // W / left rows from `row` on, of which so many lanes are left each.
  template <class Op, std::size_t left, class Look>
  HACL_INLINE F fold(std::size_t row, Look look) const {
    if constexpr (left == have) return load<Op>(row, look);
    else return merged<Op, left>(fold<Op, left * 2>(row, look), fold<Op, left * 2>(row + W / left / 2, look));
  }

  // Products of pairs of elements, which float32 holds exactly, go on in double: the rows of a vector of doubles, `kept` lanes each.
  static constexpr std::size_t kept = lanes > W ? W / 2 : lanes / 4;
  template <class Look>
  HACL_INLINE D load_products(std::size_t row, Look look) const {
    if constexpr (lanes <= W) {
      const F pairs = look(fold<Multiply, lanes / 2>(row, [](F v) HACL_LAMBDA { return v; }));
      return merged<Multiply, kept>(low_doubles(pairs), high_doubles(pairs));
    } else {
      D d[vectors];
      for (std::size_t i = 0; i < vectors / 2; ++i) {
        const F pairs = look(vector(row, i) * vector(row, i + vectors / 2));
        d[2 * i] = low_doubles(pairs);
        d[2 * i + 1] = high_doubles(pairs);
      }
      for (std::size_t half = vectors / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i) d[i] *= d[i + half];
      }
      return d[0];
    }
  }
  template <std::size_t left, class Look>
  HACL_INLINE D fold_products(std::size_t row, Look look) const {
    if constexpr (left == kept) return load_products(row, look);
    else return merged<Multiply, left>(fold_products<left * 2>(row, look), fold_products<left * 2>(row + W / left / 4, look));
  }
};

// Calls step(rows) for W rows after the other, each of which gives their results; the last ones from a copy that may be read beyond.
template <class T, class Set, class Step>
HACL_INLINE void each_rows(const T* x, std::size_t rows, Set set, T* out, Step step) {
  const std::size_t n = set.n;
  for (std::size_t r = 0; r < rows; r += W) {
    const std::size_t k = rows - r < W ? rows - r : W;
    T room[(W + 1) * kShortRow];
    set.x = x + r * n;
    if ((rows - r) * n < W * n + kShortRow) {
      __builtin_memset(room, 0, sizeof room);
      for (std::size_t i = 0; i < W; ++i) __builtin_memcpy(room + i * n, set.x + (i < k ? i : 0) * n, n * sizeof(T));
      set.x = room;
    }
    store_lanes(out + r, k, step(set));
  }
}

// Calls run(set) with the rows as they are spread; false when there is no way for this length.
template <class T, std::size_t lanes, class Run>
HACL_INLINE bool spread_rows(std::size_t n, float filler, Run run) {
  if constexpr (lanes < W) {
    if (n == lanes) return run(Rows<T, lanes, true>(n, filler));
  }
  return run(Rows<T, lanes, false>(n, filler));
}
template <class T, class Run>
HACL_INLINE bool by_length(std::size_t n, float filler, Run run) {
  if (n < 2) return false;
  if (n == 2) return spread_rows<T, 2>(n, filler, run);
  if (n <= 4) return spread_rows<T, 4>(n, filler, run);
  if (n <= 8) return spread_rows<T, 8>(n, filler, run);
  if (n <= 16) return spread_rows<T, 16>(n, filler, run);
  return n <= 32 && spread_rows<T, 32>(n, filler, run);
}

template <class T>
bool short_sums(const void* x, std::size_t rows, std::size_t n, double divisor, void* out) {
  const float reciprocal = exact_reciprocal(divisor);
  if (static_cast<double>(static_cast<float>(divisor)) != divisor) return false;
  auto run = [=](const auto& set) HACL_LAMBDA {
    I doubt = {};
    each_rows(static_cast<const T*>(x), rows, set, static_cast<T*>(out), [&](const auto& some) HACL_LAMBDA {
      const F sum = some.template fold<Add, 1>(0, [](F v) HACL_LAMBDA { return v; });
      const F result = divided<T>(sum + 0.0f, divisor, reciprocal);  // -0 is +0
      doubt |= not_finite(sum) | subnormal<T>(result);
      return result;
    });
    return !any_lane(doubt);
  };
  return n <= 32 ? by_length<T>(n, 0.0f, run) : n <= kShortRow && spread_rows<T, kShortRow>(n, 0.0f, run);
}

template <class T, class Op>
bool short_extremes(const void* x, std::size_t rows, std::size_t n, double, void* out) {
  using Ordered = typename WithoutNan<Op>::Ordered;
  const float last = std::is_same_v<Op, Maximum> ? -__builtin_inff() : __builtin_inff();
  auto run = [=](const auto& set) HACL_LAMBDA {
    Unordered nan;
    each_rows(static_cast<const T*>(x), rows, set, static_cast<T*>(out), [&](const auto& some) HACL_LAMBDA {
      return some.template fold<Ordered, 1>(0, [&](F v) HACL_LAMBDA {
        nan.look(v, v);
        return v;
      });
    });
    return !nan.any();
  };
  return n <= 32 ? by_length<T>(n, last, run) : n <= kShortRow && spread_rows<T, kShortRow>(n, last, run);
}

// Pairs of bfloat16 that are far from 1 need care: float32 may not hold their product, or a double that of 16 of them.
template <class T>
HACL_INLINE I far_from_one(F pairs) {
  if constexpr (std::is_same_v<T, Half>) return I{};
  constexpr std::uint32_t least = 0x21800000, most = 0x5d800000;  // 2^-60, 2^60
  return (I)((as_bits(pairs) & 0x7fffffffu) - least > U{} + (most - least));
}

template <class T>
bool short_products(const void* x, std::size_t rows, std::size_t n, double, void* out) {
  auto run = [=](const auto& set) HACL_LAMBDA {
    I doubt = {};
    each_rows(static_cast<const T*>(x), rows, set, static_cast<T*>(out), [&](const auto& some) HACL_LAMBDA {
      auto look = [&](F pairs) HACL_LAMBDA {
        doubt |= far_from_one<T>(pairs);
        return pairs;
      };
      if constexpr (std::decay_t<decltype(some)>::kept == 0) {  // rows of two
        return look(some.template fold<Multiply, 1>(0, [](F v) HACL_LAMBDA { return v; }));
      } else {
        const F product = ready<T>(some.template fold_products<1>(0, look), some.template fold_products<1>(W / 2, look));
        doubt |= subnormal<T>(product) | (std::is_same_v<T, Half> ? I{} : not_finite(product));
        return product;
      }
    });
    return !any_lane(doubt);
  };
  return by_length<T>(n, 1.0f, run);
}

}  // namespace
