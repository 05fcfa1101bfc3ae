// Sums, along the middle of three axes, of what is worked out from each element and a centre: squares, exponentials.
#include <cstring>

#include "module/kernels_lines.hpp"

namespace hacl::module {
namespace {

constexpr std::size_t kRoom = 4096;  // elements that are worked on at once
constexpr const char* kCentredNames[] = {"axis_squares", "axis_exponentials"};

// x and its centre: one float32 a line, an element for each of x, or none (nullptr), which is 0.
struct Centred {
  View x, centre, out;
  Lines lines;
  Owned held_x, held_centre;
  bool given = false, each = false;
  UnaryLoop step = nullptr;
  CentredRow row = nullptr;
  CentredSteps steps = nullptr;  // of halves

  bool read(const char* name, PyObject* const* args) {
    if (!view_lines(args[0], {name, "x"}, kNarrowKinds, &x, &lines, &held_x)) return false;
    if (!view_output(args[2], {name, "out"}, &out)) return false;
    if (out.kind != kDouble) return refuse_dtype(out, {name, "out"}, "float64");
    if (!out.dense || out.count != lines.outer * lines.inner) return refuse_shape(out, {name, "out"}, "one element for each line of x");
    if (!separate(&x, out, {name, "x"}, &held_x)) return false;
    given = args[1] != Py_None;
    return !given || read_centre({name, "centre"}, args[1]);
  }

  bool read_centre(Argument argument, PyObject* object) {
    if (!view(object, argument, &centre)) return false;
    each = same_shape(centre, x);
    if (centre.kind != (each ? x.kind : kFloat)) return refuse_dtype(centre, argument, each ? "the dtype of x" : "float32");
    if (!each && centre.count != out.count) return refuse_shape(centre, argument, "one element for each line of x, or x's shape");
    if (!centre.dense && !replace_by_copy(&centre, argument, &held_centre)) return false;
    return separate(&centre, out, argument, &held_centre);
  }

  static const float* floats(const View& v, std::int64_t at, std::size_t n, float* room) {
    const char* from = v.data + at * v.size;
    if (v.kind == kFloat) return reinterpret_cast<const float*>(from);
    table().convert[v.kind][kFloat](from, room, n, false);
    return room;
  }

  // room = step(x - centre) of n elements of x from `at` on. The centre is one for each `few` of them (line by line), or `few`
  // long and repeated.
  void work(std::int64_t at, std::size_t n, const float* centres, std::size_t few, bool by_line, float* room) const {
    if (steps != nullptr) return work_halves(at, n, centres, few, by_line, room);
    const float* from = floats(x, at, n, room);
    float other[kRoom];
    const BinaryLoop subtract = table().binary[kSubtract][kFloat];
    if (each) {
      subtract(from, true, floats(centre, at, n, other), true, room, n);
    } else if (given) {
      for (std::size_t i = 0; i < n; i += few) {
        subtract(from + i, true, by_line ? centres++ : centres, !by_line, room + i, n - i < few ? n - i : few);
      }
    }
    step(given ? room : from, room, n, 0);
  }

  // The same of halves, which are widened on the way.
  void work_halves(std::int64_t at, std::size_t n, const float* centres, std::size_t few, bool by_line, float* room) const {
    constexpr float zero = 0;
    const char* from = x.data + at * x.size;
    float other[kRoom];
    if (each) return steps(from, floats(centre, at, n, other), true, room, n);
    if (!given) return steps(from, &zero, false, room, n);
    for (std::size_t i = 0; i < n; i += few) {
      steps(from + i * static_cast<std::size_t>(x.size), by_line ? centres++ : centres, !by_line, room + i, n - i < few ? n - i : few);
    }
  }

  // Lines that are not short, with one centre each or none, as they are.
  void long_rows() const {
    auto body = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) {
        const float middle = given ? reinterpret_cast<const float*>(centre.data)[line] : 0.0f;
        const char* from = x.data + line * lines.length * x.size;
        reinterpret_cast<double*>(out.data)[line] = row(from, middle, static_cast<std::size_t>(lines.length));
      }
    };
    split_units(lines.outer, lines.length, body);
  }

