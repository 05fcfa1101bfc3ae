// NumPy arrays read through the fixed head of their struct, which NumPy 1.26 and 2.x share; checked once at import.
#pragma once

#include <Python.h>

#include <cstdint>

#include "kernels/iterate.hpp"
#include "kernels/table.hpp"

namespace hacl::module {

struct View {
  PyObject* object;  // borrowed
  char* data;
  int nd;
  const std::int64_t* shape;
  const std::int64_t* strides;
  std::int64_t count;
  Kind kind;
  int size;
  bool dense;  // C-contiguous
  bool writeable;
};

// An argument of a call: for the messages.
struct Argument {
  const char* function;
  const char* name;
};

bool find_numpy();  // false with ImportError set

bool view(PyObject* object, Argument argument, View* out);         // false with TypeError set
bool view_output(PyObject* object, Argument argument, View* out);  // and ValueError when it is read-only
bool expect_arguments(const char* function, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most);

bool refuse_dtype(const View& x, Argument argument, const char* allowed);  // always false, with TypeError set
bool refuse_shape(const View& x, Argument argument, const char* allowed);  // always false, with ValueError set

class Owned {
 public:
  Owned() = default;
  explicit Owned(PyObject* object) : object_(object) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  void set(PyObject* object) { Py_XSETREF(object_, object); }

 private:
  PyObject* object_ = nullptr;
};

// Puts a dense copy of x in its place; false with an exception set.
bool replace_by_copy(View* x, Argument argument, Owned* holder);
bool overlaps(const View& x, const View& out);  // other than exactly in place
// x copied when it overlaps out.
inline bool separate(View* x, const View& out, Argument argument, Owned* holder) {
  return !overlaps(*x, out) || replace_by_copy(x, argument, holder);
}

inline bool same_shape(const View& a, const View& b) {
  if (a.nd != b.nd) return false;
  for (int d = 0; d < a.nd; ++d) {
    if (a.shape[d] != b.shape[d]) return false;
  }
  return true;
}

inline Operand operand(const View& v) { return {v.data, v.nd, v.size, v.shape, v.strides}; }

// Python's lock, given back for the length of a large job.
class Unlocked {
 public:
  explicit Unlocked(std::int64_t elements) : state_(elements >= kUnlockElements ? PyEval_SaveThread() : nullptr) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }

 private:
  PyThreadState* state_;
};

extern PyMethodDef elementwise_methods[];
extern PyMethodDef convert_methods[];
extern PyMethodDef row_methods[];
extern PyMethodDef reduce_methods[];
extern PyMethodDef scan_methods[];
extern PyMethodDef ufunc_methods[];
extern PyMethodDef scatter_methods[];
extern PyMethodDef centred_methods[];
extern PyMethodDef copy_methods[];
extern PyMethodDef convolve_methods[];
extern PyMethodDef pooling_methods[];

// A METH_FASTCALL function in a method table.
using Function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
inline PyMethodDef method(const char* name, Function function, const char* doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, doc};
}

}  // namespace hacl::module
