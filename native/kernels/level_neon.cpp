// Half conversions of the ARMv8 baseline; empty on other architectures.
#if defined(__aarch64__)
#define HACL_NEON
#define HACL_LEVEL neon
#include "kernels/level.hpp"
#endif
