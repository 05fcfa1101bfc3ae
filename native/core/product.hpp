// What a product family has: our choice of round numbers where its members differ.
#pragma once

#include "core/config.hpp"

namespace hostacl {

struct Product {
    bool bf16_and_inf_nan;
    int64_t cube_cores, vector_cores, l2_bytes;
};

inline Product product() {
    constexpr int64_t kMiB = 1 << 20;
    switch (config().family) {
    case Family::A350: return {true, 32, 64, 128 * kMiB};
    case Family::Inference310B: return {false, 1, 1, 8 * kMiB};
    case Family::Inference310P: return {false, 8, 7, 16 * kMiB};
    case Family::Training910: return {false, 32, 32, 32 * kMiB};
    default: return {true, 24, 48, 192 * kMiB}; // A3, A2
    }
}

} // namespace hostacl
