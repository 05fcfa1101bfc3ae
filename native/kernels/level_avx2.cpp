// Compiled with the flags of flags.cmake; empty on other architectures.
#if defined(__x86_64__)
#define HACL_AVX2
#define HACL_LEVEL avx2
#include "kernels/level.hpp"
#endif
