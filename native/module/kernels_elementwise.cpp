// The element-wise functions of hostacl._kernels.
#include "kernels/table.hpp"
#include "module/kernels_array.hpp"

namespace hacl::module {
namespace {

constexpr const char* kFloats = "float16, bfloat16, float32, float64, one for all arrays of a call";
constexpr const char* kBroadcasts = "a shape that broadcasts to the output's";

constexpr const char* kBinaryNames[] = {"add", "subtract", "multiply", "divide", "maximum", "minimum", "divide_no_nan", "xdivy", "floor_divide",
                                        "multiply_no_nan", "remainder", "floor_remainder"};
constexpr const char* kCompareNames[] = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"};
constexpr const char* kUnaryNames[] = {"absolute", "negative", "relu", "sqrt", "reciprocal", "square", "exp", "adds", "muls",
                                       "floor", "ceil", "trunc", "rint", "rsqrt"};
constexpr const char* kThird[] = {"x1", "x2", "x3"};
constexpr const char* kFusedNames[] = {"add_product", "add_quotient", "interpolate", "clip"};
constexpr const char* kTestNames[] = {"is_finite", "is_inf", "is_nan"};

// The input covers the output element by element, or is one element for all of them.
bool covers(const View& x, const View& out) { return x.dense && same_shape(x, out); }
bool repeats(const View& x, const View& out) { return x.count == 1 && x.nd <= out.nd; }

void run_flat(BinaryLoop loop, const View& x1, bool step1, const View& x2, bool step2, const View& out) {
  auto body = [&](std::int64_t begin, std::int64_t end) {
    loop(x1.data + (step1 ? begin * x1.size : 0), step1, x2.data + (step2 ? begin * x2.size : 0), step2, out.data + begin * out.size,
         static_cast<std::size_t>(end - begin));
  };
  if (out.count < kUnlockElements) return body(0, out.count);
  const Unlocked unlocked(out.count);
  split_units(out.count, 1, body);
}

bool run_binary(BinaryLoop loop, const char* name, const View& x1, const View& x2, const View& out) {
  const bool covers1 = covers(x1, out), covers2 = covers(x2, out);
  if (out.dense && (covers1 || repeats(x1, out)) && (covers2 || repeats(x2, out))) {
    run_flat(loop, x1, covers1, x2, covers2, out);
    return true;
  }
  const Operand operands[] = {operand(x1), operand(x2), operand(out)};
  Nest nest;
  if (!nest.set(operands, 3)) {
    const Operand first[] = {operands[0], operands[2]};
    return Nest().set(first, 2) ? refuse_shape(x2, {name, "x2"}, kBroadcasts) : refuse_shape(x1, {name, "x1"}, kBroadcasts);
  }
  const Unlocked unlocked(nest.elements);
  run(nest, true, [&](char* const* data, const bool* steps, std::int64_t n) {
    loop(data[0], steps[0], data[1], steps[1], data[2], static_cast<std::size_t>(n));
  });
  return true;
}

PyObject* binary_call(const char* name, const BinaryLoop* loops, bool compares, PyObject* const* args, Py_ssize_t n) {
  View x1, x2, out;
  if (!expect_arguments(name, n, 3, 3) || !view(args[0], {name, "x1"}, &x1) || !view(args[1], {name, "x2"}, &x2) ||
      !view_output(args[2], {name, "out"}, &out)) {
    return nullptr;
  }
  if (x1.kind >= kFloatKinds && !refuse_dtype(x1, {name, "x1"}, kFloats)) return nullptr;
  if (x2.kind != x1.kind && !refuse_dtype(x2, {name, "x2"}, "the dtype of x1")) return nullptr;
  if (out.kind != (compares ? kBool : x1.kind) && !refuse_dtype(out, {name, "out"}, compares ? "bool" : "the dtype of x1")) return nullptr;
  Owned held1, held2;
  if (!separate(&x1, out, {name, "x1"}, &held1) || !separate(&x2, out, {name, "x2"}, &held2)) return nullptr;
  if (!run_binary(loops[x1.kind], name, x1, x2, out)) return nullptr;
  Py_RETURN_NONE;
}

template <int op>
PyObject* binary(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return binary_call(kBinaryNames[op], table().binary[op], false, args, n);
}

template <int op>
PyObject* compare(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return binary_call(kCompareNames[op], table().compare[op], true, args, n);
}

bool run_unary(UnaryLoop loop, const char* name, const View& x, const View& out, double value) {
  if (out.dense && covers(x, out)) {
    auto body = [&](std::int64_t begin, std::int64_t end) {
      loop(x.data + begin * x.size, out.data + begin * out.size, static_cast<std::size_t>(end - begin), value);
    };
    const Unlocked unlocked(out.count);
    split_units(out.count, 1, body);
    return true;
  }
  const Operand operands[] = {operand(x), operand(out)};
  Nest nest;
  if (!nest.set(operands, 2)) return refuse_shape(x, {name, "x"}, kBroadcasts);
  const Unlocked unlocked(nest.elements);
  run(nest, false, [&](char* const* data, const bool*, std::int64_t n) { loop(data[0], data[1], static_cast<std::size_t>(n), value); });
  return true;
}

PyObject* unary_call(int op, PyObject* in, PyObject* result, double value) {
  const char* name = kUnaryNames[op];
  View x, out;
  if (!view(in, {name, "x"}, &x) || !view_output(result, {name, "out"}, &out)) return nullptr;
  const UnaryLoop loop = x.kind < kFloatKinds ? table().unary[op][x.kind] : nullptr;
  if (loop == nullptr && !refuse_dtype(x, {name, "x"}, op == kExp ? "float16, bfloat16, float32" : kFloats)) return nullptr;
  if (out.kind != x.kind && !refuse_dtype(out, {name, "out"}, "the dtype of x")) return nullptr;
  Owned held;
  if (!separate(&x, out, {name, "x"}, &held) || !run_unary(loop, name, x, out, value)) return nullptr;
  Py_RETURN_NONE;
}

template <int op>
PyObject* unary(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!expect_arguments(kUnaryNames[op], n, 2, 2)) return nullptr;
  return unary_call(op, args[0], args[1], 0.0);
}

template <int op>
PyObject* test(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = kTestNames[op];
  View x, out;
  if (!expect_arguments(name, n, 2, 2) || !view(args[0], {name, "x"}, &x) || !view_output(args[1], {name, "out"}, &out)) return nullptr;
  if (x.kind >= kFloatKinds && !refuse_dtype(x, {name, "x"}, kFloats)) return nullptr;
  if (out.kind != kBool && !refuse_dtype(out, {name, "out"}, "bool")) return nullptr;
  Owned held;
  if (!separate(&x, out, {name, "x"}, &held) || !run_unary(table().test[op][x.kind], name, x, out, 0.0)) return nullptr;
  Py_RETURN_NONE;
}

template <int op>
PyObject* with_value(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!expect_arguments(kUnaryNames[op], n, 3, 3)) return nullptr;
  const double value = PyFloat_AsDouble(args[1]);
  if (value == -1.0 && PyErr_Occurred()) return nullptr;
  return unary_call(op, args[0], args[2], value);
}

