// NumPy's C functions, taken from its capsule: no headers at build, one binary for NumPy 1.26 and 2.x.
#pragma once

#include "core/memory.hpp"
#include "module/python.hpp"

#include <cstdint>

namespace hostacl {

// Reads the table. False with a Python exception when NumPy is not there. Needs Python's lock, as all of these.
bool open_numpy();

// An array over memory. `descr` is a numpy.dtype (borrowed); `base` keeps the memory alive: null, or a reference that is
// stolen, also on failure. The dims are counted in elements, C order.
PyObject* make_array(PyObject* descr, int nd, const int64_t* dims, void* data, PyObject* base, bool writable);

// Makes `base` (a reference that is stolen, also on failure) what keeps an array's memory alive. False with an exception.
bool set_array_base(PyObject* array, PyObject* base);

// The dtype of a NumPy type number (np.dtype.num), a new reference; an exception for a number that is none.
PyObject* descr_of_type_number(int number);

// A Python object that holds a block: the base of arrays over its memory. A new reference.
PyObject* make_block(std::shared_ptr<Block> block);

bool is_array(PyObject* object);

// np.bool_ has no __index__, but counts as an int in this API.
bool is_numpy_bool(PyObject* object);

} // namespace hostacl
