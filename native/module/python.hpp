// Small helpers over CPython's API.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace hostacl {

// An owned reference, or null.
class Ref {
  public:
    Ref() = default;
    static Ref take(PyObject* object) {
        Ref ref;
        ref.object_ = object;
        return ref;
    }
    static Ref share(PyObject* object) {
        Py_XINCREF(object);
        return take(object);
    }
    Ref(Ref&& other) noexcept : object_(other.release()) {}
    Ref& operator=(Ref&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
    Ref& operator=(const Ref& other) { return *this = Ref(other); }
    ~Ref() { Py_XDECREF(object_); }
    PyObject* get() const { return object_; }
    PyObject* release() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    PyObject* object_ = nullptr;
};

// module.name, importing the module if need be; null with an exception set.
inline Ref import_attr(const char* module, const char* name) {
    Ref imported = Ref::take(PyImport_ImportModule(module));
    return imported ? Ref::take(PyObject_GetAttrString(imported.get(), name)) : Ref();
}

} // namespace hostacl
