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

// One call: a ufunc, and maybe a factor of its result, which is 0 where the factor is.
struct Widened {
  Found found;
  bool times;
  Kind kind;
  int inputs() const { return found.inputs + (times ? 1 : 0); }

  // A piece of a row: each input is dense, or one element for all.
  void run(char* const* data, const bool* steps, std::int64_t n) const {
    const ConvertLoop widen = table().convert[kind][kFloat], narrow = table().convert[kFloat][kind];
    const BinaryLoop multiply = table().binary[kMultiplyNoNan][kFloat];
    alignas(64) float room[kMostInputs + 1][kChunk + 80];  // not 4 KiB apart, which the cache takes for the same place
    alignas(64) float result[kChunk + 80];
    for (std::int64_t start = 0; start < n; start += kChunk) {
      const std::int64_t k = n - start < kChunk ? n - start : kChunk;
      char* args[kMostInputs + 2];
      std::int64_t strides[kMostInputs + 2];
      for (int i = 0; i < inputs(); ++i) {
        args[i] = reinterpret_cast<char*>(room[i]);
        strides[i] = steps[i] ? static_cast<std::int64_t>(sizeof(float)) : 0;
        widen(data[i] + (steps[i] ? start * 2 : 0), room[i], static_cast<std::size_t>(steps[i] ? k : 1), false);
      }
      args[found.inputs] = reinterpret_cast<char*>(result);
      strides[found.inputs] = sizeof(float);
      found.loop(args, &k, strides, found.data);
      const int factor = found.inputs;
      if (times) multiply(result, true, room[factor], steps[factor], result, static_cast<std::size_t>(k));
      narrow(result, data[inputs()] + start * 2, static_cast<std::size_t>(k), false);
    }
  }
};

// (ufunc, inputs, out)
PyObject* widened_call(const char* name, bool times, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* names[] = {"x1", "x2", "factor"};
  if (!expect_arguments(name, n, 3, 5)) return nullptr;
  const Widened call{float_loop(args[0]), times, kOther};
  const int inputs = call.inputs();
  if (call.found.loop == nullptr) {
    return PyErr_Format(PyExc_TypeError, "%s(): ufunc = %R; allowed: one with a float32 loop, see has_float_loop()", name, args[0]);
  }
  if (!expect_arguments(name, n, inputs + 2, inputs + 2)) return nullptr;
  View v[kMostInputs + 2];
  Owned held[kMostInputs + 1];
  const View& out = v[inputs];
  if (!view_output(args[n - 1], {name, "out"}, &v[inputs])) return nullptr;
  if (out.kind != kHalf && out.kind != kBfloat16 && !refuse_dtype(out, {name, "out"}, "float16, bfloat16")) return nullptr;
  Operand operands[kMostInputs + 2];
  for (int i = 0; i < inputs; ++i) {
    const Argument argument{name, i < call.found.inputs ? names[i] : names[2]};
    if (!view(args[1 + i], argument, &v[i])) return nullptr;
    if (v[i].kind != out.kind && !refuse_dtype(v[i], argument, "the dtype of out")) return nullptr;
    if (!separate(&v[i], out, argument, &held[i])) return nullptr;
    operands[i] = operand(v[i]);
    const Operand pair[] = {operands[i], operand(out)};
    if (!Nest().set(pair, 2) && !refuse_shape(v[i], argument, "a shape that broadcasts to the output's")) return nullptr;
  }
  operands[inputs] = operand(out);
  Nest nest;
  nest.set(operands, inputs + 1);
  const Widened ready{call.found, times, out.kind};
  const Unlocked unlocked(nest.elements);
  run(nest, true, [&](char* const* data, const bool* steps, std::int64_t k) { ready.run(data, steps, k); });
  Py_RETURN_NONE;
}

PyObject* widened(PyObject*, PyObject* const* args, Py_ssize_t n) { return widened_call("widened", false, args, n); }
PyObject* widened_times(PyObject*, PyObject* const* args, Py_ssize_t n) { return widened_call("widened_times", true, args, n); }

}  // namespace

PyMethodDef ufunc_methods[] = {
    method("has_float_loop", has_float_loop, "Whether widened takes a ufunc."),
    method("widened", widened, "A ufunc of NumPy on halves, in float32."),
    method("widened_times", widened_times, "The same times a factor, and 0 where that is 0."), {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
