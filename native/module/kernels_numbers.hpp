// Lists of sizes, strides and pads out of Python sequences.
#pragma once

#include "module/kernels_array.hpp"

namespace hacl::module {

// So many numbers, each `least` or more and small enough for products of sizes; false with an exception set.
inline bool read_numbers(PyObject* object, Argument argument, Py_ssize_t count, std::int64_t least, std::int64_t* out) {
  Owned items(PySequence_Fast(object, "strides, dilations, pads and sizes are sequences"));
  if (items.get() == nullptr) return false;
  bool fits = PySequence_Fast_GET_SIZE(items.get()) == count;
  for (Py_ssize_t i = 0; fits && i < count; ++i) {
    out[i] = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(items.get(), i), PyExc_ValueError);
    if (out[i] == -1 && PyErr_Occurred()) return false;
    fits = out[i] >= least && out[i] <= INT32_MAX;
  }
  if (!fits) {
    PyErr_Format(PyExc_ValueError, "%s(): %s = %R; allowed: %zd numbers, each %lld or more", argument.function, argument.name, object,
                 count, static_cast<long long>(least));
  }
  return fits;
}

}  // namespace hacl::module
