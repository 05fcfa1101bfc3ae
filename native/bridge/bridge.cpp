// Starting Python, or entering the one that is there, until hostacl._machine has set the hooks.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge/bridge.hpp"

#include "bridge/locate.hpp"
#include "core/hooks.hpp"
#include "core/lifecycle.hpp"
#include "core/message.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <pthread.h>

namespace hostacl {

namespace {

// The part of CPython's C API that is needed here, by dlsym.
#define PYTHON_FUNCTIONS(X)                                                                                                 \
    X(Py_IsInitialized) X(Py_GetVersion) X(PyGILState_Ensure) X(PyGILState_Release) X(PyGILState_Check)                     \
    X(PyImport_ImportModule) X(Py_DecRef) X(PyErr_Fetch) X(PyErr_NormalizeException) X(PyErr_Clear) X(PyObject_Str)         \
    X(PyObject_CallMethod) X(PyUnicode_AsUTF8) X(PyUnicode_DecodeFSDefault) X(PySys_GetObject) X(PySequence_Contains)       \
    X(PyList_Append) X(PyPreConfig_InitPythonConfig) X(Py_PreInitialize) X(PyConfig_InitPythonConfig)                       \
    X(PyConfig_SetBytesString) X(PyConfig_Clear) X(Py_InitializeFromConfig) X(PyStatus_Exception) X(PyEval_SaveThread)      \
    X(PyOS_BeforeFork) X(PyOS_AfterFork_Parent) X(PyOS_AfterFork_Child)

struct PythonApi {
#define X(name) decltype(&::name) name = nullptr;
    PYTHON_FUNCTIONS(X)
#undef X
    int (*is_finalizing)() = nullptr;
};

PythonApi api;                           // filled once, before `ready` is set
std::atomic<bool> ready{false};
std::atomic<bool> starting{false};       // this library starts Python, or has done so
std::atomic<bool> ended{false};
std::mutex start_mutex;                  // held while Python starts; never by a thread that could hold Python's lock
std::string* start_failure = nullptr;    // kept: a start that failed is not tried again

bool hooked() { return __atomic_load_n(&hooks().prepare, __ATOMIC_ACQUIRE) != nullptr; }

bool fill_api(void* library, std::string* why) { // library: null looks in the whole process
    static std::mutex fill_mutex;
    std::lock_guard<std::mutex> guard(fill_mutex); // nothing but dlsym happens under it
    if (ready) return true;
    PythonApi found;
    std::string missing;
#define X(name)                                                                                                             \
    found.name = reinterpret_cast<decltype(found.name)>(dlsym(library ? library : RTLD_DEFAULT, #name));                    \
    if (!found.name) missing = #name;
    PYTHON_FUNCTIONS(X)
#undef X
    for (const char* name : {"Py_IsFinalizing", "_Py_IsFinalizing"})
        if (!found.is_finalizing)
            found.is_finalizing = reinterpret_cast<int (*)()>(dlsym(library ? library : RTLD_DEFAULT, name));
    if (!missing.empty() || !found.is_finalizing) {
        *why = format("the Python of this process lacks %s; hostacl was built for Python %s and needs that one",
                      missing.empty() ? "Py_IsFinalizing" : missing.c_str(), HOSTACL_PYTHON_VERSION);
        return false;
    }
    const char* version = found.Py_GetVersion();
    size_t length = std::strlen(HOSTACL_PYTHON_VERSION);
    if (std::strncmp(version, HOSTACL_PYTHON_VERSION, length) != 0 || (version[length] >= '0' && version[length] <= '9')) {
        *why = format("this process has Python %.*s, but hostacl was built for Python %s; install the hostacl of that Python, "
                      "or point HOSTACL_PYTHON to a Python %s",
                      static_cast<int>(std::strcspn(version, " ")), version, HOSTACL_PYTHON_VERSION, HOSTACL_PYTHON_VERSION);
        return false;
    }
    api = found;
    ready = true;
    return true;
}

// The Python error that is set, as "ImportError: no module ..."; clears it. Python's lock is held.
std::string python_error() {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    api.PyErr_Fetch(&type, &value, &trace);
    api.PyErr_NormalizeException(&type, &value, &trace);
    PyObject* words = value ? api.PyObject_Str(value) : nullptr;
    const char* text = words ? api.PyUnicode_AsUTF8(words) : nullptr;
    std::string out = type ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "an error without a name";
    if (text && *text) out += std::string(": ") + text;
    api.PyErr_Clear();
    for (PyObject* object : {words, type, value, trace})
        if (object) api.Py_DecRef(object);
    return out;
}

// The package that this core lies in must be found; last in the path, so that it hides nothing.
void add_packages_folder() {
    PyObject* path = api.PySys_GetObject("path"); // borrowed
    PyObject* folder = api.PyUnicode_DecodeFSDefault(packages_folder().c_str());
    if (path && folder && api.PySequence_Contains(path, folder) == 0) api.PyList_Append(path, folder);
    if (folder) api.Py_DecRef(folder);
    api.PyErr_Clear();
}

// Imports what the hooks need, all of it, so that later calls on other threads import nothing. Python's lock is held.
bool import_hostacl(std::string* why) {
    add_packages_folder();
    for (const char* name : {"hostacl._machine", "hostacl.singleop.execute"}) {
        PyObject* module = api.PyImport_ImportModule(name);
        if (!module) {
            *why = format("Python could not import %s (%s). Operators need hostacl and its dependencies in that Python: "
                          "`pip install hostacl` there, or point HOSTACL_PYTHON to a Python %s that has them",
                          name, python_error().c_str(), HOSTACL_PYTHON_VERSION);
            return false;
        }
        api.Py_DecRef(module);
    }
    if (hooked()) return true;
    *why = format("Python imports a hostacl that belongs to another libhostacl_core.so than the one in %s, which this program "
                  "has loaded. Use the libraries and the Python of one installation",
                  packages_folder().c_str());
    return false;
}

bool enter_and_import(std::string* why) {
    if (!api.PyGILState_Check() && api.is_finalizing()) {
        *why = "the Python interpreter of this process is ending; operators can no longer be run";
        return false;
    }
    PyGILState_STATE state = api.PyGILState_Ensure();
    bool done = hooked() || import_hostacl(why);
    api.PyGILState_Release(state);
    return done;
}

// A fork by the program must find Python's lock free in the child; a fork by Python itself cares for that.
thread_local bool fork_entered = false;
thread_local PyGILState_STATE fork_state;

void before_fork() {
    fork_entered = !api.PyGILState_Check();
    if (!fork_entered) return;
    fork_state = api.PyGILState_Ensure();
    api.PyOS_BeforeFork();
}
void after_fork_parent() {
    if (!fork_entered) return;
    api.PyOS_AfterFork_Parent();
    api.PyGILState_Release(fork_state);
}
void after_fork_child() {
    if (!fork_entered) return;
    api.PyOS_AfterFork_Child();
    api.PyEval_SaveThread(); // keeps this thread's state: 3.11 ends a process that makes one when none is left
}

void* open_library(const PythonPlace& place, std::string* why) {
    std::string tried;
    for (const std::string& library : place.libraries) {
        if (void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL)) return handle; // global: extensions need it
        tried += std::string("; ") + dlerror();
    }
    *why = format("this program has no Python, and %s could not be loaded%s. Operators are written in Python: install the "
                  "shared library of Python %s (Debian, Ubuntu: libpython%s or python3-dev; Fedora: python3-libs; pyenv, or a "
                  "build of your own: --enable-shared), or point HOSTACL_PYTHON to a Python %s that has it",
                  python_library_name().c_str(), tried.c_str(), HOSTACL_PYTHON_VERSION, HOSTACL_PYTHON_VERSION,
                  HOSTACL_PYTHON_VERSION);
    return nullptr;
}

// The program's locale and signals stay as they are; Python speaks UTF-8.
bool initialize(const PythonPlace& place, std::string* why) {
    PyPreConfig before;
    api.PyPreConfig_InitPythonConfig(&before);
    before.parse_argv = 0;
    before.configure_locale = 0;
    before.coerce_c_locale = 0;
    before.utf8_mode = 1;
    PyStatus status = api.Py_PreInitialize(&before);
    if (!api.PyStatus_Exception(status)) {
        PyConfig config;
        api.PyConfig_InitPythonConfig(&config);
        config.parse_argv = 0;
        config.install_signal_handlers = 0;
        config.configure_c_stdio = 0;
        if (!place.program.empty()) status = api.PyConfig_SetBytesString(&config, &config.program_name, place.program.c_str());
        if (!api.PyStatus_Exception(status)) status = api.Py_InitializeFromConfig(&config);
        api.PyConfig_Clear(&config);
    }
    if (!api.PyStatus_Exception(status)) return true;
    *why = format("Python %s could not start: %s%s%s. Its interpreter is taken from %s; point HOSTACL_PYTHON to another, and see "
                  "that PYTHONHOME is not set to a Python of another version",
                  HOSTACL_PYTHON_VERSION, status.func ? status.func : "", status.func ? ": " : "",
                  status.err_msg ? status.err_msg : "it ended itself", place.program.empty() ? "its library" : place.program.c_str());
    return false;
}

// Python 3.10 takes Ctrl-C when the module `signal` is first imported, whatever it was told at the start.
class KeptInterrupt {
  public:
    KeptInterrupt() { ::sigaction(SIGINT, nullptr, &before_); }
    ~KeptInterrupt() { ::sigaction(SIGINT, &before_, nullptr); }
    void settle() { // now, so that no later import does
        if (PyObject* module = api.PyImport_ImportModule("signal")) api.Py_DecRef(module);
        else api.PyErr_Clear();
    }

  private:
    struct sigaction before_;
};

bool start(std::string* why) { // start_mutex is held: no thread can hold the lock of a Python that is not there
    PythonPlace place = locate_python();
    if (!place.error.empty()) {
        *why = place.error;
        return false;
    }
    if (!ready) {
        void* library = open_library(place, why);
        if (!library || !fill_api(library, why)) return false;
    }
    if (api.Py_IsInitialized()) return enter_and_import(why); // it was loaded privately, and runs
    KeptInterrupt interrupt;
    if (!initialize(place, why)) return false;
    interrupt.settle();
    bool done = import_hostacl(why);
    api.PyEval_SaveThread();
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    at_finalize(flush_python_output);
    return done;
}

bool start_once(std::string* why) {
    std::lock_guard<std::mutex> guard(start_mutex);
    if (hooked()) return true;
    if (!start_failure) {
        starting = true;
        std::string text;
        if (start(&text)) return true;
        if (!ready || !api.Py_IsInitialized()) starting = false;
        start_failure = new std::string(text);
    }
    *why = *start_failure;
    return false;
}

} // namespace

bool ensure_python(std::string* why) {
    if (hooked()) return true;
    if (ended) {
        *why = "the Python interpreter of this process has ended; operators can no longer be run";
        return false;
    }
    bool here = ready || dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    if (here && !fill_api(nullptr, why)) return false;
    // `starting` is read last: a Python that another thread is starting here is initialised before it is complete.
    if (here && api.Py_IsInitialized() && !starting) return enter_and_import(why);
    return start_once(why);
}

void python_ended() { ended = true; }

void flush_python_output() {
    if (!starting || !ready || !api.Py_IsInitialized()) return;
    PyGILState_STATE state = api.PyGILState_Ensure();
    for (const char* name : {"stdout", "stderr"}) {
        PyObject* stream = api.PySys_GetObject(name); // borrowed
        PyObject* done = stream ? api.PyObject_CallMethod(stream, "flush", nullptr) : nullptr;
        if (done) api.Py_DecRef(done);
        else api.PyErr_Clear();
    }
    api.PyGILState_Release(state);
}

} // namespace hostacl
