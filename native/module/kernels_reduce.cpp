// Reductions and places of extremes along the middle of three axes.
#include <cmath>
#include <cstring>

#include "module/kernels_lines.hpp"

namespace hacl::module {
namespace {

constexpr std::int64_t kNarrowTo = 64;  // columns below which several rows are put side by side
constexpr std::int64_t kFewRows = 16;   // rows up to which a result stays in a register
constexpr const char* kNarrows = "float16, bfloat16, float32";
constexpr const char* kReduceNames[] = {"axis_sum", "axis_product", "axis_max", "axis_min"};
constexpr const char* kPlaceNames[] = {"axis_argmax", "axis_argmin"};

bool view_line_results(PyObject* object, Argument argument, const Lines& lines, View* out) {
  if (!view_output(object, argument, out)) return false;
  if (out->dense && out->count == lines.outer * lines.inner) return true;
  return refuse_shape(*out, argument, "one contiguous element for each line of x");
}

double combined(int op, double a, double b) {
  if (op == kSum) return a + b;
  if (op == kProduct) return a * b;
  if (op == kLargest) return a >= b || a != a ? a : b;
  return a <= b || a != a ? a : b;
}

constexpr std::int64_t kGathered = 256;  // taken from a line at once

// Calls each(doubles, n) for the elements of a line in pieces.
template <class Each>
void each_piece(const View& x, const char* first, const Lines& lines, Each each) {
  const ConvertLoop widen = table().convert[x.kind][kDouble];
  alignas(8) char packed[kGathered * 4];
  double wide[kGathered];
  for (std::int64_t start = 0; start < lines.length; start += kGathered) {
    const std::int64_t n = lines.length - start < kGathered ? lines.length - start : kGathered;
    const char* from = first + start * lines.inner * x.size;
    if (lines.inner > 1) gather(packed, from, lines.inner * x.size, x.size, n);
    widen(lines.inner > 1 ? packed : from, wide, static_cast<std::size_t>(n), false);
    each(wide, n);
  }
}

double sum_with_care(const View& x, const char* first, const Lines& lines) {
  double total = 0;
  each_piece(x, first, lines, [&](const double* at, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) total += at[i];
  });
  return total;
}

template <std::int64_t count>
double product(const double* at) {
  if constexpr (count == 1) return *at;
  else return product<count / 2>(at) * product<count / 2>(at + count / 2);
}

// With an exponent of its own: a group is within 2^-596 and 2^512 (four elements; 16 halves), the total within 2^-256 and 2^256.
double product_with_care(const View& x, const char* first, const Lines& lines) {
  const std::int64_t group = x.kind == kHalf ? 16 : 4;
  double total = 1;
  std::int64_t exponent = 0;
  each_piece(x, first, lines, [&](double* at, std::int64_t n) {
    for (std::int64_t i = n; i % group != 0; ++i) at[i] = 1;
    for (std::int64_t i = 0; i < n; i += group) {
      total *= group == 4 ? product<4>(at + i) : product<16>(at + i);
      const double size = std::fabs(total);
      if (size >= 0x1p-256 && size <= 0x1p256) continue;
      int shift = 0;
      total = std::frexp(total, &shift);
      if (size > 0 && std::isfinite(size)) exponent += shift;
    }
  });
  return std::ldexp(total, static_cast<int>(exponent > 4000 ? 4000 : exponent < -4000 ? -4000 : exponent));
}

// Whether one of the results is infinite or NaN, or, of products, 0.
bool any_doubtful(int op, const double* results, std::int64_t n) {
  constexpr std::uint64_t infinite = std::uint64_t{0x7ff} << 52;
  std::uint64_t found = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    std::uint64_t bits;
    std::memcpy(&bits, &results[j], sizeof bits);
    found |= static_cast<std::uint64_t>((bits & infinite) == infinite) | static_cast<std::uint64_t>(op == kProduct && bits << 1 == 0);
  }
  return found != 0;
}

