// Dense matrix products in single precision: what the paper's two-product form of DCT+Chop runs on.
// Row by row, contiguous. Every sum is taken in the order of `inner`, each product rounded before
// it is added, so that results, which reach streams, are the same on every instruction set.
#pragma once

#include <cstddef>

#include "base/cpu.h"

namespace tensorpress::kernels {

/// result[rows x columns] = left[rows x inner] · right[inner x columns]
using Gemm = void (*)(const float* left, const float* right, float* result, std::size_t rows,
                      std::size_t inner, std::size_t columns);

Gemm gemm(Isa isa);

/// Three plain loops; what the others are compared with.
void gemm_reference(const float* left, const float* right, float* result, std::size_t rows,
                    std::size_t inner, std::size_t columns);

}  // namespace tensorpress::kernels
