#include "codecs/dct_chop/reference.h"

#include <cmath>
#include <numbers>

namespace tensorpress::dct_chop {

Matrix dct_forward_matrix() {
  Matrix matrix;
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      const double angle = static_cast<double>((2 * j + 1) * i) * std::numbers::pi / 16;
      matrix.values[i * 8 + j] = std::sqrt((i == 0 ? 1.0 : 2.0) / 8) * std::cos(angle);
    }
  }
  return matrix;
}

Matrix dct_inverse_matrix() {
  const Matrix forward = dct_forward_matrix();
  Matrix matrix;
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) matrix.values[i * 8 + j] = forward.at(j, i);
  }
  return matrix;
}

Matrix zfp_forward_matrix() {
  constexpr std::array<double, 16> kSixteenths = {4,  4, 4, 4,  5,  1, -1, -5,
                                                  -4, 4, 4, -4, -2, 6, -6, 2};
  Matrix matrix{.points = 4};
  for (std::size_t i = 0; i < 16; ++i) matrix.values[i] = kSixteenths[i] / 16;
  return matrix;
}

Matrix zfp_inverse_matrix() {
  constexpr std::array<double, 16> kQuarters = {4, 6,  -4, -1, 4, 2,  4,  5,
                                                4, -2, 4,  -5, 4, -6, -4, 1};
  Matrix matrix{.points = 4};
  for (std::size_t i = 0; i < 16; ++i) matrix.values[i] = kQuarters[i] / 4;
  return matrix;
}

void apply_to_block(const Matrix& matrix, const double* block, double* result) {
  const std::size_t n = matrix.points;
  std::array<double, 64> left{};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) left[i * n + j] += matrix.at(i, k) * block[k * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += left[i * n + k] * matrix.at(j, k);
      result[i * n + j] = sum;
    }
  }
}

}  // namespace tensorpress::dct_chop
