// Device memory is ordinary memory at real addresses; every block is known.
#pragma once

#include "core/types.hpp"

#include <memory>
#include <string>

namespace hostacl {

enum class Space : uint8_t { Device, PinnedHost, Registered };

struct Block {
    uintptr_t start = 0;
    size_t size = 0;           // as asked for
    size_t capacity = 0;       // size rounded up; guard bytes stand behind it
    Space space = Space::Device;
    int32_t device = 0;
    bool freed = false;        // dead to the program; the memory goes back when the last view dies
    std::string site;          // where it was made
    std::string freed_site;
    // ... more is the business of memory.cpp
    ~Block();                  // gives the memory back
};

// The block that holds address, live or (if lately freed) dead; null for memory we do not know. Lock held.
HACL_API std::shared_ptr<Block> find_block(uintptr_t address);

// "device memory [0x.., 64 bytes] made at a.py:3", "memory freed at a.py:5", "unknown (host) memory". Lock held.
HACL_API std::string describe_pointer(uintptr_t address);

} // namespace hostacl
