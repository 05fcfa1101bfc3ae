// Windows over the last three axes: the largest element, or the sum over a divisor.
#pragma once

#include "kernels/convolve.hpp"

namespace hacl {

enum class Pooled { kDone, kNoMemory, kNotHere, kNotFinite };

// The windows are described as the filter of a depthwise convolution. divisors: one for each place of a plane; nullptr: the largest.
// kNotHere: windows of more than kDepth elements, or so wide that no band fits. kNotFinite: some sum is not, and out is half done.
Pooled pool(const Convolution& windows, const float* divisors);

}  // namespace hacl
