// Dense matrix products in single precision: what the paper's two-product form of DCT+Chop runs on.
// Row by row, contiguous. Sums may be contracted and ordered differently per instruction set, so
// results agree to rounding only.
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
