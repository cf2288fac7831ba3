#include "kernels/gemm/gemm.h"

namespace tensorpress::kernels {

void gemm_reference(const float* left, const float* right, float* result, std::size_t rows,
                    std::size_t inner, std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < inner; ++k) sum += left[i * inner + k] * right[k * columns + j];
      result[i * columns + j] = sum;
    }
  }
}

}  // namespace tensorpress::kernels
