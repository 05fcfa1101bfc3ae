// Element-wise loops of three tensors and a number, of one SIMD level: widen, compute in float32 (float64 for double), round once.
#pragma once

#include "kernels/elementwise.hpp"

namespace {

struct AddProduct {
  template <class V, class S> static HACL_INLINE V run(V a, V b, V c, S value) { return a + value * b * c; }
};
struct AddQuotient {
  template <class V, class S> static HACL_INLINE V run(V a, V b, V c, S value) { return a + value * b / c; }
};
struct Interpolate {
  template <class V, class S> static HACL_INLINE V run(V a, V b, V c, S) { return a + c * (b - a); }
};

struct Clip {  // as two steps: a NaN stays, and the upper bound wins
  template <class V, class S> static HACL_INLINE V run(V x, V low, V high, S) { return Minimum::run(Maximum::run(x, low), high); }
};

// Each of the three advances by one element when its step is true, else stays.
template <class T, class Op>
void fused(const void* x1, bool step1, const void* x2, bool step2, const void* x3, bool step3, void* out, std::size_t n, double value) {
  using L = Lanes<T>;
  using V = typename L::V;
  auto a = static_cast<const T*>(x1);
  auto b = static_cast<const T*>(x2);
  auto c = static_cast<const T*>(x3);
  auto o = static_cast<T*>(out);
  const V a0 = load_all(a), b0 = load_all(b), c0 = load_all(c);
  const auto number = static_cast<decltype(a0[0] + a0[0])>(value);
  std::size_t i = 0;
  for (; i + L::n <= n; i += L::n) {
    L::store(o + i, Op::run(step1 ? L::load(a + i) : a0, step2 ? L::load(b + i) : b0, step3 ? L::load(c + i) : c0, number));
  }
  if (i == n) return;
  const std::size_t k = n - i;
  store_some(o + i, k, Op::run(step1 ? load_some(a + i, k) : a0, step2 ? load_some(b + i, k) : b0, step3 ? load_some(c + i, k) : c0, number));
}

// Clip; between two numbers, which are no NaN, in one step each.
template <class T, class Op>
void clip(const void* x1, bool step1, const void* x2, bool step2, const void* x3, bool step3, void* out, std::size_t n, double value) {
  using L = Lanes<T>;
  auto a = static_cast<const T*>(x1);
  auto o = static_cast<T*>(out);
  const auto low = load_all(static_cast<const T*>(x2)), high = load_all(static_cast<const T*>(x3));
  const bool numbers = !step2 && !step3 && low[0] == low[0] && high[0] == high[0];
  if (!numbers || !step1) return fused<T, Op>(x1, step1, x2, step2, x3, step3, out, n, value);
  std::size_t i = 0;
  for (; i + L::n <= n; i += L::n) L::store(o + i, MinimumOrdered::run(MaximumOrdered::run(L::load(a + i), low), high));
  if (i < n) store_some(o + i, n - i, MinimumOrdered::run(MaximumOrdered::run(load_some(a + i, n - i), low), high));
}

}  // namespace