  // Several short lines at once, long ones piece by piece.
  void rows() const {
    if (!each && lines.length >= kShort) return long_rows();
    const RowLoop sum = table().reduce_row[kSum][kFloat];
    const std::size_t length = static_cast<std::size_t>(lines.length), piece = length < kRoom ? length : kRoom;
    const std::int64_t most = length < kRoom ? static_cast<std::int64_t>(kRoom / (length > 0 ? length : 1)) : 1;
    auto body = [&](std::int64_t begin, std::int64_t end) {
      float room[kRoom];
      for (std::int64_t line = begin; line < end; line += most) {
        const std::size_t count = static_cast<std::size_t>(end - line < most ? end - line : most);
        const float* middle = given && !each ? reinterpret_cast<const float*>(centre.data) + line : nullptr;
        double* to = reinterpret_cast<double*>(out.data) + line;
        std::memset(to, 0, count * sizeof(double));
        for (std::size_t start = 0; start < length; start += piece) {
          const std::size_t n = length - start < piece ? length - start : piece;
          work(line * lines.length + static_cast<std::int64_t>(start), count * n, middle, n, true, room);
          for (std::size_t r = 0; r < count; ++r) to[r] += sum(room + r * n, n);
        }
      }
    };
    split_units(lines.outer, lines.length, body);
  }

  // Columns first to first + n - 1 of one of `outer`: all there are, several rows of them side by side, or a tile of them row by row.
  void columns(std::int64_t outer, std::int64_t first, std::size_t n) const {
    const ColumnLoop sum = table().reduce_columns[kSum][kFloat];
    const bool all = static_cast<std::int64_t>(n) == lines.inner;
    const std::size_t side = all ? static_cast<std::size_t>(kTile) / n : 1, row = side * n, length = static_cast<std::size_t>(lines.length);
    double* to = reinterpret_cast<double*>(out.data) + outer * lines.inner + first;
    const float* middle = given && !each ? reinterpret_cast<const float*>(centre.data) + outer * lines.inner + first : nullptr;
    float room[kRoom], repeated[kTile];
    double part[kTile];
    for (std::size_t k = 0; middle != nullptr && k < row; k += n) std::memcpy(repeated + k, middle, n * sizeof(float));
    std::memset(to, 0, n * sizeof(double));
    const std::size_t most = kRoom / row * side;  // rows at once
    for (std::size_t start = 0; start < length; start += most) {
      const std::size_t rows = length - start < most ? length - start : most, whole = rows / side, rest = rows % side;
      const std::int64_t at = (outer * lines.length + static_cast<std::int64_t>(start)) * lines.inner + first;
      if (all) work(at, rows * n, repeated, row, false, room);
      for (std::size_t r = 0; !all && r < rows; ++r) {
        work(at + static_cast<std::int64_t>(r) * lines.inner, n, repeated, n, false, room + r * n);
      }
      if (whole > 0) sum(room, whole, row, row, part);
      for (std::size_t k = 0; whole > 0 && k < row; ++k) to[k % n] += part[k];
      if (rest > 0) sum(room + whole * row, rest, n, n, part);
      for (std::size_t k = 0; rest > 0 && k < n; ++k) to[k] += part[k];
    }
  }

  void run() const {
    if (lines.inner == 1) return rows();
    const std::int64_t tiles = lines.tiles();
    auto body = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        columns(unit / tiles, unit % tiles * kTile, static_cast<std::size_t>(lines.width(unit % tiles)));
      }
    };
    split_tiles(lines, body);
  }
};

template <int which>
PyObject* centred(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = kCentredNames[which];
  Centred call;
  if (!expect_arguments(name, n, 3, 3) || !call.read(name, args)) return nullptr;
  if (call.out.count == 0) Py_RETURN_NONE;
  call.step = table().unary[which == 0 ? kSquare : kExp][kFloat];
  call.row = table().centred_row[which][call.x.kind];
  call.steps = table().centred_steps[which][call.x.kind];
  const Unlocked unlocked(call.x.count);
  call.run();
  Py_RETURN_NONE;
}

constexpr const char* kDoc = "Sums of what is worked out of x - centre, along the middle of three axes, into out.";

}  // namespace

PyMethodDef centred_methods[] = {method("axis_squares", centred<0>, kDoc), method("axis_exponentials", centred<1>, kDoc),
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
