// Element-wise loops of one SIMD level: widen, compute in float32 (float64 for double), round once.
#pragma once

#include "kernels/exponential.hpp"
#include "kernels/vec.hpp"

namespace {

struct Add {
  template <class V> static HACL_INLINE V run(V a, V b) { return a + b; }
};
struct Subtract {
  template <class V> static HACL_INLINE V run(V a, V b) { return a - b; }
};
struct Multiply {
  template <class V> static HACL_INLINE V run(V a, V b) { return a * b; }
};
struct Divide {
  template <class V> static HACL_INLINE V run(V a, V b) { return a / b; }
};
struct Maximum {
  template <class V> static HACL_INLINE V run(V a, V b) { return ((a >= b) | (a != a)) ? a : b; }
};
struct Minimum {
  template <class V> static HACL_INLINE V run(V a, V b) { return ((a <= b) | (a != a)) ? a : b; }
};

// The same where there is no NaN.
struct MaximumOrdered {
  template <class V> static HACL_INLINE V run(V a, V b) { return b > a ? b : a; }
  static HACL_INLINE F run(F a, F b) { return larger(a, b); }
};
struct MinimumOrdered {
  template <class V> static HACL_INLINE V run(V a, V b) { return b < a ? b : a; }
};

struct DivideNoNan {
  template <class V> static HACL_INLINE V run(V a, V b) { return b == 0 ? V{} : a / b; }
};
struct Xdivy {
  template <class V> static HACL_INLINE V run(V a, V b) { return a == 0 ? V{} : a / b; }
};
struct MultiplyNoNan {
  template <class V> static HACL_INLINE V run(V a, V b) { return b == 0 ? V{} : a * b; }
};
struct FloorDivide {
  template <class V> static HACL_INLINE V run(V a, V b) { return whole<kDown>(a / b); }
};

struct Equal {
  template <class V> static HACL_INLINE auto run(V a, V b) { return a == b; }
};
struct NotEqual {
  template <class V> static HACL_INLINE auto run(V a, V b) { return a != b; }
};
struct Less {
  template <class V> static HACL_INLINE auto run(V a, V b) { return a < b; }
};
struct LessEqual {
  template <class V> static HACL_INLINE auto run(V a, V b) { return a <= b; }
};

struct Absolute {
  template <class V> static HACL_INLINE V run(V x, double) {
    using Mask = decltype(x == x);
    return (V)((Mask)x & ~(Mask)(V{} * -1.0f));  // -0: the sign bit alone
  }
};
struct Negative {
  template <class V> static HACL_INLINE V run(V x, double) { return -x; }
};
struct Relu {
  template <class V> static HACL_INLINE V run(V x, double) { return ((x > 0) | (x != x)) ? x : V{}; }
};
struct Sqrt {
  template <class V> static HACL_INLINE V run(V x, double) { return square_root(x); }
};
struct Reciprocal {
  template <class V> static HACL_INLINE V run(V x, double) { return 1 / x; }
};
struct Square {
  template <class V> static HACL_INLINE V run(V x, double) { return x * x; }
};
struct Exp {
  static HACL_INLINE F run(F x, double) { return exponential(x); }
};
struct Adds {
  static HACL_INLINE F run(F x, double value) { return x + static_cast<float>(value); }
  static HACL_INLINE D run(D x, double value) { return x + value; }
};
struct Muls {
  static HACL_INLINE F run(F x, double value) { return x * static_cast<float>(value); }
  static HACL_INLINE D run(D x, double value) { return x * value; }
};

template <Rounding way>
struct Whole {
  template <class V> static HACL_INLINE V run(V x, double) { return whole<way>(x); }
};
using Floor = Whole<kDown>;
using Ceil = Whole<kUp>;
using Trunc = Whole<kToZero>;
using Rint = Whole<kNearest>;
struct Rsqrt {
  template <class V> static HACL_INLINE V run(V x, double) { return 1 / square_root(x); }
};

// How a result vector goes out: elements of the inputs' type, or one byte of truth an element.
template <class T>
struct Same {
  using Out = T;
  static HACL_INLINE void store(T* p, typename Lanes<T>::V v) { Lanes<T>::store(p, v); }
};
template <class T>
struct Truth {
  using Out = std::uint8_t;
  template <class Mask>
  static HACL_INLINE void store(std::uint8_t* p, Mask mask) {
    if constexpr (sizeof mask[0] == 4) store_truth(p, (I)mask);
    else store_truth(p, (L)mask);
  }
};

template <class T, class Op, template <class> class Result, bool step1, bool step2>
HACL_INLINE void binary_steps(const T* a, const T* b, typename Result<T>::Out* out, std::size_t n) {
  using L = Lanes<T>;
  using R = Result<T>;
  const auto a0 = step1 ? typename L::V{} : load_all(a);
  const auto b0 = step2 ? typename L::V{} : load_all(b);
  std::size_t i = 0;
  for (; i + L::n <= n; i += L::n) R::store(out + i, Op::run(step1 ? L::load(a + i) : a0, step2 ? L::load(b + i) : b0));
  if (i == n) return;
  typename R::Out part[L::n];
  R::store(part, Op::run(step1 ? load_some(a + i, n - i) : a0, step2 ? load_some(b + i, n - i) : b0));
  __builtin_memcpy(out + i, part, (n - i) * sizeof part[0]);
}

template <class T, class Op, template <class> class Result>
void binary(const void* x1, bool step1, const void* x2, bool step2, void* out, std::size_t n) {
  auto a = static_cast<const T*>(x1);
  auto b = static_cast<const T*>(x2);
  auto o = static_cast<typename Result<T>::Out*>(out);
  if (step1 && step2) binary_steps<T, Op, Result, true, true>(a, b, o, n);
  else if (step1) binary_steps<T, Op, Result, true, false>(a, b, o, n);
  else if (step2) binary_steps<T, Op, Result, false, true>(a, b, o, n);
  else binary_steps<T, Op, Result, false, false>(a, b, o, n);
}

// a > b is b < a, with the same bits.
template <class T, class Op>
void swapped(const void* x1, bool step1, const void* x2, bool step2, void* out, std::size_t n) {
  binary<T, Op, Truth>(x2, step2, x1, step1, out, n);
}

template <class T, class Op>
void unary(const void* x, void* out, std::size_t n, double value) {
  using L = Lanes<T>;
  auto a = static_cast<const T*>(x);
  auto o = static_cast<T*>(out);
  std::size_t i = 0;
  for (; i + L::n <= n; i += L::n) L::store(o + i, Op::run(L::load(a + i), value));
  if (i < n) store_some(o + i, n - i, Op::run(load_some(a + i, n - i), value));
}

// What the exponent's bits tell; `exponent` has them set, all below the sign.
enum Test { kIsFinite, kIsInf, kIsNan };
template <class Word, Word exponent, Test test>
void has_exponent(const void* x, void* out, std::size_t n, double) {
  auto a = static_cast<const Word*>(x);
  auto o = static_cast<std::uint8_t*>(out);
  constexpr Word all = static_cast<Word>(static_cast<Word>(~Word{0}) >> 1);
  HACL_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const Word magnitude = static_cast<Word>(a[i] & all);
    o[i] = test == kIsFinite ? magnitude < exponent : test == kIsInf ? magnitude == exponent : magnitude > exponent;
  }
}

template <class Word>
void select(const void* condition, const void* x1, const void* x2, void* out, std::size_t n) {
  auto c = static_cast<const std::uint8_t*>(condition);
  auto a = static_cast<const Word*>(x1);
  auto b = static_cast<const Word*>(x2);
  auto o = static_cast<Word*>(out);
  HACL_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const Word mask = static_cast<Word>(-static_cast<Word>(c[i] != 0));
    o[i] = static_cast<Word>((a[i] & mask) | (b[i] & ~mask));
  }
}

}  // namespace