// Divides sums; works out again what is not finite, and products that are 0: they may have left the range on the way only.
void finish(int op, const View& x, const char* first, const Lines& lines, std::int64_t step, double divisor, double* results, std::int64_t n) {
  if (op != kSum && op != kProduct) return;
  const bool doubtful = any_doubtful(op, results, n);
  for (std::int64_t j = 0; doubtful && j < n; ++j) {
    if (!any_doubtful(op, results + j, 1)) continue;
    const char* line = first + j * step * x.size;
    results[j] = op == kSum ? sum_with_care(x, line, lines) : product_with_care(x, line, lines);
  }
  for (std::int64_t j = 0; divisor != 1 && j < n; ++j) results[j] /= divisor;
}

// Few columns: groups of rows are taken as one long row, and what comes of its parts is combined.
void few_columns(ColumnLoop loop, int op, const char* x, int size, const Lines& lines, double* out) {
  const std::int64_t side = kTile / lines.inner, groups = lines.length / side, rest = lines.length % side;
  const std::size_t inner = static_cast<std::size_t>(lines.inner);
  if (groups < 2) return loop(x, static_cast<std::size_t>(lines.length), inner, inner, out);
  double wide[kTile];
  const std::size_t row = static_cast<std::size_t>(side) * inner;
  loop(x, static_cast<std::size_t>(groups), row, row, wide);
  std::memcpy(out, wide, inner * sizeof(double));
  for (std::size_t k = inner; k < row; k += inner) {
    for (std::size_t j = 0; j < inner; ++j) out[j] = combined(op, out[j], wide[k + j]);
  }
  if (rest == 0) return;
  loop(x + groups * static_cast<std::int64_t>(row) * size, static_cast<std::size_t>(rest), inner, inner, wide);
  for (std::size_t j = 0; j < inner; ++j) out[j] = combined(op, out[j], wide[j]);
}

void reduce_tiles(int op, const View& x, const View& out, const Lines& lines, double divisor) {
  const ColumnLoop loop = table().reduce_columns[op][x.kind];
  const ConvertLoop narrow = table().convert[kDouble][out.kind];
  const bool direct = lines.length > 0 && lines.length <= kFewRows && lines.inner >= kNarrowTo && out.kind == x.kind;
  const FewRows few = direct ? table().few_rows[op][x.kind] : nullptr;
  const std::int64_t tiles = lines.tiles();
  auto body = [&](std::int64_t begin, std::int64_t end) {
    double results[kTile];
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t first = unit / tiles, tile = unit % tiles, n = lines.width(tile);
      const char* from = x.data + (first * lines.length * lines.inner + tile * kTile) * x.size;
      char* to = out.data + (first * lines.inner + tile * kTile) * out.size;
      const std::size_t rows = static_cast<std::size_t>(lines.length), inner = static_cast<std::size_t>(lines.inner);
      if (few != nullptr && few(from, rows, inner, static_cast<std::size_t>(n), divisor, to)) continue;
      if (lines.inner < kNarrowTo) few_columns(loop, op, from, x.size, lines, results);
      else loop(from, rows, inner, static_cast<std::size_t>(n), results);
      finish(op, x, from, lines, 1, divisor, results, n);
      narrow(results, to, static_cast<std::size_t>(n), false);
    }
  };
  split_tiles(lines, body);
}

void reduce_rows(int op, const View& x, const View& out, const Lines& lines, double divisor) {
  const RowLoop loop = table().reduce_row[op][x.kind];
  const ConvertLoop narrow = table().convert[kDouble][out.kind];
  const ShortRows together = out.kind == x.kind && lines.length <= kShort ? table().short_rows[op][x.kind] : nullptr;
  const std::int64_t row = lines.length * x.size;
  auto body = [&](std::int64_t begin, std::int64_t end) {
    double results[kTile];
    for (std::int64_t start = begin; start < end; start += kTile) {
      const std::int64_t n = end - start < kTile ? end - start : kTile;
      const char* from = x.data + start * row;
      char* to = out.data + start * out.size;
      const std::size_t length = static_cast<std::size_t>(lines.length);
      if (together != nullptr && together(from, static_cast<std::size_t>(n), length, divisor, to)) continue;
      for (std::int64_t j = 0; j < n; ++j) results[j] = loop(from + j * row, length);
      finish(op, x, from, lines, lines.length, divisor, results, n);
      narrow(results, to, static_cast<std::size_t>(n), false);
    }
  };
  split_units(lines.outer, lines.length, body);
}

