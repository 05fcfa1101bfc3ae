// What the core asks of Python besides running operators: where a call came from, and to let others run while it waits.
#pragma once

#include "module/python.hpp"

namespace hostacl {

// Sets site, release_lock, retake_lock and interrupted, and sees that all hooks are cleared before the interpreter ends.
bool install_hooks(PyObject* module);

// Lets other Python threads run while it lives (when `wanted`).
class Waiting {
  public:
    explicit Waiting(bool wanted);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

  private:
    void* state_;
};

// A call from Python: a wait inside it may be ended by Ctrl-C.
class FaceCall {
  public:
    FaceCall();
    ~FaceCall();
    FaceCall(const FaceCall&) = delete;
    FaceCall& operator=(const FaceCall&) = delete;
};

} // namespace hostacl
