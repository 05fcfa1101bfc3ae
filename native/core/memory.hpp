// Device memory is ordinary memory at real addresses; every block is known.
#pragma once

#include "core/types.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace hostacl {

enum class Space : uint8_t { Device, PinnedHost, Registered };

class Written; // written.hpp

struct Block {
    uintptr_t start = 0;
    size_t size = 0;     // as asked for
    size_t capacity = 0; // size rounded up; guard bytes stand behind it
    Space space = Space::Device;
    int32_t device = 0;
    bool freed = false; // dead to the program; the memory goes back when the last view dies
    std::string site;   // where it was made
    std::string freed_site;
    size_t guard = 0;    // guard bytes behind it
    size_t taken = 0;    // bytes of the arena to give back; 0 when the memory is not ours
    uint64_t serial = 0; // in order of making
    std::unique_ptr<Written> written; // null: not tracked, all of it counts as written
    std::shared_ptr<void> pages; // of aclrtMapMem: what ends with the last view, and is counted elsewhere
    bool holds(uintptr_t address) const { return address - start < capacity; }
    Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block(); // gives the memory back
};
using BlockPtr = std::shared_ptr<Block>;

// The block that holds address, live or (if lately freed) dead; null for memory we do not know. Lock held.
HACL_API BlockPtr find_block(uintptr_t address);

// "device memory [0x.., 64 bytes] made at a.py:3", "memory freed at a.py:5", "unknown (host) memory". Lock held.
HACL_API std::string describe_pointer(uintptr_t address);

// Inside the address space that only device and pinned memory lie in.
HACL_API bool in_arena(uintptr_t address);

// Makes a block and gives its start: 207001 when the device, or the machine, has no more. No lock held.
Code allocate(Space space, int32_t device, size_t size, const char* size_name, void** start);

// Marks the block at `start` dead. `space` is what the function called frees. No lock held.
Code free_block(Space space, uintptr_t start, const char* name);

Code register_host(uintptr_t start, size_t size);
Code unregister_host(uintptr_t start);

// Marks all memory of a device dead (the device was reset). Lock held.
void free_device_memory(int32_t device);
// Marks pinned and registered host memory dead: the process begins anew. No lock held.
void free_host_memory();

// Looks at the guard bytes of every live block and reports each overwritten one once. No lock held.
HACL_API size_t check_guards();

// What was written behind this block, or "" when its guard bytes are whole, as they are afterwards. No lock held.
std::string take_guard_damage(Block& block);

// Every page of the range is mapped in this process, outside of the arena.
bool is_mapped(uintptr_t address, size_t size);

// All bytes can be read: they lie in one live block, or in host memory that is mapped. Lock held.
HACL_API bool is_live(uintptr_t address, size_t size);

// 100000 and a text for an array of which not every element lies in this process. An array of a few is trusted: the
// program makes it for the call, and asking costs as much as the call.
Code check_array(const char* name, const void* array, size_t count, size_t bytes_each);

// For memory that is made elsewhere (virtual_memory.cpp). The first three need the lock.
void add_block(BlockPtr block);
BlockPtr end_block(uintptr_t start, const std::string& site); // dead; the caller lets it go without the lock
void count_device_bytes(int32_t device, size_t bytes);        // 0 - bytes: so many fewer
std::mutex& address_mutex();                                  // the arena's
uintptr_t take_addresses(size_t size);                        // of the arena; 0: none are free
void give_addresses(uintptr_t start, size_t size);

struct MemoryStats {
    size_t blocks[3] = {}; // by Space
    size_t bytes[3] = {};
    size_t peak_bytes = 0; // of device memory
};
HACL_API MemoryStats memory_stats();
size_t device_bytes_used(int32_t device);                                 // lock held
HACL_API void each_block(const std::function<void(const Block&)>& visit); // live ones by address; no lock held

// For the fork handlers.
void lock_arena();
void unlock_arena();
void rebuild_arena_lock();

} // namespace hostacl
