#include "module/crossing.hpp"

#include "core/message.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

extern "C" int _Py_IsFinalizing(void) __attribute__((weak)); // 3.10 to 3.12
extern "C" int Py_IsFinalizing(void) __attribute__((weak));  // 3.13 and later

namespace hostacl {
namespace {

bool interpreter_ends() {
    if (&Py_IsFinalizing) return Py_IsFinalizing() != 0;
    return &_Py_IsFinalizing && _Py_IsFinalizing() != 0;
}

// ---- thread states of client threads: made once, kept, and freed by a later crossing after their thread has ended ----

struct Ended {
    std::mutex mutex;
    std::vector<PyThreadState*> states;
};
Ended* ended_list = new Ended;
Ended& ended() { return *ended_list; }

struct KeptState {
    PyThreadState* state = nullptr;
    ~KeptState() { // a thread's exit: Python is not touched
        if (!state) return;
        std::lock_guard<std::mutex> guard(ended().mutex);
        ended().states.push_back(state);
    }
};

// Until Python 3.11 a child that was forked while another thread made its state waits for ever for the lock of their list:
// no fork happens in between. Taken without Python's lock, or after it by a fork. Later ones hold that list's lock themselves
// while they fork, or make it anew; a lock of ours beside it would wait for theirs, and theirs for ours.
constexpr bool kGuardsBirths = PY_VERSION_HEX < 0x030C0000;
std::mutex birth_mutex;

// Makes this thread's state; that of PyGILState_Ensure would go with the last release, this one is kept.
void make_state() {
    static thread_local KeptState kept;
    std::unique_lock<std::mutex> guard(birth_mutex, std::defer_lock);
    if (kGuardsBirths) guard.lock();
    kept.state = PyThreadState_New(PyInterpreterState_Main());
}

void free_states(const std::vector<PyThreadState*>& states) {
    for (PyThreadState* state : states) {
        PyThreadState_Clear(state);
        PyThreadState_Delete(state);
    }
}

// From 3.12 on, to delete another thread's state makes this thread forget its own (PyGILState_Check fails, Release ends the
// process). It learns it anew when it changes to its own from a state that it had taken up before. That one cannot be
// deleted here in its turn: the next time does it.
void free_states_from_helper(std::vector<PyThreadState*> states) {
    static auto* helpers = new std::vector<PyThreadState*>; // of earlier times; Python's lock, which a change gives away
    PyThreadState* own = PyThreadState_Get();
    PyThreadState* helper = PyThreadState_New(PyThreadState_GetInterpreter(own));
    if (!helper) return;
    states.insert(states.end(), helpers->begin(), helpers->end());
    helpers->clear();
    PyThreadState_Swap(helper);
    free_states(states);
    PyThreadState_Swap(own);
    helpers->push_back(helper);
}

void free_ended() {
    std::vector<PyThreadState*> states;
    {
        std::lock_guard<std::mutex> guard(ended().mutex);
        states.swap(ended().states);
    }
    if (states.empty()) return;
    if (PY_VERSION_HEX >= 0x030C0000) free_states_from_helper(std::move(states));
    else free_states(states);
}

// ---- the collector, off while our code runs on a client's thread; counted under Python's lock ----

int collector_holds = 0;
int collector_was_on = 0;
bool collector_forked = false; // the holds are those of threads that the child does not have

void hold_collector() {
    if (collector_forked && collector_holds > 0 && collector_was_on) PyGC_Enable();
    if (collector_forked) collector_holds = 0;
    collector_forked = false;
    if (collector_holds++ == 0) collector_was_on = PyGC_Disable();
}

void release_collector() {
    if (--collector_holds == 0 && collector_was_on) PyGC_Enable();
}

// ---- the end of the interpreter: Python ends a thread that waits for its lock then, inside our frames ----

std::atomic<int> client_threads{0}; // at or behind Python's lock
std::atomic<bool> closed{false};

void before_fork() {
    if (kGuardsBirths) birth_mutex.lock();
}
void after_fork_in_parent() {
    if (kGuardsBirths) birth_mutex.unlock();
}

// Python has freed the thread states of the parent's other threads, and those threads are not here.
void after_fork_in_child() {
    after_fork_in_parent();
    ended_list = new Ended;
    collector_forked = true;
    client_threads = 0;
}

// ---- contexts in which NumPy is quiet (NumPy 2: its error state is a context variable) ----

std::vector<PyObject*>& quiet_contexts() {
    static auto* free = new std::vector<PyObject*>;
    return *free;
}

PyObject* new_quiet_context() {
    Ref context = Ref::take(PyContext_CopyCurrent());
    Ref seterr = import_attr("numpy", "seterr");
    Ref run = context ? Ref::take(PyObject_GetAttrString(context.get(), "run")) : Ref();
    Ref names = Ref::take(Py_BuildValue("{s:s}", "all", "ignore"));
    Ref args = seterr ? Ref::take(PyTuple_Pack(1, seterr.get())) : Ref();
    Ref done = run && names && args ? Ref::take(PyObject_Call(run.get(), args.get(), names.get())) : Ref();
    return done ? context.release() : nullptr;
}

// NumPy 1: the error state belongs to the thread, and seterrobj sets it. Null on NumPy 2.
PyObject* seterrobj(PyObject** geterrobj) {
    static PyObject *set = nullptr, *get = nullptr;
    static bool looked = false;
    if (!looked) {
        looked = true;
        set = import_attr("numpy.core.umath", "seterrobj").release();
        get = set ? import_attr("numpy.core.umath", "geterrobj").release() : nullptr;
        PyErr_Clear();
    }
    *geterrobj = get;
    return set;
}

bool numpy_is_old() {
    static const bool old = [] {
        Ref version = import_attr("numpy", "__version__");
        const char* digits = version ? PyUnicode_AsUTF8(version.get()) : nullptr;
        PyErr_Clear();
        return digits && digits[0] == '1';
    }();
    return old;
}

std::string text_of(PyObject* object) {
    Ref text = Ref::take(PyObject_Str(object));
    const char* chars = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    PyErr_Clear();
    return chars ? chars : "?";
}

std::string attr_text(PyObject* object, const char* name) {
    Ref value = Ref::take(PyObject_GetAttrString(object, name));
    PyErr_Clear();
    return value ? text_of(value.get()) : "";
}

bool is_a(PyObject* error, const char* name) {
    Ref type = import_attr("hostacl.errors", name);
    PyErr_Clear();
    return type && PyObject_IsInstance(error, type.get()) == 1;
}

Failure failure_of(PyObject* error, Code otherwise) {
    std::string ours = attr_text(error, "rule");
    if (is_a(error, "HostaclError")) {
        Ref code = Ref::take(PyObject_GetAttrString(error, "code"));
        PyErr_Clear();
        Code value = code ? static_cast<Code>(PyLong_AsLong(code.get())) : 500002;
        return {value, ours + " " + attr_text(error, "text")};
    }
    if (PyErr_GivenExceptionMatches(error, PyExc_KeyboardInterrupt)) {
        PyErr_SetInterrupt(); // raised again in the main thread, where Python can see it
        return {otherwise, "HA311 interrupted (Ctrl-C)"};
    }
    if (PyErr_GivenExceptionMatches(error, PyExc_MemoryError)) return {200000, "HA113 out of host memory: " + text_of(error)};
    std::string type = Py_TYPE(error)->tp_name;
    return {otherwise, "HA526 " + type + ": " + text_of(error) + " (an error inside an operator, not of the call)"};
}

// Once the interpreter ends, Python unwinds a thread that asks for its lock, and a C function's frame cannot be unwound: the
// thread stops here instead and dies with the process.
PyGILState_STATE take_lock() {
    try {
        return PyGILState_Ensure();
    } catch (...) {
        for (;;) ::pause();
    }
}

} // namespace

Crossing::Crossing() {
    if (!Py_IsInitialized()) return;
    if (PyGILState_Check()) {
        entered_ = true;
        return;
    }
    client_threads++;
    if (closed || interpreter_ends()) {
        client_threads--;
        return;
    }
    if (!PyGILState_GetThisThreadState()) make_state();
    state_ = take_lock();
    entered_ = took_lock_ = true;
    free_ended();
    hold_collector();
}

Crossing::~Crossing() {
    if (!took_lock_) return;
    release_collector();
    PyGILState_Release(state_);
    client_threads--;
}

void close_crossings() {
    closed = true;
    PyThreadState* state = PyEval_SaveThread();
    for (int i = 0; client_threads > 0 && i < 10000; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
}

void prepare_crossings() {
    closed = false;
    static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    static_cast<void>(registered);
}

Quiet::Quiet() {
    if (numpy_is_old()) {
        PyObject* get;
        PyObject* set = seterrobj(&get);
        if (!set) return;
        context_ = PyObject_CallNoArgs(get);
        Ref quiet = Ref::take(Py_BuildValue("[iiO]", 8192, 0, Py_None));
        Ref done = quiet ? Ref::take(PyObject_CallOneArg(set, quiet.get())) : Ref();
        PyErr_Clear();
        return;
    }
    auto& free = quiet_contexts();
    if (free.empty()) {
        context_ = new_quiet_context();
    } else {
        context_ = free.back();
        free.pop_back();
    }
    if (context_ && PyContext_Enter(context_) < 0) Py_CLEAR(context_);
    if (!context_) PyErr_Clear();
}

Quiet::~Quiet() {
    if (!context_) return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (numpy_is_old()) {
        PyObject* get;
        Ref done = Ref::take(PyObject_CallOneArg(seterrobj(&get), context_));
        Py_DECREF(context_);
    } else if (PyContext_Exit(context_) == 0) {
        quiet_contexts().push_back(context_);
    } else {
        Py_DECREF(context_);
    }
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

Failure failure_from_exception(Code otherwise) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Ref keep_type = Ref::take(type), error = Ref::take(value), keep_trace = Ref::take(trace);
    if (!error) return {500000, "HA526 an operator failed without saying why"};
    return failure_of(error.get(), otherwise);
}

} // namespace hostacl