template <int op>
PyObject* reduce(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = kReduceNames[op];
  View x, out;
  Lines lines;
  Owned held, apart;
  if (!expect_arguments(name, n, 2, op == kSum ? 3 : 2)) return nullptr;
  if (!view_lines(args[0], {name, "x"}, kNarrowKinds, &x, &lines, &held)) return nullptr;
  if (!view_line_results(args[1], {name, "out"}, lines, &out)) return nullptr;
  if (out.kind >= kNarrowKinds && !refuse_dtype(out, {name, "out"}, kNarrows)) return nullptr;
  const double divisor = n == 3 ? PyFloat_AsDouble(args[2]) : 1.0;
  if (divisor == -1.0 && PyErr_Occurred()) return nullptr;
  if (lines.length == 0 && out.count > 0 && op != kSum && op != kProduct) {
    refuse_shape(x, {name, "x"}, "a middle axis that is not empty");
    return nullptr;
  }
  if (!separate(&x, out, {name, "x"}, &apart)) return nullptr;
  if (out.count == 0) Py_RETURN_NONE;
  const Unlocked unlocked(x.count);
  if (lines.inner == 1) reduce_rows(op, x, out, lines, divisor);
  else reduce_tiles(op, x, out, lines, divisor);
  Py_RETURN_NONE;
}

void place_tiles(ColumnPlace loop, const View& x, const View& out, const Lines& lines) {
  const std::int64_t tiles = lines.tiles();
  auto body = [&](std::int64_t begin, std::int64_t end) {
    std::int32_t found[kTile];
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t first = unit / tiles, tile = unit % tiles, n = lines.width(tile);
      const char* from = x.data + (first * lines.length * lines.inner + tile * kTile) * x.size;
      loop(from, static_cast<std::size_t>(lines.length), static_cast<std::size_t>(lines.inner), static_cast<std::size_t>(n), found);
      auto to = reinterpret_cast<std::int64_t*>(out.data) + first * lines.inner + tile * kTile;
      for (std::int64_t j = 0; j < n; ++j) to[j] = found[j];
    }
  };
  split_tiles(lines, body);
}

void place_rows(RowPlace loop, const View& x, const View& out, const Lines& lines) {
  auto body = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      reinterpret_cast<std::int64_t*>(out.data)[r] = loop(x.data + r * lines.length * x.size, static_cast<std::size_t>(lines.length));
    }
  };
  split_units(lines.outer, lines.length, body);
}

template <int which>
PyObject* place(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = kPlaceNames[which];
  View x, out;
  Lines lines;
  Owned held, apart;
  if (!expect_arguments(name, n, 2, 2) || !view_lines(args[0], {name, "x"}, kNarrowKinds, &x, &lines, &held)) return nullptr;
  if (!view_line_results(args[1], {name, "out"}, lines, &out)) return nullptr;
  if (out.kind != kInt64 && !refuse_dtype(out, {name, "out"}, "int64")) return nullptr;
  if (out.count == 0) Py_RETURN_NONE;
  if (lines.length == 0 || (lines.inner > 1 && lines.length > INT32_MAX)) {
    refuse_shape(x, {name, "x"}, "a middle axis of 1 to 2147483647 elements");
    return nullptr;
  }
  if (!separate(&x, out, {name, "x"}, &apart)) return nullptr;
  const Unlocked unlocked(x.count);
  if (lines.inner == 1) place_rows(table().place_row[which][x.kind], x, out, lines);
  else place_tiles(table().place_columns[which][x.kind], x, out, lines);
  Py_RETURN_NONE;
}

constexpr const char* kReduces = "Reduces the middle of three axes, into out.";
constexpr const char* kPlaces = "Where the first extreme along the middle of three axes is, into an int64 out.";

}  // namespace

PyMethodDef reduce_methods[] = {
    method("axis_sum", reduce<kSum>, kReduces), method("axis_product", reduce<kProduct>, kReduces),
    method("axis_max", reduce<kLargest>, kReduces), method("axis_min", reduce<kSmallest>, kReduces),
    method("axis_argmax", place<0>, kPlaces), method("axis_argmin", place<1>, kPlaces), {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
