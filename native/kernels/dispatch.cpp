// Which SIMD levels this machine runs, and the one in use.
#include <atomic>
#include <cstring>

#include "kernels/table.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hacl {

extern const Table table_scalar;
#if defined(__x86_64__)
extern const Table table_avx2;
extern const Table table_avx512;
#elif defined(__aarch64__)
extern const Table table_neon;
#endif

namespace {

#if defined(__x86_64__)
bool has_f16c() {  // not a name __builtin_cpu_supports knows in every compiler
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1) != 0;
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

struct Levels {
  const Table* known[4] = {&table_scalar, nullptr, nullptr, nullptr};

  Levels() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (has_avx2()) known[1] = &table_avx2;
    if (has_avx512()) known[2] = &table_avx512;
#elif defined(__aarch64__)
    known[1] = &table_neon;
#endif
  }

  const Table* best() const {
    const Table* result = known[0];
    for (const Table* const* t = known; *t != nullptr; ++t) result = *t;
    return result;
  }
};

const Levels& machine_levels() {
  static const Levels levels;
  return levels;
}

std::atomic<const Table*> current{nullptr};

}  // namespace

const Table* const* levels() { return machine_levels().known; }

const Table& table() {
  const Table* t = current.load(std::memory_order_relaxed);
  if (t == nullptr) {
    t = machine_levels().best();
    current.store(t, std::memory_order_relaxed);
  }
  return *t;
}

bool use_level(const char* name) {
  for (const Table* const* t = levels(); *t != nullptr; ++t) {
    if (std::strcmp((*t)->name, name) != 0) continue;
    current.store(*t, std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace hacl
