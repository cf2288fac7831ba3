// The transforms of DCT+Chop as the paper writes them: small matrices in double precision, no
// tricks. Tests compare the kernels with these, studies use them where speed does not matter.
//
//   coefficients = T · block · Tᵀ          (paper, Eq. 2)
//   block        = S · coefficients · Sᵀ   where S = T⁻¹ (for the DCT also Tᵀ)
#pragma once

#include <array>
#include <cstddef>

namespace tensorpress::dct_chop {

/// A square matrix of `points` x `points` values, row by row, for 8 or 4 points.
struct Matrix {
  std::size_t points = 8;
  std::array<double, 64> values{};
  double at(std::size_t row, std::size_t column) const { return values[row * points + column]; }
};

/// DCT-II, orthonormal: T[i][j] = sqrt((i ? 2 : 1) / 8) cos((2 j + 1) i pi / 16).
Matrix dct_forward_matrix();
Matrix dct_inverse_matrix();
/// ZFP's decorrelating transform on four points and its true inverse (Lindstrom 2014); not
/// orthogonal.
Matrix zfp_forward_matrix();
Matrix zfp_inverse_matrix();

/// M · block · Mᵀ for one block of points x points values, row by row. `result` may not overlap
/// `block`.
void apply_to_block(const Matrix& matrix, const double* block, double* result);

}  // namespace tensorpress::dct_chop
