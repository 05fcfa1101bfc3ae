// Addresses without memory, memory without addresses, and what brings both together: aclrtReserveMemAddress and its kin.
#pragma once

#include "core/handles.hpp"
#include "core/types.hpp"

namespace hostacl {

constexpr size_t kGranularity = size_t{2} << 20; // of physical memory and of the places it is mapped to

Code reserve_addresses(size_t size, uintptr_t* start);
Code release_addresses(uintptr_t start);

Code make_physical(int32_t device, size_t size, Handle* handle);
bool is_physical(Handle handle); // and live; lock held
Code free_physical(Handle handle); // what is mapped stays until it is unmapped

// The whole physical memory to `start`, which lies in reserved addresses.
Code map_memory(uintptr_t start, size_t size, Handle handle);
Code unmap_memory(uintptr_t start);

void forget_physical(int32_t device); // the device was reset: its mappings and its physical memory end; lock held

} // namespace hostacl
