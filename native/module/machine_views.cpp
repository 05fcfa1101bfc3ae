#include "module/machine_views.hpp"

#include "core/checks.hpp"
#include "core/machine.hpp"
#include "core/written.hpp"
#include "module/machine_args.hpp"
#include "module/machine_table.hpp"
#include "module/numpy_table.hpp"

#include <new>
#include <unordered_set>

namespace hostacl {
namespace {

// ---- Block: what keeps device memory alive behind an array --------------------------------------------------------

struct BlockObject {
    PyObject_HEAD
    std::shared_ptr<Block> block;
};

void free_block(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    reinterpret_cast<BlockObject*>(self)->block.~shared_ptr();
    type->tp_free(self);
    Py_DECREF(type);
}

PyType_Slot block_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(free_block)},
    {Py_tp_doc, const_cast<char*>("Keeps a block of device or pinned memory alive; the base of arrays over it.")},
    {0, nullptr},
};
PyType_Spec block_spec = {"hostacl._machine.Block", sizeof(BlockObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          block_slots};
PyTypeObject* block_type = nullptr;

std::shared_ptr<Block> block_at(void* address) {
    Lock lock = lock_machine();
    return find_block(reinterpret_cast<uintptr_t>(address));
}

const char* space_name(Space space) {
    switch (space) {
    case Space::Device: return "device";
    case Space::PinnedHost: return "pinned_host";
    case Space::Registered: return "registered";
    }
    return "";
}

// ---- bytes objects -------------------------------------------------------------------------------------------------

std::unordered_set<const void*>& shared_bytes() { // needs Python's lock
    static auto* set = new std::unordered_set<const void*>;
    return *set;
}

// ---- the functions ---------------------------------------------------------------------------------------------------

// What every function below stands in: its arguments' names, and no C++ exception leaves it.
template <class Body> PyObject* with_args(const char* function, const char* const* names, Py_ssize_t wanted, PyObject* const* items,
                                          Py_ssize_t count, Body&& body) {
    if (count != wanted) return PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments (%zd given)", function, wanted, count);
    try {
        return body(Args(function, names, items, count));
    } catch (const PythonError&) {
        return nullptr;
    } catch (const std::exception& error) {
        return PyErr_Format(PyExc_RuntimeError, "%s(): %s", function, error.what());
    }
}

PyObject* find_block_function(PyObject*, PyObject* const* items, Py_ssize_t count) {
    static const char* const names[] = {"address"};
    return with_args("find_block", names, 1, items, count, [](const Args& args) -> PyObject* {
        std::shared_ptr<Block> block = block_at(args.address(0));
        if (!block) return Py_NewRef(Py_None);
        return Py_BuildValue("{s:K,s:K,s:K,s:s,s:i,s:N,s:s,s:s}", "start", static_cast<unsigned long long>(block->start), "size",
                             static_cast<unsigned long long>(block->size), "capacity", static_cast<unsigned long long>(block->capacity),
                             "space", space_name(block->space), "device", static_cast<int>(block->device), "freed",
                             PyBool_FromLong(block->freed), "site", block->site.c_str(), "freed_site", block->freed_site.c_str());
    });
}

// The dtype: a numpy.dtype, or NumPy's type number.
Ref descr_of(const Args& args, int index) {
    if (PyLong_Check(args[index])) return Ref::take(descr_of_type_number(args.integer<int32_t>(index)));
    static PyObject* dtype = import_attr("numpy", "dtype").release();
    if (!dtype) throw PythonError{};
    if (!PyObject_TypeCheck(args[index], reinterpret_cast<PyTypeObject*>(dtype))) args.refuse(index, -1, "numpy.dtype or int", args[index]);
    return Ref::share(args[index]);
}

// base None: the block that holds the address, if we know one.
PyObject* base_of(const Args& args, int index, void* address) {
    if (args[index] != Py_None) return Py_NewRef(args[index]);
    std::shared_ptr<Block> block = block_at(address);
    if (checking(kWritten)) trust(block);
    return block && !block->freed ? make_block(std::move(block)) : nullptr;
}

PyObject* array_function(PyObject*, PyObject* const* items, Py_ssize_t count) {
    static const char* const names[] = {"address", "shape", "dtype", "writable", "base"};
    return with_args("array", names, 5, items, count, [](const Args& args) -> PyObject* {
        void* address = args.address(0);
        Ref list = Ref::take(PySequence_List(args[1]));
        if (!list) return nullptr;
        Numbers<int64_t> shape = args.integers_of<int64_t>(1, list.get(), false);
        Ref descr = descr_of(args, 2);
        if (!descr) return nullptr;
        int writable = PyObject_IsTrue(args[3]);
        PyObject* base = base_of(args, 4, address);
        if (PyErr_Occurred()) return nullptr;
        return make_array(descr.get(), shape.count(), shape.data(), address, base, writable > 0);
    });
}

PyObject* bytes_address_function(PyObject*, PyObject* const* items, Py_ssize_t count) {
    static const char* const names[] = {"data"};
    return with_args("acl.util.bytes_to_ptr", names, 1, items, count, [](const Args& args) -> PyObject* {
        if (!PyBytes_Check(args[0])) args.refuse(0, -1, "bytes", args[0]);
        const char* address = PyBytes_AS_STRING(args[0]);
        if (PyBytes_GET_SIZE(args[0]) <= 1) shared_bytes().insert(address);
        return to_python(static_cast<const void*>(address));
    });
}

PyObject* bytes_at_function(PyObject*, PyObject* const* items, Py_ssize_t count) {
    static const char* const names[] = {"ptr", "size"};
    return with_args("acl.util.ptr_to_bytes", names, 2, items, count, [](const Args& args) -> PyObject* {
        const auto* address = static_cast<const char*>(args.address(0));
        return PyBytes_FromStringAndSize(address, args.integer<Py_ssize_t>(1));
    });
}

PyMethodDef functions[] = {
    {"find_block", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(find_block_function)), METH_FASTCALL,
     "The block of memory that holds an address, as a dict; None for memory that is not ours."},
    {"array", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array_function)), METH_FASTCALL,
     "array(address, shape, dtype, writable, base): a NumPy array over memory."},
    {"bytes_address", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(bytes_address_function)), METH_FASTCALL,
     "The address of a bytes object's data."},
    {"bytes_at", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(bytes_at_function)), METH_FASTCALL,
     "A copy of `size` bytes at an address."},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace

PyObject* make_block(std::shared_ptr<Block> block) {
    PyObject* object = block_type->tp_alloc(block_type, 0);
    if (object) new (&reinterpret_cast<BlockObject*>(object)->block) std::shared_ptr<Block>(std::move(block));
    return object;
}

bool is_shared_bytes(const void* address) { return shared_bytes().count(address) != 0; }

bool add_view_functions(PyObject* module) {
    block_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &block_spec, nullptr));
    if (!block_type || PyModule_AddType(module, block_type) < 0) return false;
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace hostacl
