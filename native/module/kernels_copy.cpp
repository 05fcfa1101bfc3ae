// Copies between layouts.
#include "kernels/copy.hpp"
#include "module/kernels_array.hpp"

namespace hacl::module {
namespace {

constexpr Argument kX{"copy", "x"};
constexpr Argument kOut{"copy", "out"};

bool refuse_perm(PyObject* perm, int nd) {
  PyErr_Format(PyExc_ValueError, "copy(): perm = %R; allowed: each of the axes 0 to %d once (negative ones count from the end)",
               perm, nd - 1);
  return false;
}

// The axes of x in the order of out's; false with an exception set.
bool read_perm(PyObject* perm, int nd, int* axes) {
  for (int d = 0; d < nd; ++d) axes[d] = d;
  if (perm == Py_None) return true;
  Owned items(PySequence_Fast(perm, "copy(): perm is not a sequence; allowed: a sequence of axes, None"));
  if (items.get() == nullptr) return false;
  if (PySequence_Fast_GET_SIZE(items.get()) != nd) return refuse_perm(perm, nd);
  bool seen[kMaxDims] = {};
  for (int d = 0; d < nd; ++d) {
    const Py_ssize_t given = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(items.get(), d), PyExc_ValueError);
    if (given == -1 && PyErr_Occurred()) return false;
    const Py_ssize_t axis = given < 0 ? given + nd : given;
    if (axis < 0 || axis >= nd || seen[axis]) return refuse_perm(perm, nd);
    seen[axis] = true;
    axes[d] = static_cast<int>(axis);
  }
  return true;
}

bool known_size(int size) { return size == 1 || size == 2 || size == 4 || size == 8 || size == 16; }

PyObject* copy(PyObject*, PyObject* const* args, Py_ssize_t n) {
  View x, out;
  int axes[kMaxDims];
  if (!expect_arguments("copy", n, 2, 3) || !view(args[0], kX, &x) || !view_output(args[1], kOut, &out)) return nullptr;
  if (!known_size(x.size) && !refuse_dtype(x, kX, "elements of 1, 2, 4, 8 or 16 bytes")) return nullptr;
  if (out.size != x.size && !refuse_dtype(out, kOut, "elements of the size of x's")) return nullptr;
  if (!read_perm(n == 3 ? args[2] : Py_None, x.nd, axes)) return nullptr;
  bool fits = x.nd == out.nd;
  for (int d = 0; fits && d < x.nd; ++d) fits = x.shape[axes[d]] == out.shape[d];
  if (!fits && !refuse_shape(out, kOut, "the shape of x, permuted")) return nullptr;
  Owned held;
  const bool moves = overlaps(x, out) || (x.count > 0 && x.data == out.data);
  if (moves && !replace_by_copy(&x, kX, &held)) return nullptr;
  CopyPlan plan;
  plan.nd = x.nd;
  plan.size = x.size;
  plan.x = x.data;
  plan.out = out.data;
  for (int d = 0; d < x.nd; ++d) {
    plan.shape[d] = out.shape[d];
    plan.from[d] = x.strides[axes[d]];
    plan.to[d] = out.strides[d];
  }
  const Unlocked unlocked(x.count);
  hacl::copy(plan);
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef copy_methods[] = {method("copy", copy, "out[...] = x.transpose(perm), blocked for the cache."), {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
