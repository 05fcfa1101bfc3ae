// Functions over the last axis.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "module/kernels_array.hpp"

namespace hacl::module {
namespace {

// Calls row(number, x as float32, room for as many float32) for each row. Half rows are widened first, into `wide` when it is given
// (one row after another), else into a buffer that is then also the room.
template <class Row>
bool each_row(const View& x, std::int64_t rows, std::int64_t columns, float* wide, Row row) {
  const ConvertLoop widen = table().convert[x.kind][kFloat];
  const std::size_t n = static_cast<std::size_t>(columns);
  std::atomic<bool> failed{false};
  auto body = [&](std::int64_t begin, std::int64_t end) {
    std::unique_ptr<float[]> buffer;
    if (wide == nullptr) {
      buffer.reset(new (std::nothrow) float[n]);
      if (buffer == nullptr) return failed.store(true);
    }
    for (std::int64_t r = begin; r < end; ++r) {
      const char* source = x.data + r * columns * x.size;
      float* room = wide != nullptr ? wide + r * columns : buffer.get();
      if (x.kind != kFloat) widen(source, room, n, false);
      row(r, x.kind == kFloat ? reinterpret_cast<const float*>(source) : room, room);
    }
  };
  {
    const Unlocked unlocked(rows * columns);
    split_units(rows, columns, body);
  }
  if (failed.load()) PyErr_NoMemory();
  return !failed.load();
}

bool view_rows(PyObject* object, const char* name, View* x, Owned* held) {
  const Argument argument{name, "x"};
  if (!view(object, argument, x)) return false;
  if (x->kind > kFloat) return refuse_dtype(*x, argument, "float16, bfloat16, float32");
  if (x->nd == 0) return refuse_shape(*x, argument, "at least one axis");
  return x->dense || replace_by_copy(x, argument, held);
}

constexpr double kNearlyOne = 1.0625;

// log of the sum of exp(x - max). Where one element is nearly all of it, the others are summed alone: beside 1 they would be lost.
double log_of_exp_sum(const float* x, float max, std::size_t n) {
  const double sum = table().row_exp_sum(x, max, nullptr, n);
  if (!(sum < kNearlyOne)) return std::log(sum);
  const std::size_t top = static_cast<std::size_t>(std::find(x, x + n, max) - x);
  const double before = table().row_exp_sum(x, max, nullptr, top);
  return std::log1p(before + table().row_exp_sum(x + top + 1, max, nullptr, n - top - 1));
}

// The room holds y as float32 where out is a half type; else it is out.
void softmax_row(const float* x, float* room, const View& out, char* y, std::size_t n, bool logarithm) {
  const Table& t = table();
  const float max = t.row_max(x, n);
  if (!logarithm) return t.row_scale[out.kind](room, static_cast<float>(1 / t.row_exp_sum(x, max, room, n)), y, n);
  t.row_subtract(x, max, static_cast<float>(log_of_exp_sum(x, max, n)), room, n);
  if (out.kind != kFloat) t.convert[kFloat][out.kind](room, y, n, false);
}

PyObject* softmax_call(const char* name, bool logarithm, PyObject* const* args, Py_ssize_t n) {
  View x, out;
  Owned held, apart;
  if (!expect_arguments(name, n, 2, 2) || !view_rows(args[0], name, &x, &held) || !view_output(args[1], {name, "out"}, &out)) return nullptr;
  const Argument argument{name, "out"};
  if (out.kind != x.kind && out.kind != kFloat && !refuse_dtype(out, argument, "the dtype of x, float32")) return nullptr;
  if (!(out.dense && same_shape(x, out)) && !refuse_shape(out, argument, "the shape of x, contiguous")) return nullptr;
  if (!separate(&x, out, {name, "x"}, &apart)) return nullptr;
  if (x.count == 0) Py_RETURN_NONE;
  const std::int64_t columns = x.shape[x.nd - 1];
  const std::size_t width = static_cast<std::size_t>(columns);
  auto row = [&](std::int64_t r, const float* from, float* room) {
    softmax_row(from, room, out, out.data + r * columns * out.size, width, logarithm);
  };
  float* wide = out.kind == kFloat ? reinterpret_cast<float*>(out.data) : nullptr;
  if (!each_row(x, x.count / columns, columns, wide, row)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* softmax(PyObject*, PyObject* const* args, Py_ssize_t n) { return softmax_call("softmax", false, args, n); }
PyObject* log_softmax(PyObject*, PyObject* const* args, Py_ssize_t n) { return softmax_call("log_softmax", true, args, n); }

std::int64_t row_count(const View& x) {
  std::int64_t rows = 1;
  for (int d = 0; d < x.nd - 1; ++d) rows *= x.shape[d];
  return rows;
}

bool view_results(PyObject* object, Argument argument, const View& x, View* out) {
  if (!view_output(object, argument, out)) return false;
  if (out->kind != kFloat) return refuse_dtype(*out, argument, "float32");
  if (!out->dense || out->count != row_count(x)) return refuse_shape(*out, argument, "one contiguous element for each row of x");
  return true;
}

// Calls reduce(row as float32, its length, its number) for each row.
template <class Reduce>
PyObject* reduce_rows(const View& x, Reduce reduce) {
  const std::int64_t columns = x.shape[x.nd - 1];
  auto row = [&](std::int64_t r, const float* from, float*) { reduce(from, static_cast<std::size_t>(columns), r); };
  if (!each_row(x, row_count(x), columns, nullptr, row)) return nullptr;
  Py_RETURN_NONE;
}

bool refuse_empty(const View& x, const char* name) {  // true when the axis is empty and there is something to give for it
  if (x.shape[x.nd - 1] > 0 || row_count(x) == 0) return false;
  return !refuse_shape(x, {name, "x"}, "a last axis that is not empty");
}

PyObject* row_call(const char* name, ReduceOp op, PyObject* const* args, Py_ssize_t n, bool empty_allowed) {
  View x, out;
  Owned held, apart;
  if (!expect_arguments(name, n, 2, 2) || !view_rows(args[0], name, &x, &held)) return nullptr;
  if (!view_results(args[1], {name, "out"}, x, &out) || !separate(&x, out, {name, "x"}, &apart)) return nullptr;
  if (!empty_allowed && refuse_empty(x, name)) return nullptr;
  const std::int64_t columns = x.shape[x.nd - 1];
  const RowLoop loop = table().reduce_row[op][x.kind];
  auto body = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const double result = loop(x.data + r * columns * x.size, static_cast<std::size_t>(columns));
      reinterpret_cast<float*>(out.data)[r] = static_cast<float>(result);
    }
  };
  const Unlocked unlocked(x.count);
  split_units(row_count(x), columns, body);
  Py_RETURN_NONE;
}

PyObject* row_sum(PyObject*, PyObject* const* args, Py_ssize_t n) { return row_call("row_sum", kSum, args, n, true); }
PyObject* row_max(PyObject*, PyObject* const* args, Py_ssize_t n) { return row_call("row_max", kLargest, args, n, false); }

PyObject* row_sum_of_squares(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = "row_sum_of_squares";
  View x, out;
  Owned held, apart;
  if (!expect_arguments(name, n, 2, 2) || !view_rows(args[0], name, &x, &held)) return nullptr;
  if (!view_results(args[1], {name, "out"}, x, &out) || !separate(&x, out, {name, "x"}, &apart)) return nullptr;
  return reduce_rows(x, [&](const float* row, std::size_t k, std::int64_t r) {
    reinterpret_cast<float*>(out.data)[r] = static_cast<float>(table().row_sum_of_squares(row, 0.0f, k));
  });
}

PyObject* row_moments(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = "row_moments";
  View x, mean, variance;
  Owned held, apart, apart_too;
  if (!expect_arguments(name, n, 3, 3) || !view_rows(args[0], name, &x, &held) || !view_results(args[1], {name, "mean"}, x, &mean) ||
      !view_results(args[2], {name, "variance"}, x, &variance) || refuse_empty(x, name) || !separate(&x, mean, {name, "x"}, &apart) ||
      !separate(&x, variance, {name, "x"}, &apart_too)) {
    return nullptr;
  }
  return reduce_rows(x, [&](const float* row, std::size_t k, std::int64_t r) {
    const double length = static_cast<double>(k);
    const double average = table().row_sum(row, k) / length;
    const float centre = static_cast<float>(average);
    const double off = average - static_cast<double>(centre);  // what rounding the centre adds to every square
    const double spread = table().row_sum_of_squares(row, centre, k) / length - off * off;
    reinterpret_cast<float*>(mean.data)[r] = centre;
    reinterpret_cast<float*>(variance.data)[r] = static_cast<float>(spread < 0 ? 0 : spread);
  });
}

struct Moments {
  double mean, spread;  // of a row; RMS: 0 and the mean of squares
};

// In float64 from the start: for rows whose squares float32 cannot add up, or whose elements are all (nearly) one.
Moments careful_moments(const float* x, std::size_t n, bool centred) {
  double mean = 0, spread = 0;
  if (centred) {
    for (std::size_t i = 0; i < n; ++i) mean += static_cast<double>(x[i]);
    mean /= static_cast<double>(n);
  }
  for (std::size_t i = 0; i < n; ++i) spread += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  return {mean, spread / static_cast<double>(n)};
}

struct Normalisation {
  bool centred, inverse;   // a mean is taken away; the second statistic is 1/sqrt(spread + epsilon), not the spread
  double epsilon;
  const float* gamma;      // nullptr: 1
  const float* beta;       // nullptr: 0
  float* mean;             // one element a row, or nullptr
  float* second;
};

constexpr double kSmallest = 1e-30, kLargest32 = 1e36;  // mean squares between these lost nothing in float32

void normalise_row(const float* x, float* y, std::size_t n, std::int64_t row, const Normalisation& how) {
  const Table& t = table();
  const double length = static_cast<double>(n);
  const float centre = how.centred ? static_cast<float>(t.row_sum(x, n) / length) : 0.0f;
  Moments found{0, 0};
  if (how.centred) {
    double sum, squares;
    t.row_deviations(x, centre, n, &sum, &squares);
    const double off = sum / length;  // what the first mean lacks
    found = {static_cast<double>(centre) + off, squares / length - off * off};
  } else {
    found.spread = t.row_sum_of_squares(x, 0.0f, n) / length;
  }
  const bool careful = !(found.spread > kSmallest && found.spread < kLargest32);
  if (careful) found = careful_moments(x, n, how.centred);
  const double root = 1 / std::sqrt(found.spread + how.epsilon);
  if (careful) {
    for (std::size_t i = 0; i < n; ++i) {
      double v = (static_cast<double>(x[i]) - found.mean) * root;
      if (how.gamma != nullptr) v *= static_cast<double>(how.gamma[i]);
      if (how.beta != nullptr) v += static_cast<double>(how.beta[i]);
      y[i] = static_cast<float>(v);
    }
  } else {
    t.row_normalise(x, centre, static_cast<float>(found.mean - static_cast<double>(centre)), static_cast<float>(root), how.gamma, how.beta, y, n);
  }
  if (how.mean != nullptr) how.mean[row] = static_cast<float>(found.mean);
  if (how.second != nullptr) how.second[row] = static_cast<float>(how.inverse ? root : found.spread);
}

// A row of float32 for all rows, or None.
bool view_parameter(PyObject* object, Argument argument, std::int64_t columns, const float** data) {
  *data = nullptr;
  if (object == Py_None) return true;
  View found;
  if (!view(object, argument, &found)) return false;
  if (found.kind != kFloat) return refuse_dtype(found, argument, "float32, None");
  if (!found.dense || found.count != columns) return refuse_shape(found, argument, "one contiguous element for each of a row of x");
  *data = reinterpret_cast<const float*>(found.data);
  return true;
}

bool view_statistic(PyObject* object, Argument argument, const View& x, float** data) {
  *data = nullptr;
  if (object == Py_None) return true;
  View found;
  if (!view_results(object, argument, x, &found)) return false;
  *data = reinterpret_cast<float*>(found.data);
  return true;
}

PyObject* normalise_rows(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = "normalise_rows";
  View x, out;
  Owned held, apart;
  Normalisation how{};
  if (!expect_arguments(name, n, 9, 9) || !view_rows(args[0], name, &x, &held) || !view_output(args[3], {name, "out"}, &out)) return nullptr;
  if (out.kind != x.kind && out.kind != kFloat && !refuse_dtype(out, {name, "out"}, "the dtype of x, float32")) return nullptr;
  if (!(out.dense && same_shape(x, out)) && !refuse_shape(out, {name, "out"}, "the shape of x, contiguous")) return nullptr;
  const std::int64_t columns = x.shape[x.nd - 1];
  if (!view_parameter(args[1], {name, "gamma"}, columns, &how.gamma) || !view_parameter(args[2], {name, "beta"}, columns, &how.beta) ||
      !view_statistic(args[5], {name, "mean"}, x, &how.mean) || !view_statistic(args[6], {name, "second"}, x, &how.second) ||
      !separate(&x, out, {name, "x"}, &apart)) {
    return nullptr;
  }
  how.epsilon = PyFloat_AsDouble(args[4]);
  how.centred = PyObject_IsTrue(args[7]) == 1;
  how.inverse = PyObject_IsTrue(args[8]) == 1;
  if (PyErr_Occurred() != nullptr || refuse_empty(x, name)) return nullptr;
  if (x.count == 0) Py_RETURN_NONE;
  const std::size_t width = static_cast<std::size_t>(columns);
  const ConvertLoop narrow = table().convert[kFloat][out.kind];
  auto row = [&](std::int64_t r, const float* from, float* room) {
    normalise_row(from, room, width, r, how);
    if (out.kind != kFloat) narrow(room, out.data + r * columns * out.size, width, false);
  };
  float* wide = out.kind == kFloat ? reinterpret_cast<float*>(out.data) : nullptr;
  if (!each_row(x, x.count / columns, columns, wide, row)) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef row_methods[] = {
    method("normalise_rows", normalise_rows, "(x - mean) / sqrt(variance + epsilon) * gamma + beta over the last axis, into out."),
    method("softmax", softmax, "exp(x - max) / sum over the last axis, into out."),
    method("log_softmax", log_softmax, "x - max - log(sum(exp(x - max))) over the last axis, into out."),
    method("row_sum", row_sum, "Sums over the last axis, into a float32 out."),
    method("row_sum_of_squares", row_sum_of_squares, "Sums of squares over the last axis, into a float32 out."),
    method("row_max", row_max, "Largest elements over the last axis, into a float32 out."),
    method("row_moments", row_moments, "Mean and population variance over the last axis, into two float32 arrays."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
