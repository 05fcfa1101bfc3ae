// Entering Python from any thread, by the rules of docs/design.md.
#pragma once

#include "core/stream.hpp"
#include "module/python.hpp"

namespace hostacl {

// Holds Python's lock while it lives. False when the interpreter is not there any more: nothing of Python may be touched then.
// On a thread that did not hold the lock (a client's), the garbage collector is off meanwhile, and the thread state is kept
// for the next crossing.
class Crossing {
  public:
    Crossing();
    ~Crossing();
    Crossing(const Crossing&) = delete;
    Crossing& operator=(const Crossing&) = delete;
    explicit operator bool() const { return entered_; }

  private:
    bool entered_ = false;
    bool took_lock_ = false;
    PyGILState_STATE state_{};
};

// Once, when the hooks are set.
void prepare_crossings();

// From here on client threads do not enter; waits (10 s at most) for those that are in. Needs the lock, and lets go of it meanwhile.
void close_crossings();

// Floating-point warnings are off while it lives, whatever np.seterr the user set. Needs the lock.
class Quiet {
  public:
    Quiet();
    ~Quiet();
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

  private:
    PyObject* context_ = nullptr;
};

// The pending exception as a code and a text "HA502 ...". AclError and Failed bring their code, Refused is 500002, MemoryError
// 200000; anything else is `otherwise`, and a fault of ours. A KeyboardInterrupt is raised again in the main thread.
Failure failure_from_exception(Code otherwise);

} // namespace hostacl
