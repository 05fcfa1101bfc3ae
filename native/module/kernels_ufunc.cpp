// NumPy's own float32 loops on halves: widened piece by piece, computed by NumPy, rounded once; on several threads.
#include "module/kernels_array.hpp"

#include <cstring>

namespace hacl::module {
namespace {

using Loop = void (*)(char** args, const std::int64_t* n, const std::int64_t* steps, void* data);

// The fixed head of a ufunc's struct, which NumPy 1.26 and 2.x share; checked once.
struct UfuncHead {
  PyObject_HEAD
  int nin, nout, nargs, identity;
  Loop* functions;
  void* const* data;
  int ntypes, reserved;
  const char* name;
  const char* types;
};

constexpr char kFloatNumber = 11;  // NumPy's type number of float32
constexpr std::int64_t kChunk = 1024;
constexpr int kMostInputs = 2;

const UfuncHead* head(PyObject* ufunc) { return reinterpret_cast<const UfuncHead*>(ufunc); }

PyObject* ufunc_type() {  // borrowed; nullptr where the struct is not as it is here
  static PyObject* known = nullptr;
  static bool asked = false;
  if (asked) return known;
  asked = true;
  Owned numpy(PyImport_ImportModule("numpy"));
  Owned add(numpy.get() == nullptr ? nullptr : PyObject_GetAttrString(numpy.get(), "add"));
  Owned types(add.get() == nullptr ? nullptr : PyObject_GetAttrString(add.get(), "types"));
  if (types.get() == nullptr || !PyList_Check(types.get())) {
    PyErr_Clear();
    return nullptr;
  }
  const UfuncHead* h = head(add.get());
  const Py_ssize_t count = PyList_GET_SIZE(types.get());
  bool agrees = h->nin == 2 && h->nout == 1 && h->nargs == 3 && h->ntypes == count && std::strcmp(h->name, "add") == 0;
  for (Py_ssize_t i = 0; agrees && i < count; ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(types.get(), i));
    const bool floats = h->types[3 * i] == kFloatNumber && h->types[3 * i + 1] == kFloatNumber && h->types[3 * i + 2] == kFloatNumber;
    agrees = text != nullptr && floats == (std::strcmp(text, "ff->f") == 0);
  }
  PyErr_Clear();
  if (agrees) known = reinterpret_cast<PyObject*>(Py_TYPE(add.get()));
  return known;
}

struct Found {
  Loop loop = nullptr;
  void* data = nullptr;
  int inputs = 0;
};

// NumPy's loop of floats; without one: no loop.
Found float_loop(PyObject* ufunc) {
  Found found;
  PyObject* type = ufunc_type();
  if (type == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(ufunc)) != type) return found;
  const UfuncHead* h = head(ufunc);
  if (h->nout != 1 || h->nin < 1 || h->nin > kMostInputs || h->functions == nullptr || h->types == nullptr) return found;
  for (int i = 0; i < h->ntypes && found.loop == nullptr; ++i) {
    bool floats = true;
    for (int k = 0; k < h->nargs; ++k) floats = floats && h->types[i * h->nargs + k] == kFloatNumber;
    if (floats) found = {h->functions[i], h->data == nullptr ? nullptr : h->data[i], h->nin};
  }
  return found;
}

PyObject* has_float_loop(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!expect_arguments("has_float_loop", n, 1, 1)) return nullptr;
  return PyBool_FromLong(float_loop(args[0]).loop != nullptr);
}

// A piece of a row: each input is dense, or one element for all.
void run_widened(const Found& found, Kind kind, char* const* data, const bool* steps, std::int64_t n) {
  const ConvertLoop widen = table().convert[kind][kFloat], narrow = table().convert[kFloat][kind];
  alignas(64) float room[kMostInputs + 1][kChunk];
  const int out = found.inputs;
  for (std::int64_t start = 0; start < n; start += kChunk) {
    const std::int64_t k = n - start < kChunk ? n - start : kChunk;
    char* args[kMostInputs + 1];
    std::int64_t strides[kMostInputs + 1];
    for (int i = 0; i <= out; ++i) {
      args[i] = reinterpret_cast<char*>(room[i]);
      strides[i] = i == out || steps[i] ? static_cast<std::int64_t>(sizeof(float)) : 0;
      if (i < out) widen(data[i] + (steps[i] ? start * 2 : 0), room[i], static_cast<std::size_t>(steps[i] ? k : 1), false);
    }
    found.loop(args, &k, strides, found.data);
    narrow(room[out], data[out] + start * 2, static_cast<std::size_t>(k), false);
  }
}

// (ufunc, x1, x2 if it has two inputs, out)
PyObject* widened(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = "widened";
  constexpr const char* names[] = {"x1", "x2"};
  if (!expect_arguments(name, n, 3, 4)) return nullptr;
  const Found found = float_loop(args[0]);
  if (found.loop == nullptr) return PyErr_Format(PyExc_TypeError, "%s(): ufunc = %R; allowed: one with a float32 loop, see has_float_loop()", name, args[0]);
  if (!expect_arguments(name, n, found.inputs + 2, found.inputs + 2)) return nullptr;
  View v[kMostInputs + 1];
  Owned held[kMostInputs];
  const View& out = v[found.inputs];
  if (!view_output(args[n - 1], {name, "out"}, &v[found.inputs])) return nullptr;
  if (out.kind != kHalf && out.kind != kBfloat16 && !refuse_dtype(out, {name, "out"}, "float16, bfloat16")) return nullptr;
  Operand operands[kMostInputs + 1];
  for (int i = 0; i < found.inputs; ++i) {
    if (!view(args[1 + i], {name, names[i]}, &v[i])) return nullptr;
    if (v[i].kind != out.kind && !refuse_dtype(v[i], {name, names[i]}, "the dtype of out")) return nullptr;
    if (!separate(&v[i], out, {name, names[i]}, &held[i])) return nullptr;
    operands[i] = operand(v[i]);
    const Operand pair[] = {operands[i], operand(out)};
    if (!Nest().set(pair, 2) && !refuse_shape(v[i], {name, names[i]}, "a shape that broadcasts to the output's")) return nullptr;
  }
  operands[found.inputs] = operand(out);
  Nest nest;
  nest.set(operands, found.inputs + 1);
  const Unlocked unlocked(nest.elements);
  run(nest, true, [&](char* const* data, const bool* steps, std::int64_t k) { run_widened(found, out.kind, data, steps, k); });
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef ufunc_methods[] = {
    method("has_float_loop", has_float_loop, "Whether widened takes a ufunc."),
    method("widened", widened, "A ufunc of NumPy on halves, in float32."), {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
