#include "module/numpy_table.hpp"

#include <cstring>
#include <vector>

namespace hostacl {
namespace {

// Slots that are the same in every NumPy since 1.7.
constexpr int kArrayType = 2, kDescrFromType = 45, kNewFromDescr = 94, kSetBaseObject = 282;
constexpr int kAligned = 0x0100, kWriteable = 0x0400;
constexpr uintptr_t kWidestAlignment = 16; // of long double complex

using NewFromDescr = PyObject* (*)(PyTypeObject*, PyObject*, int, const Py_ssize_t*, const Py_ssize_t*, void*, int, PyObject*);
using SetBaseObject = int (*)(PyObject*, PyObject*);
using DescrFromType = PyObject* (*)(int);

void** table = nullptr;

PyTypeObject* array_type() { return static_cast<PyTypeObject*>(table[kArrayType]); }

PyObject* import_multiarray() {
    PyObject* module = PyImport_ImportModule("numpy._core._multiarray_umath");
    if (module || !PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) return module;
    PyErr_Clear(); // NumPy 1.x
    return PyImport_ImportModule("numpy.core._multiarray_umath");
}

// NumPy believes the ALIGNED flag of its caller unless strides are given: it then looks at the address itself.
PyObject* make_unaligned(PyObject* descr, int nd, const Py_ssize_t* dims, void* data, int flags) {
    Ref size = Ref::take(PyObject_GetAttrString(descr, "itemsize"));
    if (!size) return nullptr;
    std::vector<Py_ssize_t> strides(static_cast<size_t>(nd) + 1, PyLong_AsSsize_t(size.get()));
    for (int i = nd - 2; i >= 0; i--) strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i) + 1] * dims[i + 1];
    Py_INCREF(descr);
    return reinterpret_cast<NewFromDescr>(table[kNewFromDescr])(array_type(), descr, nd, dims, strides.data(), data, flags, nullptr);
}

PyObject* make_aligned(PyObject* descr, int nd, const Py_ssize_t* dims, void* data, int flags) {
    Py_INCREF(descr); // the function steals it
    return reinterpret_cast<NewFromDescr>(table[kNewFromDescr])(array_type(), descr, nd, dims, nullptr, data, flags | kAligned, nullptr);
}

} // namespace

bool open_numpy() {
    if (table) return true;
    Ref module = Ref::take(import_multiarray());
    if (!module) return false;
    Ref capsule = Ref::take(PyObject_GetAttrString(module.get(), "_ARRAY_API"));
    if (!capsule) return false;
    table = static_cast<void**>(PyCapsule_GetPointer(capsule.get(), nullptr));
    return table != nullptr;
}

PyObject* make_array(PyObject* descr, int nd, const int64_t* dims, void* data, PyObject* base, bool writable) {
    static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
    const auto* sizes = reinterpret_cast<const Py_ssize_t*>(dims);
    static int64_t nothing[2];
    if (!data) data = nothing; // an empty array: NumPy would allocate for a null address
    bool aligned = reinterpret_cast<uintptr_t>(data) % kWidestAlignment == 0;
    int flags = writable ? kWriteable : 0;
    PyObject* array = aligned ? make_aligned(descr, nd, sizes, data, flags) : make_unaligned(descr, nd, sizes, data, flags);
    if (!array) {
        Py_XDECREF(base);
        return nullptr;
    }
    if (base && !set_array_base(array, base)) {
        Py_DECREF(array);
        return nullptr;
    }
    return array;
}

bool set_array_base(PyObject* array, PyObject* base) {
    return reinterpret_cast<SetBaseObject>(table[kSetBaseObject])(array, base) == 0;
}

PyObject* descr_of_type_number(int number) { return reinterpret_cast<DescrFromType>(table[kDescrFromType])(number); }

bool is_array(PyObject* object) { return PyObject_TypeCheck(object, array_type()) != 0; }

bool is_numpy_bool(PyObject* object) {
    const char* name = Py_TYPE(object)->tp_name;
    return std::strcmp(name, "numpy.bool") == 0 || std::strcmp(name, "numpy.bool_") == 0;
}

} // namespace hostacl
