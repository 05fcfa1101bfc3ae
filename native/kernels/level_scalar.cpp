// Baseline instructions of the architecture, no half conversions in hardware.
#define HACL_LEVEL scalar
#include "kernels/level.hpp"
