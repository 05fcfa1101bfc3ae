// Arguments of a call from Python: numbers, texts and lists out of objects, or a TypeError that names the argument.
#pragma once

#include "core/types.hpp"
#include "module/python.hpp"

#include <array>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace hostacl {

struct PythonError {}; // thrown when a Python exception is set; caught where the call began

// A list's numbers: on the stack when they are few.
template <class T> class Numbers {
  public:
    explicit Numbers(size_t count) : count_(count) {
        if (count > few_.size()) many_.resize(count);
    }
    T* data() { return count_ > few_.size() ? many_.data() : few_.data(); }
    T& operator[](size_t index) { return data()[index]; }
    size_t size() const { return count_; }
    int count() const { return static_cast<int>(count_); }

  private:
    size_t count_;
    std::array<T, 16> few_{};
    std::vector<T> many_;
};

// The arguments of one call. Each reader throws PythonError after setting "acl.rt.malloc(): argument 'size' must be int, not str".
class Args {
  public:
    // Borrowed. An element's own code may have changed the list meanwhile, so its length is looked at again.
    static PyObject* item_of(PyObject* list, size_t index) {
        PyObject* item = PyList_GetItem(list, static_cast<Py_ssize_t>(index));
        if (item) return item;
        PyErr_Format(PyExc_TypeError, "a list argument lost item %zu while it was read", index);
        throw PythonError{};
    }

    Args(const char* function, const char* const* names, PyObject* const* items, Py_ssize_t count)
        : function_(function), names_(names), items_(items), count_(count) {}

    Py_ssize_t count() const { return count_; }
    Args renamed(const char* const* names) const { return {function_, names, items_, count_}; }
    PyObject* operator[](int index) const { return items_[index]; }

    template <class T> T integer(int index) const {
        if constexpr (std::is_signed_v<T>)
            return static_cast<T>(read_signed(index, items_[index], -1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
        else
            return static_cast<T>(read_unsigned(index, items_[index], -1, std::numeric_limits<T>::max()));
    }
    void* address(int index) const { return as_pointer(integer<uint64_t>(index)); }
    // An address; an empty list is NULL too, as the reference's page writes it.
    void* address_or_empty_list(int index) const;
    double number(int index) const { return read_number(index, items_[index], -1); }
    float single(int index) const { return read_single(index, items_[index], -1); }
    const char* text(int index) const { return read_text(index, items_[index], -1); }
    const char* text_or_none(int index) const { return items_[index] == Py_None ? nullptr : text(index); }

    Numbers<void*> addresses(int index) const;
    // `arrays`: a one-dimensional NumPy array is taken by its values, too.
    template <class T> Numbers<T> integers(int index, bool arrays = false) const { return integers_of<T>(index, items_[index], arrays); }
    template <class T> Numbers<T> integers_of(int index, PyObject* object, bool arrays) const {
        Ref list = list_of(index, object, arrays, "int");
        Numbers<T> numbers(static_cast<size_t>(PyList_GET_SIZE(list.get())));
        for (size_t i = 0; i < numbers.size(); i++)
            numbers[i] = static_cast<T>(read_signed(index, item_of(list.get(), i), static_cast<int>(i), low<T>(), high<T>()));
        return numbers;
    }
    Numbers<float> singles(int index) const;         // a list or a 1-D array
    Numbers<const char*> texts(int index) const;
    std::vector<std::array<int64_t, 2>> pairs(int index) const;
    PyObject* list(int index) const;                 // borrowed, checked to be a list
    PyObject* callable(int index) const;

    // Sets a TypeError "f(): argument 'x' must be <wanted>, not <type>" (or 'x'[3]) and throws.
    [[noreturn]] void refuse(int index, int item, const char* wanted, PyObject* given) const;
    [[noreturn]] void out_of_range(int index, int item, const std::string& range, PyObject* given) const;

  private:
    template <class T> static constexpr int64_t low() { return std::is_signed_v<T> ? static_cast<int64_t>(std::numeric_limits<T>::min()) : 0; }
    template <class T> static constexpr int64_t high() { return static_cast<int64_t>(std::numeric_limits<T>::max()); }
    int64_t read_signed(int index, PyObject* object, int item, int64_t low, int64_t high) const;
    uint64_t read_unsigned(int index, PyObject* object, int item, uint64_t high) const;
    double read_number(int index, PyObject* object, int item) const;
    float read_single(int index, PyObject* object, int item) const;
    const char* read_text(int index, PyObject* object, int item) const;
    Ref whole_number(int index, PyObject* object, int item) const;
    Ref list_of(int index, PyObject* object, bool arrays, const char* wanted) const;
    std::string place(int index, int item) const;

    const char* function_;
    const char* const* names_;
    PyObject* const* items_;
    Py_ssize_t count_;
};

} // namespace hostacl
