#include "module/machine_args.hpp"

#include "core/message.hpp"
#include "module/numpy_table.hpp"

#include <cmath>
#include <cstring>

namespace hostacl {

std::string Args::place(int index, int item) const {
    std::string text = format("%s(): argument '%s'", function_, names_[index]);
    return item < 0 ? text : text + format("[%d]", item);
}

void Args::refuse(int index, int item, const char* wanted, PyObject* given) const {
    PyErr_Format(PyExc_TypeError, "%s must be %s, not %s", place(index, item).c_str(), wanted, Py_TYPE(given)->tp_name);
    throw PythonError{};
}

void Args::out_of_range(int index, int item, const std::string& range, PyObject* given) const {
    PyErr_Format(PyExc_TypeError, "%s must be in %s, not %R", place(index, item).c_str(), range.c_str(), given);
    throw PythonError{};
}

// An int, a bool, a NumPy integer or bool: an int object of its value.
Ref Args::whole_number(int index, PyObject* object, int item) const {
    if (PyLong_Check(object)) return Ref::share(object);
    if (is_numpy_bool(object)) return Ref::take(PyLong_FromLong(PyObject_IsTrue(object)));
    if (!PyIndex_Check(object) || is_array(object)) refuse(index, item, "int", object);
    Ref number = Ref::take(PyNumber_Index(object));
    if (!number) throw PythonError{};
    return number;
}

int64_t Args::read_signed(int index, PyObject* object, int item, int64_t low, int64_t high) const {
    Ref number = whole_number(index, object, item);
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    if (overflow || value < low || value > high)
        out_of_range(index, item, format("%lld .. %lld", static_cast<long long>(low), static_cast<long long>(high)), number.get());
    return value;
}

uint64_t Args::read_unsigned(int index, PyObject* object, int item, uint64_t high) const {
    Ref number = whole_number(index, object, item);
    unsigned long long value = PyLong_AsUnsignedLongLong(number.get());
    bool failed = value == static_cast<unsigned long long>(-1) && PyErr_Occurred();
    if (failed) PyErr_Clear();
    if (failed || value > high) out_of_range(index, item, format("0 .. %llu", static_cast<unsigned long long>(high)), number.get());
    return value;
}

double Args::read_number(int index, PyObject* object, int item) const {
    bool numeric = PyFloat_Check(object) || PyLong_Check(object) || is_numpy_bool(object) ||
                   (Py_TYPE(object)->tp_as_number && Py_TYPE(object)->tp_as_number->nb_float && !is_array(object));
    if (!numeric || PyComplex_Check(object)) refuse(index, item, "float", object);
    double value = is_numpy_bool(object) ? PyObject_IsTrue(object) : PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred()) throw PythonError{};
    return value;
}

float Args::read_single(int index, PyObject* object, int item) const {
    double value = read_number(index, object, item);
    auto single = static_cast<float>(value);
    if (std::isinf(single) && !std::isinf(value)) out_of_range(index, item, "-3.4028235e38 .. 3.4028235e38", object);
    return single;
}

const char* Args::read_text(int index, PyObject* object, int item) const {
    if (!PyUnicode_Check(object)) refuse(index, item, "str", object);
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text && std::strlen(text) == static_cast<size_t>(size)) return text;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s must be text that UTF-8 can hold, without NUL characters, not %R", place(index, item).c_str(), object);
    throw PythonError{};
}

void* Args::address_or_empty_list(int index) const {
    PyObject* object = items_[index];
    return PyList_Check(object) && PyList_GET_SIZE(object) == 0 ? nullptr : address(index);
}

PyObject* Args::list(int index) const {
    if (!PyList_Check(items_[index])) refuse(index, -1, "list of int", items_[index]);
    return items_[index];
}

PyObject* Args::callable(int index) const {
    if (!PyCallable_Check(items_[index])) refuse(index, -1, "callable", items_[index]);
    return items_[index];
}

// The list itself, or (where arrays are taken) a 1-D array's values as a list of Python numbers.
Ref Args::list_of(int index, PyObject* object, bool arrays, const char* wanted) const {
    if (PyList_Check(object)) return Ref::share(object);
    std::string text = format(arrays ? "list of %s or 1-D numpy.ndarray" : "list of %s", wanted);
    if (!arrays || !is_array(object)) refuse(index, -1, text.c_str(), object);
    Ref values = Ref::take(PyObject_CallMethod(object, "tolist", nullptr));
    if (!values) throw PythonError{};
    Ref rank = Ref::take(PyObject_GetAttrString(object, "ndim"));
    if (!rank) throw PythonError{};
    if (PyLong_AsLong(rank.get()) == 1) return values;
    PyErr_Format(PyExc_TypeError, "%s must be %s, not an array of %R dims", place(index, -1).c_str(), text.c_str(), rank.get());
    throw PythonError{};
}

Numbers<void*> Args::addresses(int index) const {
    PyObject* values = list(index);
    Numbers<void*> numbers(static_cast<size_t>(PyList_GET_SIZE(values)));
    for (size_t i = 0; i < numbers.size(); i++) {
        numbers[i] = as_pointer(read_unsigned(index, item_of(values, i), static_cast<int>(i), std::numeric_limits<uint64_t>::max()));
    }
    return numbers;
}

Numbers<float> Args::singles(int index) const {
    Ref values = list_of(index, items_[index], true, "float");
    Numbers<float> numbers(static_cast<size_t>(PyList_GET_SIZE(values.get())));
    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = read_single(index, item_of(values.get(), i), static_cast<int>(i));
    return numbers;
}

Numbers<const char*> Args::texts(int index) const {
    Ref values = list_of(index, items_[index], false, "str");
    Numbers<const char*> texts(static_cast<size_t>(PyList_GET_SIZE(values.get())));
    for (size_t i = 0; i < texts.size(); i++)
        texts[i] = read_text(index, item_of(values.get(), i), static_cast<int>(i));
    return texts;
}

std::vector<std::array<int64_t, 2>> Args::pairs(int index) const {
    Ref values = list_of(index, items_[index], false, "[min, max] lists");
    std::vector<std::array<int64_t, 2>> pairs;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values.get()); i++) {
        PyObject* item = item_of(values.get(), static_cast<size_t>(i));
        if (!PyList_Check(item)) refuse(index, static_cast<int>(i), "list [min, max]", item);
        Numbers<int64_t> pair = integers_of<int64_t>(index, item, false);
        if (pair.size() == 2) {
            pairs.push_back({pair[0], pair[1]});
            continue;
        }
        PyErr_Format(PyExc_TypeError, "%s must be list [min, max], not a list of %zd", place(index, static_cast<int>(i)).c_str(), pair.size());
        throw PythonError{};
    }
    return pairs;
}

} // namespace hostacl
