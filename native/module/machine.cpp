// hostacl._machine: the C functions as Python functions, one table of them.
#include "core/config.hpp"
#include "core/findings.hpp"
#include "core/hooks.hpp"
#include "module/machine_run.hpp"
#include "module/machine_table.hpp"
#include "module/machine_views.hpp"
#include "module/numpy_table.hpp"

#include <cstring>
#include <exception>

HACL_EXPORT const char* hacl_core_version() noexcept;

namespace hostacl {

PyObject* tuple_of(std::initializer_list<PyObject*> items) {
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(items.size()));
    Py_ssize_t next = 0;
    for (PyObject* item : items) {
        if (tuple)
            PyTuple_SET_ITEM(tuple, next++, item);
        else
            Py_XDECREF(item);
    }
    if (tuple && !PyErr_Occurred()) return tuple;
    Py_XDECREF(tuple);
    return nullptr;
}

Code refuse(const Row& row) {
    return fail(kNotSupported, "HA109", format("%s is not there yet; `hostacl explain HA109` says what is", row.name));
}

namespace {

PyObject* wrong_count(const Row& row, Py_ssize_t count) {
    std::string names;
    for (const char* name : row.names) names += (names.empty() ? "" : ", ") + std::string(name);
    return PyErr_Format(PyExc_TypeError, "%s() takes %zu arguments (%s), %zd given", row.function, row.names.size(), names.c_str(), count);
}

// The answer of a call, or the exception of its misuse where misuse raises.
PyObject* unless_misused(PyObject* result) {
    std::string code, text;
    if (!take_misuse(&code, &text) || !result) return result;
    Py_DECREF(result);
    Ref type = import_attr("hostacl.errors", "Misuse");
    Ref error = type ? Ref::take(PyObject_CallFunction(type.get(), "ss", code.c_str(), text.c_str())) : Ref();
    if (error) PyErr_SetObject(type.get(), error.get());
    return nullptr;
}

PyObject* answer_of(const Row& row, PyObject* const* items, Py_ssize_t count) {
    try {
        FaceCall mark;
        Entry entry(row.function);
        PyObject* result = row.call(row, Args(row.function, row.names.data(), items, count));
        if (!PyErr_Occurred()) return result;
        Py_XDECREF(result); // Ctrl-C came while it waited
        return nullptr;
    } catch (const PythonError&) {
        return nullptr;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    } catch (const std::exception& error) {
        return PyErr_Format(PyExc_RuntimeError, "%s(): %s", row.function, error.what());
    }
}

PyObject* checked_call(const Row& row, PyObject* const* items, Py_ssize_t count) {
    PyObject* result = answer_of(row, items, count);
    return on_misuse() == OnMisuse::Raise ? unless_misused(result) : result;
}

PyObject* call(PyObject* self, PyObject* const* items, Py_ssize_t count) {
    const Row& row = *static_cast<const Row*>(PyCapsule_GetPointer(self, nullptr));
    if (static_cast<size_t>(count) < row.required || static_cast<size_t>(count) > row.names.size()) return wrong_count(row, count);
    return checked_call(row, items, count);
}

const Rows& table() {
    static const Rows& rows = [&]() -> const Rows& {
        auto* made = new Rows; // functions point into it as long as the process lives
        for (auto add : {add_base_rows, add_attr_rows, add_device_rows, add_stream_rows, add_memory_rows, add_copy_rows, add_callback_rows,
                         add_op_rows, add_blas_rows, add_kernel_rows, add_inspect_rows})
            add(*made);
        return *made;
    }();
    return rows;
}

bool is_named(const Row& row, const char* name) { return std::strcmp(row.name, name) == 0 || std::strcmp(row.function, name) == 0; }

bool add_function(PyObject* module, const Row& row) {
    auto* definition = new PyMethodDef{row.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)), METH_FASTCALL, nullptr};
    Ref capsule = Ref::take(PyCapsule_New(const_cast<Row*>(&row), nullptr, nullptr));
    Ref name = Ref::take(PyModule_GetNameObject(module));
    if (!capsule || !name) return false;
    Ref function = Ref::take(PyCFunction_NewEx(definition, capsule.get(), name.get()));
    return function && PyModule_AddObjectRef(module, row.name, function.get()) == 0;
}

bool add_table(PyObject* module) {
    for (const Row& row : table())
        if (!add_function(module, row)) return false;
    return true;
}

// ---- what this build cannot run in: said at import, instead of a crash later -----------------------------------------

bool refuse_import(const char* text) {
    PyErr_SetString(PyExc_ImportError, text);
    return false;
}

bool is_free_threaded() {
    Ref variable = import_attr("sysconfig", "get_config_var");
    Ref value = variable ? Ref::take(PyObject_CallFunction(variable.get(), "s", "Py_GIL_DISABLED")) : Ref();
    return value && PyObject_IsTrue(value.get()) == 1;
}

bool check_interpreter() {
    if (PyInterpreterState_Get() != PyInterpreterState_Main())
        return refuse_import("hostacl cannot run in a sub-interpreter: its machine is one for the process. Import it in the main interpreter.");
    if (is_free_threaded())
        return refuse_import("hostacl does not support free-threaded Python builds yet: use the ordinary build of this Python version.");
    return !PyErr_Occurred();
}

bool check_core() {
    if (std::strcmp(hacl_core_version(), HOSTACL_VERSION) == 0) return true;
    PyErr_Format(PyExc_ImportError,
                 "hostacl._machine is of version %s, but the libhostacl_core.so in this process is of version %s: two copies of hostacl are mixed. "
                 "Remove the other one from LD_LIBRARY_PATH or LD_PRELOAD.", HOSTACL_VERSION, hacl_core_version());
    return false;
}

int start(PyObject* module) {
    static bool started = false;
    if (!check_interpreter() || !check_core() || !open_numpy()) return -1;
    if (started) {
        refuse_import("hostacl._machine was imported a second time in this process: restart Python instead of reloading it.");
        return -1;
    }
    if (!add_table(module) || !add_view_functions(module)) return -1;
    if (PyModule_AddStringConstant(module, "__version__", HOSTACL_VERSION) < 0 || !install_hooks(module)) return -1;
    install_run_hooks();
    started = true;
    return 0;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(start)},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_machine", "The machine: AscendCL's C functions under their own names.", 0, nullptr, slots,
                          nullptr, nullptr, nullptr};

} // namespace

const Row* find_row(const char* name) {
    for (const Row& row : table())
        if (is_named(row, name)) return &row;
    return nullptr;
}

} // namespace hostacl

PyMODINIT_FUNC PyInit__machine() { return PyModuleDef_Init(&hostacl::definition); }
