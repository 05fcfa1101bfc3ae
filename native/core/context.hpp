// Devices and contexts. A context owns streams; one context is current in a thread.
#pragma once

#include "core/handles.hpp"
#include "core/stream.hpp"
#include "core/types.hpp"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace hostacl {

struct Context {
    Handle handle = 0;
    int32_t device = 0;
    bool primary = false;
    bool alive = true;
    StreamPtr default_stream;
    std::vector<StreamPtr> streams;        // made by the program
    std::map<int32_t, int64_t> parameters; // aclrtCtxSetSysParamOpt
    Failure stopped;                       // a stream with failure mode stop failed: no stream takes tasks
    const Stream* stopped_by = nullptr;
};
using ContextPtr = std::shared_ptr<Context>;

struct Device {
    Handle primary = 0;                 // the primary context; 0: not set, or reset
    int32_t saturation = -1;            // aclrtFloatOverflowMode; -1: the product's own
    std::map<int32_t, uint32_t> limits; // aclrtSetDeviceResLimit
    std::map<int32_t, bool> peers;      // aclrtDeviceEnablePeerAccess
};

// All with the lock held.
int32_t device_count();
Device& device_state(int32_t device);
bool is_device(int32_t device);
Code check_device(int32_t device, const char* name = "deviceId"); // 107001 and a text
HACL_API Context* find_context(Handle handle);                    // null: dead or foreign
HACL_API Code current_context(Context** context);                 // 107002 and a text when there is none
Handle current_context_handle();
void set_current(Handle context);
Handle make_context(int32_t device, bool primary);
Handle set_device(int32_t device); // its primary context, made current
void each_context(const std::function<void(Context&)>& visit);

// Streams and their tasks end, the context is dead. Waits for running tasks: no lock held.
void end_context(const ContextPtr& context, bool drop_tasks);
Code destroy_context(Handle context);
Code reset_device(int32_t device, bool force);
HACL_API void reset_all_devices();

void forget_contexts_after_fork();

} // namespace hostacl
