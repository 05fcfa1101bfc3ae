// The module hostacl._kernels: its settings, and its functions from the kernels_*.cpp files.
#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/pool.hpp"
#include "kernels/table.hpp"
#include "module/kernels_array.hpp"

namespace hacl::module {
namespace {

std::string level_names() {
  std::string names;
  for (const Table* const* t = levels(); *t != nullptr; ++t) names += (names.empty() ? "" : ", ") + std::string((*t)->name);
  return names;
}

PyObject* simd_level(PyObject*, PyObject*) { return PyUnicode_FromString(table().name); }

PyObject* simd_levels(PyObject*, PyObject*) {
  Py_ssize_t n = 0;
  while (levels()[n] != nullptr) ++n;
  PyObject* names = PyTuple_New(n);
  for (Py_ssize_t i = 0; names != nullptr && i < n; ++i) {
    PyObject* name = PyUnicode_FromString(levels()[i]->name);
    if (name == nullptr) Py_CLEAR(names);
    else PyTuple_SET_ITEM(names, i, name);
  }
  return names;
}

PyObject* use_simd_level(PyObject*, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  const char* before = table().name;
  if (use_level(text)) return PyUnicode_FromString(before);
  return PyErr_Format(PyExc_ValueError, "use_simd_level(): name = %R; allowed on this machine: %s", name, level_names().c_str());
}

PyObject* threads(PyObject*, PyObject*) { return PyLong_FromLong(thread_count()); }

PyObject* use_threads(PyObject*, PyObject* count) {
  const long n = PyLong_AsLong(count);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  if (n >= 1 && n <= kMaxThreads) return PyLong_FromLong(use_thread_count(static_cast<int>(n)));
  return PyErr_Format(PyExc_ValueError, "use_threads(): count = %ld; allowed: 1 to %d", n, kMaxThreads);
}

// HOSTACL_SIMD and HOSTACL_THREADS; a value that cannot be used is warned of and left.
bool read_environment() {
  const char* simd = std::getenv("HOSTACL_SIMD");
  if (simd != nullptr && *simd != '\0' && !use_level(simd)) {
    const int kept = PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "HOSTACL_SIMD = '%.80s'; allowed on this machine: %s. Using %s.",
                                      simd, level_names().c_str(), table().name);
    if (kept < 0) return false;
  }
  const char* wanted = std::getenv("HOSTACL_THREADS");
  if (wanted == nullptr || *wanted == '\0') return true;
  char* end = nullptr;
  const long n = std::strtol(wanted, &end, 10);
  if (*end == '\0' && n >= 1 && n <= kMaxThreads) {
    use_thread_count(static_cast<int>(n));
    return true;
  }
  return PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "HOSTACL_THREADS = '%.80s'; allowed: 1 to %d. Using %d.", wanted, kMaxThreads,
                          thread_count()) >= 0;
}

PyMethodDef setting_methods[] = {
    {"simd_level", simd_level, METH_NOARGS, "The SIMD level in use."},
    {"simd_levels", simd_levels, METH_NOARGS, "The levels this machine can run, slowest first."},
    {"use_simd_level", use_simd_level, METH_O, "Switches to a level and gives the previous one."},
    {"threads", threads, METH_NOARGS, "The number of threads a large call may use."},
    {"use_threads", use_threads, METH_O, "Sets that number and gives the previous one."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "hostacl._kernels", "Native loops over NumPy arrays.", -1,
                          nullptr, nullptr, nullptr, nullptr, nullptr};

PyObject* make_module() {
  if (!find_numpy() || !read_environment()) return nullptr;
  PyObject* module = PyModule_Create(&definition);
  if (module == nullptr) return nullptr;
  for (PyMethodDef* methods : {setting_methods, elementwise_methods, convert_methods, row_methods, reduce_methods, scan_methods,
                               ufunc_methods, scatter_methods, centred_methods, copy_methods, convolve_methods, pooling_methods}) {
    if (PyModule_AddFunctions(module, methods) < 0) {
      Py_DECREF(module);
      return nullptr;
    }
  }
  return module;
}

}  // namespace
}  // namespace hacl::module

PyMODINIT_FUNC PyInit__kernels() { return hacl::module::make_module(); }
