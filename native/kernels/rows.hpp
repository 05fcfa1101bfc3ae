// Reductions of one row of float32. Element i of a block adds to lane i % 64 at every level, so sums have the same bits everywhere.
#pragma once

#include "kernels/across.hpp"
#include "kernels/elementwise.hpp"

namespace {

constexpr std::size_t kLanes = 64;
constexpr std::size_t kSumBlock = 1024;

struct Sum {
  F lane[kLanes / W];

  HACL_INLINE double total() const {
    F part[kLanes / W];
    __builtin_memcpy(part, lane, sizeof part);
    for (std::size_t half = kLanes / W / 2; half > 0; half /= 2) {
      for (std::size_t v = 0; v < half; ++v) part[v] += part[v + half];
    }
    return across<Add>(part[0]);
  }
};

// Calls add(lane, offset, lanes) for each vector of the row, 0 < lanes <= W valid, to add to *lane what it makes of it; 0 in other lanes.
template <class Each>
HACL_INLINE double blocked(std::size_t n, Each add) {
  double total = 0;
  for (std::size_t start = 0; start < n; start += kSumBlock) {
    const std::size_t end = n - start < kSumBlock ? n : start + kSumBlock;
    Sum sum = {};
    std::size_t i = start;
    for (; i + kLanes <= end; i += kLanes) {
      for (std::size_t v = 0; v < kLanes / W; ++v) add(&sum.lane[v], i + v * W, W);
    }
    for (std::size_t v = 0; i < end; ++v, i += W) add(&sum.lane[v], i, end - i < W ? end - i : W);
    total += sum.total();
  }
  return total;
}

// The same of what term(offset, lanes) gives.
template <class Term>
HACL_INLINE double blocked_sum(std::size_t n, Term term) {
  return blocked(n, [=](F* lane, std::size_t i, std::size_t k) HACL_LAMBDA { *lane += term(i, k); });
}

HACL_INLINE F load_float(const float* p, std::size_t k) { return k == W ? Lanes<float>::load(p) : load_some(p, k); }
HACL_INLINE void store_float(float* p, std::size_t k, F v) { k == W ? Lanes<float>::store(p, v) : store_some(p, k, v); }

HACL_INLINE F first_lanes(F v, std::size_t k) {  // v with its lanes from k on set to zero
  if (k == W) return v;
  float part[W] = {};
  __builtin_memcpy(part, &v, k * sizeof(float));
  return Lanes<float>::load(part);
}

float row_max_with_nan(const float* x, std::size_t n) {
  F best[4];
  for (F& b : best) b = splat(-__builtin_inff());
  std::size_t i = 0;
  for (; i + 4 * W <= n; i += 4 * W) {
    for (std::size_t v = 0; v < 4; ++v) best[v] = Maximum::run(best[v], Lanes<float>::load(x + i + v * W));
  }
  for (; i + W <= n; i += W) best[0] = Maximum::run(best[0], Lanes<float>::load(x + i));
  best[0] = Maximum::run(Maximum::run(best[0], best[1]), Maximum::run(best[2], best[3]));
  float result = -__builtin_inff();
  for (std::size_t k = 0; k < W; ++k) result = result >= best[0][k] || result != result ? result : best[0][k];
  for (; i < n; ++i) result = result >= x[i] || result != result ? result : x[i];
  return result;
}

float row_max(const float* x, std::size_t n) {
  if (n < 4 * W) return row_max_with_nan(x, n);
  F best[4];
  Unordered nans;
  auto add = [&](std::size_t i) HACL_LAMBDA {
    const F a = Lanes<float>::load(x + i), b = Lanes<float>::load(x + i + W);
    const F c = Lanes<float>::load(x + i + 2 * W), d = Lanes<float>::load(x + i + 3 * W);
    nans.look(a, b);
    nans.look(c, d);
    best[0] = MaximumOrdered::run(best[0], a);
    best[1] = MaximumOrdered::run(best[1], b);
    best[2] = MaximumOrdered::run(best[2], c);
    best[3] = MaximumOrdered::run(best[3], d);
  };
  for (F& b : best) b = splat(-__builtin_inff());
  for (std::size_t i = 0; i + 4 * W <= n; i += 4 * W) add(i);
  add(n - 4 * W);
  if (nans.any()) return row_max_with_nan(x, n);
  return across<Maximum>(MaximumOrdered::run(MaximumOrdered::run(best[0], best[1]), MaximumOrdered::run(best[2], best[3])));
}

double row_sum(const float* x, std::size_t n) {
  return blocked_sum(n, [=](std::size_t i, std::size_t k) HACL_LAMBDA { return load_float(x + i, k); });
}

double row_sum_of_squares(const float* x, float centre, std::size_t n) {
  return blocked_sum(n, [=](std::size_t i, std::size_t k) HACL_LAMBDA {
    const F d = first_lanes(load_float(x + i, k) - centre, k);
    return d * d;
  });
}

// The sums of x - centre and of its squares, in one pass.
void row_deviations(const float* x, float centre, std::size_t n, double* sum, double* squares) {
  double total = 0;
  *squares = 0;
  for (std::size_t start = 0; start < n; start += kSumBlock) {
    const std::size_t end = n - start < kSumBlock ? n : start + kSumBlock;
    Sum first = {}, second = {};
    std::size_t i = start;
    for (; i + kLanes <= end; i += kLanes) {
      for (std::size_t v = 0; v < kLanes / W; ++v) {
        const F d = Lanes<float>::load(x + i + v * W) - centre;
        first.lane[v] += d;
        second.lane[v] += d * d;
      }
    }
    for (std::size_t v = 0; i < end; ++v, i += W) {
      const std::size_t k = end - i < W ? end - i : W;
      const F d = first_lanes(load_float(x + i, k) - centre, k);
      first.lane[v] += d;
      second.lane[v] += d * d;
    }
    total += first.total();
    *squares += second.total();
  }
  *sum = total;
}

double row_exp_sum(const float* x, float max, float* y, std::size_t n) {
  return blocked_sum(n, [=](std::size_t i, std::size_t k) HACL_LAMBDA {
    const F e = exponential_below(load_float(x + i, k) - max);
    if (y != nullptr) store_float(y + i, k, e);
    return first_lanes(e, k);
  });
}

template <class T>
void row_scale(const float* x, float factor, void* out, std::size_t n) {
  T* to = static_cast<T*>(out);
  std::size_t i = 0;
  for (; i + W <= n; i += W) Lanes<T>::store(to + i, Lanes<float>::load(x + i) * factor);
  if (i < n) store_some(to + i, n - i, load_some(x + i, n - i) * factor);
}

void row_subtract(const float* x, float first, float second, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    store_float(y + i, k, (load_float(x + i, k) - first) - second);
  }
}

// y = (((x - centre) - rest) * factor * gamma) + beta; gamma and beta may be nullptr.
void row_normalise(const float* x, float centre, float rest, float factor, const float* gamma, const float* beta, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += W) {
    const std::size_t k = n - i < W ? n - i : W;
    F v = ((load_float(x + i, k) - centre) - rest) * factor;
    if (gamma != nullptr) v *= load_float(gamma + i, k);
    if (beta != nullptr) v += load_float(beta + i, k);
    store_float(y + i, k, v);
  }
}

}  // namespace