bool run_fused(FusedLoop loop, const char* name, const View* v, double value) {
  const View& out = v[3];
  bool steps[3];
  bool plain = out.dense;
  for (int k = 0; k < 3; ++k) {
    steps[k] = covers(v[k], out);
    plain = plain && (steps[k] || repeats(v[k], out));
    const Operand pair[] = {operand(v[k]), operand(out)};
    if (!plain && !Nest().set(pair, 2)) return refuse_shape(v[k], {name, kThird[k]}, kBroadcasts);
  }
  const Unlocked unlocked(out.count);
  if (plain) {
    auto body = [&](std::int64_t begin, std::int64_t end) {
      const char* at[3];
      for (int k = 0; k < 3; ++k) at[k] = v[k].data + (steps[k] ? begin * v[k].size : 0);
      loop(at[0], steps[0], at[1], steps[1], at[2], steps[2], out.data + begin * out.size, static_cast<std::size_t>(end - begin), value);
    };
    split_units(out.count, 1, body);
    return true;
  }
  const Operand operands[] = {operand(v[0]), operand(v[1]), operand(v[2]), operand(out)};
  Nest nest;
  nest.set(operands, 4);
  run(nest, true, [&](char* const* data, const bool* step, std::int64_t n) {
    loop(data[0], step[0], data[1], step[1], data[2], step[2], data[3], static_cast<std::size_t>(n), value);
  });
  return true;
}

// (x1, x2, x3, value, out)
template <int op>
PyObject* fused(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = kFusedNames[op];
  if (!expect_arguments(name, n, 5, 5)) return nullptr;
  const double value = PyFloat_AsDouble(args[3]);
  if (value == -1.0 && PyErr_Occurred()) return nullptr;
  View v[4];
  Owned held[3];
  if (!view_output(args[4], {name, "out"}, &v[3])) return nullptr;
  if (v[3].kind >= kFloatKinds && !refuse_dtype(v[3], {name, "out"}, kFloats)) return nullptr;
  for (int k = 0; k < 3; ++k) {
    if (!view(args[k], {name, kThird[k]}, &v[k])) return nullptr;
    if (v[k].kind != v[3].kind && !refuse_dtype(v[k], {name, kThird[k]}, "the dtype of out")) return nullptr;
    if (!separate(&v[k], v[3], {name, kThird[k]}, &held[k])) return nullptr;
  }
  if (v[3].count == 0) Py_RETURN_NONE;
  if (!run_fused(table().fused[op][v[3].kind], name, v, value)) return nullptr;
  Py_RETURN_NONE;
}

