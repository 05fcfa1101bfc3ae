#include "module/machine_hooks.hpp"

#include "bridge/bridge.hpp"
#include "core/hooks.hpp"
#include "core/message.hpp"
#include "module/crossing.hpp"
#include "module/machine_table.hpp"

#include <frameobject.h> // PyFrame_GetBack of Python 3.10
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

namespace hostacl {
namespace {

std::string package_folder; // ".../hostacl/": frames of files below it are ours
std::string working_folder; // left out in front of a file's name

// This thread's waits begun from Python: how many are nested, and its state while it has given up the lock.
thread_local int waits = 0;
thread_local PyThreadState* given_up = nullptr;

std::string place_of(PyFrameObject* frame) {
    Ref code = Ref::take(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    PyObject* name = reinterpret_cast<PyCodeObject*>(code.get())->co_filename;
    Py_ssize_t size = 0;
    const char* chars = PyUnicode_AsUTF8AndSize(name, &size);
    if (!chars) {
        PyErr_Clear();
        return "?";
    }
    std::string file(chars, static_cast<size_t>(size));
    if (file.compare(0, package_folder.size(), package_folder) == 0) return "";
    if (file.compare(0, working_folder.size(), working_folder) == 0) file.erase(0, working_folder.size());
    return format("%s:%d", file.c_str(), PyFrame_GetLineNumber(frame));
}

// The innermost frame that is not ours.
std::string site() {
    if (!Py_IsInitialized() || !PyGILState_Check()) return "";
    Ref frame = Ref::share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
    while (frame) {
        auto* current = reinterpret_cast<PyFrameObject*>(frame.get());
        std::string place = place_of(current);
        if (!place.empty()) return place;
        frame = Ref::take(reinterpret_cast<PyObject*>(PyFrame_GetBack(current)));
    }
    return "";
}

void* release_lock() {
    if (!Py_IsInitialized() || !PyGILState_Check()) return nullptr;
    given_up = PyEval_SaveThread();
    return given_up;
}

// Once the interpreter ends, Python ends every other thread that asks for its lock, by unwinding it. The frames of C functions
// cannot be unwound: such a thread stops here instead, as newer Pythons have it, and dies with the process.
void restore(PyThreadState* state) {
    try {
        PyEval_RestoreThread(state);
    } catch (...) {
        for (;;) ::pause();
    }
}

void retake_lock(void* state) {
    if (!state) return;
    restore(static_cast<PyThreadState*>(state));
    given_up = nullptr;
}

bool is_main_thread() { return ::syscall(SYS_gettid) == ::getpid(); } // the one that runs Python's signal handlers

// Runs Python's signal handlers in a wait that was begun from Python; what they raise is raised by the waiting call.
bool interrupted() {
    if (waits == 0 || !is_main_thread()) return false;
    if (PyGILState_Check()) return PyErr_CheckSignals() < 0;
    PyThreadState* state = given_up;
    if (!state) return false;
    restore(state);
    bool raised = PyErr_CheckSignals() < 0;
    given_up = PyEval_SaveThread();
    return raised;
}

void clear_hooks() {
    python_ended();
    hooks() = Hooks{};
}

PyObject* end(PyObject*, PyObject*) {
    close_crossings();
    auto kept = hooks().site; // exit handlers that are still to run are Python, too
    clear_hooks();
    hooks().site = kept;
    return Py_NewRef(Py_None);
}

PyMethodDef end_definition = {"_end", end, METH_NOARGS, "Takes the hooks back: from here on the machine does without Python."};

bool find_folders(PyObject* module) {
    Ref file = Ref::take(PyModule_GetFilenameObject(module));
    const char* path = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
    if (!path) return false;
    package_folder = path;
    package_folder.erase(package_folder.rfind('/') + 1);
    char folder[4096];
    if (::getcwd(folder, sizeof folder)) working_folder = std::string(folder) + "/";
    return true;
}

bool clear_at_exit(PyObject* module) {
    Ref function = Ref::take(PyCFunction_New(&end_definition, module));
    Ref register_function = import_attr("atexit", "register");
    if (!function || !register_function) return false;
    Ref done = Ref::take(PyObject_CallOneArg(register_function.get(), function.get()));
    return done && Py_AtExit(clear_hooks) == 0;
}

} // namespace

Waiting::Waiting(bool wanted) : state_(wanted ? release_lock() : nullptr) {}
Waiting::~Waiting() { retake_lock(state_); }

FaceCall::FaceCall() { waits++; }
FaceCall::~FaceCall() { waits--; }

bool install_hooks(PyObject* module) {
    prepare_crossings();
    if (!find_folders(module)) return false;
    hooks().site = site;
    hooks().release_lock = release_lock;
    hooks().retake_lock = retake_lock;
    hooks().interrupted = interrupted;
    return clear_at_exit(module);
}

} // namespace hostacl
