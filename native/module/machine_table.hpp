// The table of functions: one row a C function. Most rows need only the function and its argument names: the C types say
// how each argument is read, which are outputs, and what comes back.
#pragma once

#include "core/message.hpp"
#include "module/machine_args.hpp"
#include "module/machine_hooks.hpp"

#include <initializer_list>
#include <string_view>
#include <tuple>
#include <vector>

namespace hostacl {

constexpr Code kNotSupported = 200001;

struct Row {
    using Call = PyObject* (*)(const Row& row, const Args& args);
    const char* name;               // of the C function, and of the module's attribute
    const char* function;           // pyACL's name, for texts
    Call call;
    std::vector<const char*> names; // of the arguments, pyACL's
    size_t required;                // trailing ones beyond may be left out
    void (*target)() = nullptr;     // the C function; null when the core has none of that name
    bool waits = false;             // lets other Python threads run meanwhile
};

using Rows = std::vector<Row>;

// By the C function's name or pyACL's; null when there is none.
const Row* find_row(const char* name);

void add_base_rows(Rows& rows);
void add_attr_rows(Rows& rows);
void add_device_rows(Rows& rows);
void add_stream_rows(Rows& rows);
void add_memory_rows(Rows& rows);
void add_copy_rows(Rows& rows);
void add_callback_rows(Rows& rows);
void add_op_rows(Rows& rows);
void add_blas_rows(Rows& rows);
void add_kernel_rows(Rows& rows);
void add_inspect_rows(Rows& rows);

// ---- what goes back ---------------------------------------------------------------------------------------------

inline PyObject* to_python(const void* value) { return PyLong_FromVoidPtr(const_cast<void*>(value)); }
inline PyObject* to_python(const char* value) {
    std::string_view text = value ? value : "";
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}
inline PyObject* to_python(bool value) { return PyBool_FromLong(value); }
inline PyObject* to_python(float value) { return PyFloat_FromDouble(static_cast<double>(value)); }
inline PyObject* to_python(double value) { return PyFloat_FromDouble(value); }
template <class T, class = std::enable_if_t<std::is_integral_v<T>>> PyObject* to_python(T value) {
    if constexpr (std::is_signed_v<T>)
        return PyLong_FromLongLong(value);
    else
        return PyLong_FromUnsignedLongLong(value);
}

// (items...); every item is a new reference that is taken over, null when making it failed.
PyObject* tuple_of(std::initializer_list<PyObject*> items);

// ---- one argument of a C function -------------------------------------------------------------------------------

template <class P, class = void> struct Parameter { // an output: T*
    static_assert(std::is_pointer_v<P>);
    static constexpr bool kOutput = true;
    std::remove_pointer_t<P> value{};
    Parameter(const Args&, int&) {}
    P pass() { return &value; }
};

template <class P> struct Input {
    static constexpr bool kOutput = false;
    P value;
    P pass() { return value; }
};
template <class P> struct Parameter<P, std::enable_if_t<std::is_integral_v<P>>> : Input<P> {
    Parameter(const Args& args, int& next) : Input<P>{args.integer<P>(next++)} {}
};
template <> struct Parameter<float> : Input<float> {
    Parameter(const Args& args, int& next) : Input<float>{args.single(next++)} {}
};
template <> struct Parameter<const char*> : Input<const char*> {
    Parameter(const Args& args, int& next) : Input<const char*>{args.text(next++)} {}
};
template <> struct Parameter<void*> : Input<void*> {
    Parameter(const Args& args, int& next) : Input<void*>{args.address(next++)} {}
};
template <class T> struct Parameter<const T*, std::enable_if_t<!std::is_same_v<T, char>>> : Input<const T*> { // only read
    Parameter(const Args& args, int& next) : Input<const T*>{static_cast<const T*>(args.address(next++))} {}
};

// ---- a row's call -----------------------------------------------------------------------------------------------

// Says that the function is not there; the code.
Code refuse(const Row& row);

template <class R, class... P> struct Forward {
    static constexpr size_t kOutputs = (0 + ... + (Parameter<P>::kOutput ? 1 : 0));

    template <size_t... I> static PyObject* result(std::tuple<Parameter<P>...>& values, Code code, std::index_sequence<I...>) {
        if constexpr (kOutputs == 0) return to_python(code);
        PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(kOutputs + 1));
        if (!tuple) return nullptr;
        Py_ssize_t next = 0;
        [[maybe_unused]] auto put = [&](auto& parameter) {
            if constexpr (std::decay_t<decltype(parameter)>::kOutput) PyTuple_SET_ITEM(tuple, next++, to_python(parameter.value));
        };
        (put(std::get<I>(values)), ...);
        PyTuple_SET_ITEM(tuple, next, to_python(code));
        if (!PyErr_Occurred()) return tuple;
        Py_DECREF(tuple);
        return nullptr;
    }

    template <size_t... I> static PyObject* run(const Row& row, const Args& args, std::index_sequence<I...> indexes) {
        [[maybe_unused]] int next = 0;
        std::tuple<Parameter<P>...> values{Parameter<P>(args, next)...}; // braces: left to right
        auto function = reinterpret_cast<R (*)(P...)>(row.target);
        if constexpr (std::is_same_v<R, Code>) {
            Code code = 0;
            if (!function) {
                code = refuse(row);
            } else {
                Waiting waiting(row.waits);
                code = function(std::get<I>(values).pass()...);
            }
            return result(values, code, indexes);
        } else {
            if (!function) refuse(row);
            if constexpr (std::is_void_v<R>) {
                if (function) function(std::get<I>(values).pass()...);
                return Py_NewRef(Py_None);
            } else {
                return to_python(function ? function(std::get<I>(values).pass()...) : R{});
            }
        }
    }

    static PyObject* call(const Row& row, const Args& args) { return run(row, args, std::index_sequence_for<P...>{}); }
};

enum class Waits { No, Yes };

template <class R, class... P>
Row row(const char* name, const char* function, R (*target)(P...), std::initializer_list<const char*> names, Waits waits = Waits::No) {
    return {name, function, Forward<R, P...>::call, names, names.size(), reinterpret_cast<void (*)()>(target), waits == Waits::Yes};
}

// A row with a reader of its own. `required`: how many arguments must be given, when not all.
template <class R, class... P>
Row own_row(const char* name, const char* function, R (*target)(P...), std::initializer_list<const char*> names, Row::Call call,
            int required = -1) {
    size_t least = required < 0 ? names.size() : static_cast<size_t>(required);
    return {name, function, call, names, least, reinterpret_cast<void (*)()>(target), false};
}

} // namespace hostacl
