// Python functions that the machine calls: stream callbacks and the exception info callback.
#include "module/crossing.hpp"
#include "module/machine_table.hpp"
#include "module/functions.hpp"

DECLARE(int32_t, aclrtLaunchCallback, void (*)(void*), void*, int32_t, void*)
DECLARE(int32_t, aclrtSetExceptionInfoCallback, void (*)(void*))
DECLARE(uint32_t, aclrtGetErrorCodeFromExceptionInfo, const void*)
DECLARE(uint32_t, aclrtGetTaskIdFromExceptionInfo, const void*)
DECLARE(uint32_t, aclrtGetStreamIdFromExceptionInfo, const void*)
DECLARE(uint32_t, aclrtGetThreadIdFromExceptionInfo, const void*)
DECLARE(uint32_t, aclrtGetDeviceIdFromExceptionInfo, const void*)

namespace hostacl {
namespace {

// What a callback raises has nowhere to go: it is printed, as for a __del__ method.
void call_python(PyObject* function, PyObject* argument) {
    Ref result = Ref::take(argument ? PyObject_CallOneArg(function, argument) : nullptr);
    if (!result) PyErr_WriteUnraisable(function);
}

struct Callback {
    PyObject* function;
    PyObject* argument;
};

void forget(Callback* callback) {
    Py_DECREF(callback->function);
    Py_DECREF(callback->argument);
    delete callback;
}

void run_callback(void* data) noexcept {
    Crossing python;
    if (!python) return; // the interpreter has ended; its objects are gone with it
    auto* callback = static_cast<Callback*>(data);
    call_python(callback->function, callback->argument);
    forget(callback);
}

PyObject* launch_callback(const Row&, const Args& args) {
    PyObject* function = args.callable(0);
    auto block_type = args.integer<int32_t>(2);
    void* stream = args.address(3);
    auto* callback = new Callback{Py_NewRef(function), Py_NewRef(args[1])};
    Code code = hacl_aclrtLaunchCallback(run_callback, callback, block_type, stream);
    if (code) forget(callback); // it was not taken, so it will not be called
    return to_python(code);
}

PyObject* exception_callback = nullptr; // needs Python's lock

void run_exception_callback(void* info) noexcept {
    Crossing python;
    if (!python || !exception_callback) return;
    Ref function = Ref::share(exception_callback), number = Ref::take(to_python(info));
    call_python(function.get(), number.get());
}

PyObject* set_exception_callback(const Row&, const Args& args) {
    PyObject* function = args.count() == 0 || args[0] == Py_None ? nullptr : args.callable(0);
    Code code = hacl_aclrtSetExceptionInfoCallback(function ? run_exception_callback : nullptr);
    if (code == 0) {
        Ref old = Ref::take(exception_callback);
        exception_callback = function ? Py_NewRef(function) : nullptr;
    }
    return to_python(code);
}

} // namespace

void add_callback_rows(Rows& rows) {
    rows.insert(rows.end(), {
        own_row("aclrtLaunchCallback", "acl.rt.launch_callback", hacl_aclrtLaunchCallback, {"func", "user_data", "block_type", "stream"},
                launch_callback),
        own_row("aclrtSetExceptionInfoCallback", "acl.rt.set_exception_info_callback", hacl_aclrtSetExceptionInfoCallback, {"func"},
                set_exception_callback, 0),
        row("aclrtGetErrorCodeFromExceptionInfo", "acl.rt.get_error_code_from_exception_info", hacl_aclrtGetErrorCodeFromExceptionInfo,
            {"info"}),
        row("aclrtGetTaskIdFromExceptionInfo", "acl.rt.get_task_id_from_exception_info", hacl_aclrtGetTaskIdFromExceptionInfo, {"info"}),
        row("aclrtGetStreamIdFromExceptionInfo", "acl.rt.get_stream_id_from_exception_info", hacl_aclrtGetStreamIdFromExceptionInfo,
            {"info"}),
        row("aclrtGetThreadIdFromExceptionInfo", "acl.rt.get_thread_id_from_exception_info", hacl_aclrtGetThreadIdFromExceptionInfo,
            {"info"}),
        row("aclrtGetDeviceIdFromExceptionInfo", "acl.rt.get_device_id_from_exception_info", hacl_aclrtGetDeviceIdFromExceptionInfo,
            {"info"}),
    });
}

} // namespace hostacl
