// Casts and table look-up.
#include "module/kernels_array.hpp"

namespace hacl::module {
namespace {

template <class Loop>
bool run_pairwise(const char* name, const View& x, const View& out, Loop loop) {
  const Operand operands[] = {operand(x), operand(out)};
  Nest nest;
  if (!nest.set(operands, 2)) return refuse_shape(x, {name, "x"}, "a shape that broadcasts to the output's");
  const Unlocked unlocked(nest.elements);
  run(nest, false, [&](char* const* data, const bool*, std::int64_t n) { loop(data[0], data[1], static_cast<std::size_t>(n)); });
  return true;
}

PyObject* convert(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = "convert";
  View x, out;
  if (!expect_arguments(name, n, 2, 3) || !view(args[0], {name, "x"}, &x) || !view_output(args[1], {name, "out"}, &out)) return nullptr;
  const int saturate = n == 3 ? PyObject_IsTrue(args[2]) : 0;
  if (saturate < 0) return nullptr;
  constexpr const char* allowed = "float16, bfloat16, float32, float64, bool, integers";
  if (x.kind == kOther && !refuse_dtype(x, {name, "x"}, allowed)) return nullptr;
  if (out.kind == kOther && !refuse_dtype(out, {name, "out"}, allowed)) return nullptr;
  const ConvertLoop loop = table().convert[x.kind][out.kind];
  if (loop == nullptr && !refuse_dtype(out, {name, "out"}, "a float dtype when x is bool or integer; use numpy.copyto")) return nullptr;
  Owned held;
  if (!separate(&x, out, {name, "x"}, &held)) return nullptr;
  auto body = [&](const char* from, char* to, std::size_t k) { loop(from, to, k, saturate != 0); };
  if (!run_pairwise(name, x, out, body)) return nullptr;
  Py_RETURN_NONE;
}

template <class Word>
void look_up(const char* x, const char* table, char* out, std::size_t n) {
  auto index = reinterpret_cast<const std::uint16_t*>(x);
  auto from = reinterpret_cast<const Word*>(table);
  auto to = reinterpret_cast<Word*>(out);
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {  // the four loads before the stores, which might alias for all the compiler knows
    const Word a = from[index[i]], b = from[index[i + 1]], c = from[index[i + 2]], d = from[index[i + 3]];
    to[i] = a;
    to[i + 1] = b;
    to[i + 2] = c;
    to[i + 3] = d;
  }
  for (; i < n; ++i) to[i] = from[index[i]];
}

PyObject* table_lookup(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = "table_lookup";
  constexpr std::int64_t entries = 65536;
  View x, values, out;
  if (!expect_arguments(name, n, 3, 3) || !view(args[0], {name, "x"}, &x) || !view(args[1], {name, "table"}, &values) ||
      !view_output(args[2], {name, "out"}, &out)) {
    return nullptr;
  }
  if (x.size != 2 && !refuse_dtype(x, {name, "x"}, "a dtype of 2 bytes")) return nullptr;
  const bool known = out.size == 1 || out.size == 2 || out.size == 4 || out.size == 8;
  if (!known && !refuse_dtype(out, {name, "out"}, "elements of 1, 2, 4 or 8 bytes")) return nullptr;
  const bool fits = values.kind == out.kind && values.size == out.size;
  if (!fits && !refuse_dtype(values, {name, "table"}, "the dtype of out")) return nullptr;
  const bool whole = values.dense && values.count == entries;
  if (!whole && !refuse_shape(values, {name, "table"}, "65,536 contiguous elements")) return nullptr;
  Owned held, held_table;
  if (!separate(&x, out, {name, "x"}, &held)) return nullptr;
  const bool written = overlaps(values, out) || values.data == out.data;
  if (written && !replace_by_copy(&values, {name, "table"}, &held_table)) return nullptr;
  auto body = [&](const char* from, char* to, std::size_t k) {
    switch (out.size) {
      case 1: return look_up<std::uint8_t>(from, values.data, to, k);
      case 2: return look_up<std::uint16_t>(from, values.data, to, k);
      case 4: return look_up<std::uint32_t>(from, values.data, to, k);
      default: return look_up<std::uint64_t>(from, values.data, to, k);
    }
  };
  if (!run_pairwise(name, x, out, body)) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef convert_methods[] = {
    method("convert", convert, "Casts x into out with one rounding; saturate keeps half types finite."),
    method("table_lookup", table_lookup, "table[bits of x] into out."), {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
