#include "core/handles.hpp"

#include "core/context.hpp"
#include "core/desc.hpp"
#include "core/event.hpp"
#include "core/memory.hpp"
#include "core/message.hpp"
#include "core/origins.hpp"
#include "core/stream_state.hpp"
#include "core/virtual_memory.hpp"

#include <cstring>

namespace hostacl {
namespace {

constexpr Handle kFirstHandle = Handle{1} << 56; // every address of a process lies below

bool is_live(Handle handle) {
    switch (static_cast<Kind>(handle >> 56)) {
    case Kind::TensorDesc: return descs().find(handle) != nullptr;
    case Kind::DataBuffer: return buffers().find(handle) != nullptr;
    case Kind::OpAttr: return attrs().find(handle) != nullptr;
    case Kind::Context: return find_context(handle) != nullptr;
    case Kind::Stream: return streams().find(handle) != nullptr;
    case Kind::Event: return is_live_event(handle);
    case Kind::PhysicalMemory: return is_physical(handle);
    default: return true; // the other tables are their owners' business: the kind alone is named
    }
}

} // namespace

const char* kind_name(Kind kind) {
    switch (kind) {
    case Kind::TensorDesc: return "tensor descriptor";
    case Kind::DataBuffer: return "data buffer";
    case Kind::OpAttr: return "operator attribute object";
    case Kind::OpHandle: return "operator handle";
    case Kind::Context: return "context";
    case Kind::Stream: return "stream";
    case Kind::Event: return "event";
    case Kind::KernelDesc: return "kernel descriptor";
    case Kind::GroupInfo: return "group info";
    case Kind::PhysicalMemory: return "physical memory";
    case Kind::Addresses:
    case Kind::StreamConfig: break;
    }
    return "";
}

std::string describe_handle(Handle handle, bool dead) {
    if (handle == 0) return "NULL";
    std::string number = format("0x%llx", static_cast<unsigned long long>(handle));
    if (handle < kFirstHandle) return number + ", " + describe_pointer(static_cast<uintptr_t>(handle));
    const char* name = kind_name(static_cast<Kind>(handle >> 56));
    if (!*name) return number + ", an unknown value";
    if (dead || !is_live(handle)) return number + ", a destroyed " + name + origin_text(handle);
    return number + (std::strchr("aeiou", *name) ? ", an " : ", a ") + name + origin_text(handle);
}

} // namespace hostacl