int size_index(int size) { return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : size == 16 ? 4 : -1; }

bool same_dtype(const View& a, const View& b) {
  if (a.kind != kOther || b.kind != kOther) return a.kind == b.kind;
  Owned first(PyObject_GetAttrString(a.object, "dtype"));
  Owned second(PyObject_GetAttrString(b.object, "dtype"));
  return first.get() != nullptr && second.get() != nullptr && PyObject_RichCompareBool(first.get(), second.get(), Py_EQ) == 1;
}

PyObject* select(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Argument names[] = {{"select", "condition"}, {"select", "x1"}, {"select", "x2"}, {"select", "out"}};
  View v[4];
  if (!expect_arguments("select", n, 4, 4)) return nullptr;
  for (int k = 0; k < 3; ++k) {
    if (!view(args[k], names[k], &v[k])) return nullptr;
  }
  if (!view_output(args[3], names[3], &v[3])) return nullptr;
  const int index = size_index(v[3].size);
  if (v[0].kind != kBool && !refuse_dtype(v[0], names[0], "bool")) return nullptr;
  if (index < 0 && !refuse_dtype(v[3], names[3], "elements of 1, 2, 4, 8 or 16 bytes")) return nullptr;
  Owned held[3];
  for (int k = 0; k < 3; ++k) {
    if (k > 0 && !same_dtype(v[k], v[3])) {
      if (!PyErr_Occurred()) refuse_dtype(v[k], names[k], "the dtype of out");
      return nullptr;
    }
    if (!separate(&v[k], v[3], names[k], &held[k])) return nullptr;
    const Operand pair[] = {operand(v[k]), operand(v[3])};
    if (!Nest().set(pair, 2) && !refuse_shape(v[k], names[k], kBroadcasts)) return nullptr;
  }
  const Operand operands[] = {operand(v[0]), operand(v[1]), operand(v[2]), operand(v[3])};
  Nest nest;
  nest.set(operands, 4);
  const SelectLoop loop = table().select[index];
  const Unlocked unlocked(nest.elements);
  run(nest, false, [&](char* const* data, const bool*, std::int64_t k) {
    loop(data[0], data[1], data[2], data[3], static_cast<std::size_t>(k));
  });
  Py_RETURN_NONE;
}

constexpr const char* kSee = "Element-wise over arrays of floats, into out; see hostacl/_kernels.pyi.";

}  // namespace

PyMethodDef elementwise_methods[] = {
    method("add", binary<kAdd>, kSee), method("subtract", binary<kSubtract>, kSee), method("multiply", binary<kMultiply>, kSee),
    method("divide", binary<kDivide>, kSee), method("maximum", binary<kMaximum>, kSee), method("minimum", binary<kMinimum>, kSee),
    method("equal", compare<kEqual>, kSee), method("not_equal", compare<kNotEqual>, kSee), method("less", compare<kLess>, kSee),
    method("less_equal", compare<kLessEqual>, kSee), method("greater", compare<kGreater>, kSee),
    method("greater_equal", compare<kGreaterEqual>, kSee), method("absolute", unary<kAbsolute>, kSee),
    method("negative", unary<kNegative>, kSee), method("relu", unary<kRelu>, kSee), method("sqrt", unary<kSqrt>, kSee),
    method("reciprocal", unary<kReciprocal>, kSee), method("square", unary<kSquare>, kSee), method("exp", unary<kExp>, kSee),
    method("floor", unary<kFloor>, kSee), method("ceil", unary<kCeil>, kSee), method("trunc", unary<kTrunc>, kSee),
    method("rint", unary<kRint>, kSee), method("rsqrt", unary<kRsqrt>, kSee),
    method("divide_no_nan", binary<kDivideNoNan>, kSee), method("xdivy", binary<kXdivy>, kSee),
    method("floor_divide", binary<kFloorDivide>, kSee), method("multiply_no_nan", binary<kMultiplyNoNan>, kSee),
    method("remainder", binary<kRemainder>, kSee), method("floor_remainder", binary<kFloorRemainder>, kSee), method("add_product", fused<kAddProduct>, kSee),
    method("add_quotient", fused<kAddQuotient>, kSee), method("interpolate", fused<kInterpolate>, kSee), method("clip", fused<kClip>, kSee),
    method("is_finite", test<kFiniteTest>, kSee), method("is_inf", test<kInfTest>, kSee), method("is_nan", test<kNanTest>, kSee),
    method("adds", with_value<kAdds>, kSee), method("muls", with_value<kMuls>, kSee),
    method("select", select, "x1 where condition, else x2, into out."), {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
