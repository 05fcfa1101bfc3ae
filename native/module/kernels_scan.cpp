// Running sums, products and extremes along the middle of three axes.
#include "module/kernels_lines.hpp"

namespace hacl::module {
namespace {

constexpr const char* kScanNames[] = {"running_sum", "running_product"};
constexpr const char* kExtremeNames[] = {"running_max", "running_min"};

void scan_tiles(ScanColumns loop, const View& x, const View& out, const Lines& lines, bool exclusive, bool reverse) {
  const std::int64_t tiles = lines.tiles();
  const std::int64_t last = reverse ? (lines.length - 1) * lines.inner : 0;
  auto body = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t at = unit / tiles * lines.length * lines.inner + unit % tiles * kTile + last;
      loop(x.data + at * x.size, out.data + at * out.size, static_cast<std::size_t>(lines.length), reverse ? -lines.inner : lines.inner,
           static_cast<std::size_t>(lines.width(unit % tiles)), exclusive);
    }
  };
  split_tiles(lines, body);
}

// Short rows of halves, widened many at a time.
void scan_short_rows(ScanShort loop, const View& x, const View& out, const Lines& lines, bool exclusive, bool reverse) {
  const ConvertLoop widen = table().convert[x.kind][kFloat], narrow = table().convert[kFloat][x.kind];
  const std::int64_t step = kWide / lines.length;
  auto body = [&](std::int64_t begin, std::int64_t end) {
    float wide[kWide];
    for (std::int64_t start = begin; start < end; start += step) {
      const std::int64_t n = end - start < step ? end - start : step, at = start * lines.length * x.size;
      const std::size_t elements = static_cast<std::size_t>(n * lines.length);
      widen(x.data + at, wide, elements, false);
      for (std::int64_t r = 0; r < n; ++r) {
        loop(wide + r * lines.length, static_cast<std::size_t>(lines.length), reverse, exclusive);
      }
      narrow(wide, out.data + at, elements, false);
    }
  };
  split_units(lines.outer, lines.length, body);
}

void scan_rows(ScanRow loop, const View& x, const View& out, const Lines& lines, bool exclusive, bool reverse) {
  auto body = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t at = r * lines.length;
      loop(x.data + at * x.size, out.data + at * out.size, static_cast<std::size_t>(lines.length), reverse, exclusive);
    }
  };
  split_units(lines.outer, lines.length, body);
}

template <int op>
PyObject* scan(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = kScanNames[op];
  View x, out;
  Lines lines;
  Owned held, apart;
  if (!expect_arguments(name, n, 4, 4) || !view_lines(args[0], {name, "x"}, kFloatKinds, &x, &lines, &held)) return nullptr;
  if (!view_output(args[1], {name, "out"}, &out)) return nullptr;
  if (out.kind != x.kind && !refuse_dtype(out, {name, "out"}, "the dtype of x")) return nullptr;
  if (!(out.dense && same_shape(x, out)) && !refuse_shape(out, {name, "out"}, "the shape of x, contiguous")) return nullptr;
  const int exclusive = PyObject_IsTrue(args[2]), reverse = PyObject_IsTrue(args[3]);
  if (exclusive < 0 || reverse < 0 || !separate(&x, out, {name, "x"}, &apart)) return nullptr;
  if (x.count == 0) Py_RETURN_NONE;
  const Unlocked unlocked(x.count);
  const bool half = x.kind == kHalf || x.kind == kBfloat16;
  if (lines.inner == 1 && half && lines.length < kShort) {
    scan_short_rows(table().scan_short[op], x, out, lines, exclusive != 0, reverse != 0);
  } else if (lines.inner == 1) scan_rows(table().scan_row[op][x.kind], x, out, lines, exclusive != 0, reverse != 0);
  else scan_tiles(table().scan_columns[op][x.kind], x, out, lines, exclusive != 0, reverse != 0);
  Py_RETURN_NONE;
}

// Row by row where inner is 1, else tiles of columns.
void run_extremes(int which, const View& x, const View& values, std::int64_t* places, const Lines& lines) {
  const RunRow row = table().run_row[which][x.kind];
  const RunColumns columns = table().run_columns[which][x.kind];
  const std::int64_t tiles = lines.tiles();
  auto body = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t at = unit / tiles * lines.length * lines.inner + unit % tiles * kTile;
      const char* from = x.data + at * x.size;
      char* to = values.data + at * values.size;
      const std::size_t length = static_cast<std::size_t>(lines.length), inner = static_cast<std::size_t>(lines.inner);
      if (inner == 1) row(from, to, places + at, length);
      else columns(from, to, places + at, length, inner, static_cast<std::size_t>(lines.width(unit % tiles)));
    }
  };
  split_tiles(lines, body);
}

template <int which>
PyObject* extreme(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = kExtremeNames[which];
  View x, values, places;
  Lines lines;
  Owned held, apart;
  if (!expect_arguments(name, n, 3, 3) || !view_lines(args[0], {name, "x"}, kNarrowKinds, &x, &lines, &held)) return nullptr;
  if (!view_output(args[1], {name, "values"}, &values) || !view_output(args[2], {name, "places"}, &places)) return nullptr;
  if (values.kind != x.kind && !refuse_dtype(values, {name, "values"}, "the dtype of x")) return nullptr;
  if (places.kind != kInt64 && !refuse_dtype(places, {name, "places"}, "int64")) return nullptr;
  constexpr const char* allowed = "the shape of x, contiguous";
  if (!(values.dense && same_shape(x, values)) && !refuse_shape(values, {name, "values"}, allowed)) return nullptr;
  if (!(places.dense && same_shape(x, places)) && !refuse_shape(places, {name, "places"}, allowed)) return nullptr;
  if (lines.length > INT32_MAX && lines.inner > 1) {
    refuse_shape(x, {name, "x"}, "a middle axis of up to 2147483647 elements");
    return nullptr;
  }
  if (!separate(&x, values, {name, "x"}, &apart) || !separate(&x, places, {name, "x"}, &apart)) return nullptr;
  if (x.count == 0) Py_RETURN_NONE;
  const Unlocked unlocked(x.count);
  run_extremes(which, x, values, reinterpret_cast<std::int64_t*>(places.data), lines);
  Py_RETURN_NONE;
}

constexpr const char* kScans = "Runs along the middle of three axes, into out.";
constexpr const char* kExtremes = "The extreme so far and its place along the middle of three axes, into values and places.";

}  // namespace

PyMethodDef scan_methods[] = {
    method("running_sum", scan<0>, kScans), method("running_product", scan<1>, kScans),
    method("running_max", extreme<0>, kExtremes), method("running_min", extreme<1>, kExtremes), {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
