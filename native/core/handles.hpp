// Opaque handles that may be dead, foreign or of the wrong kind without harm: a handle is a kind, a
// generation and a slot number, never an address; it is looked up, never dereferenced.
#pragma once

#include "core/checks.hpp"
#include "core/types.hpp"

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hostacl {

enum class Kind : uint8_t {
    TensorDesc = 1, DataBuffer, OpAttr, OpHandle, Context, Stream, Event, KernelDesc, GroupInfo, PhysicalMemory,
    Addresses, StreamConfig // known by their address; their handles are for note_made alone
};

HACL_API void note_made(Handle handle); // origins.hpp
HACL_API void note_ended(Handle handle);

const char* kind_name(Kind kind); // "tensor descriptor", "data buffer", ...

// bits 62..56 kind, 55..32 generation, 31..0 slot + 1; positive as int64, never a small number.
inline Handle make_handle(Kind kind, uint32_t generation, uint32_t slot) {
    return (Handle{static_cast<uint8_t>(kind)} << 56) | (Handle{generation & 0xFFFFFFu} << 32) | (slot + 1);
}

inline Handle address_handle(Kind kind, const void* address) {
    return (Handle{static_cast<uint8_t>(kind)} << 56) | reinterpret_cast<uintptr_t>(address);
}

// What a handle value that was not found is: "a destroyed stream", "a data buffer", "an unknown pointer",
// "a device pointer (use acl.create_data_buffer)". Machine lock held.
HACL_API std::string describe_handle(Handle handle, bool dead = false);

// The rule that a handle breaks which is no live object of the wanted kind: dead, of the wrong kind, foreign.
inline const char* handle_rule(Handle handle, Kind wanted) {
    uint64_t kind = handle >> 56;
    if (kind == static_cast<uint8_t>(wanted)) return "HA402";
    return kind >= static_cast<uint8_t>(Kind::TensorDesc) && kind <= static_cast<uint8_t>(Kind::PhysicalMemory) ? "HA403" : "HA404";
}

// A table of live objects of one kind. Every function needs the machine lock.
template <class T, Kind K> class HandleTable {
  public:
    Handle add(T object) {
        Handle handle;
        make(&handle, std::move(object));
        return handle;
    }
    template <class... A> T& make(Handle* handle, A&&... arguments) { // in place: nothing is copied
        if (free_.empty()) {
            slots_.emplace_back();
            free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
        }
        uint32_t index = free_.back();
        Slot& slot = slots_[index];
        slot.object.emplace(std::forward<A>(arguments)...);
        free_.pop_back();
        *handle = make_handle(K, slot.generation, index);
        if (checking(kOrigins)) note_made(*handle);
        return *slot.object;
    }
    T* find(Handle handle) {
        Slot* slot = slot_of(handle);
        return slot && slot->object ? &*slot->object : nullptr;
    }
    bool remove(Handle handle) { // false: not a live object of this kind
        Slot* slot = slot_of(handle);
        if (!slot || !slot->object) return false;
        if (checking(kOrigins)) note_ended(handle);
        slot->object.reset();
        slot->generation++;
        free_.push_back(static_cast<uint32_t>(handle & 0xFFFFFFFFu) - 1);
        return true;
    }
    void clear() { // their handles are dead then, not free to mean others
        std::vector<Handle> all;
        each([&](Handle handle, T&) { all.push_back(handle); });
        for (Handle handle : all) remove(handle);
    }
    bool was_ours(Handle handle) const { // a handle of this kind, live or dead
        uint32_t index = static_cast<uint32_t>(handle & 0xFFFFFFFFu);
        return (handle >> 56) == static_cast<uint8_t>(K) && index >= 1 && index <= slots_.size();
    }
    size_t live() const { return slots_.size() - free_.size(); }
    template <class F> void each(F&& visit) {
        for (uint32_t slot = 0; slot < slots_.size(); slot++)
            if (slots_[slot].object) visit(make_handle(K, slots_[slot].generation, slot), *slots_[slot].object);
    }

  private:
    struct Slot {
        std::optional<T> object;
        uint32_t generation = 1;
    };
    Slot* slot_of(Handle handle) {
        uint32_t index = static_cast<uint32_t>(handle & 0xFFFFFFFFu);
        if ((handle >> 56) != static_cast<uint8_t>(K) || index < 1 || index > slots_.size()) return nullptr;
        Slot& slot = slots_[index - 1];
        return ((handle >> 32) & 0xFFFFFFu) == (slot.generation & 0xFFFFFFu) ? &slot : nullptr;
    }
    std::deque<Slot> slots_; // an object stays where it is while others come
    std::vector<uint32_t> free_;
};

} // namespace hostacl
